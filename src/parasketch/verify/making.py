"""Right and wrong pairs made from clusters of paraphrases.

For a sentence A with a paraphrase B, wrong pairs are (A, B with a mistake), (A, A with a mistake) and (A, a near
sentence of another cluster). Right pairs are (A, B), (A, A written a little otherwise), and A and B with the same word
changed in both, or the same detail added to both: so a verifier has to compare, and cannot go by what looks changed.
Both labels are then cut to a like number at every degree of word overlap. All chance comes from the seed.
"""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parasketch.text.tagger import TaggedToken
from parasketch.verify.bank import Bank
from parasketch.verify.harmless import harmless
from parasketch.verify.mistakes import Sentence
from parasketch.verify.mistakes_of_form import MISTAKES, appended
from parasketch.verify.pairs import MadePair, word_overlap

NEIGHBOUR = "neighbour"
_CONSISTENT = ("number", "name", "opposite", "same_kind", "person", "other_word")
_NUMBER, _THOUSANDS = re.compile(r"\d+(?:[.,:]\d+)*"), re.compile(r"(?<=\d),(?=\d{3}\b)")
_NOT = re.compile(r"\b(?:not|no|never|nobody|nothing|cannot|without)\b|n['’]t\b", re.IGNORECASE)
_WORD = re.compile(r"\w+|[^\w\s]")
_EDGES = (0.3, 0.5, 0.65, 0.8, 0.9, 0.95)
_MOST = {False: 1.2, True: 1.6}  # times the other label at one degree of overlap; `meaning` has enough wrong pairs
_RARE = {
    **dict.fromkeys(["number", "name", "amount", "same_kind", "question_word", "person"], 3.0),
    **dict.fromkeys(["negation", "opposite", "tense"], 2.0),
}
"""Kinds that few sentences can have come first where they are possible."""


@dataclass(frozen=True)
class Corpus:
    """Chosen pairs of paraphrases (a, b) of one source with all that is needed to make pairs of them."""

    source: str
    texts: Sequence[str]
    """a and b of every cluster in turn"""
    tags: Sequence[Sequence[TaggedToken]]
    vectors: NDArray[np.float32]
    """(2 m, width), unit vectors of the texts"""
    clean: float
    """The least cosine of a and b that counts as the same."""
    distinct: float
    """The highest cosine to a sentence of another cluster that counts as something else."""
    is_question: bool = False


def make_pairs(corpus: Corpus, bank: Bank, seed: int, mistakes_each: int = 2) -> list[MadePair]:
    """All pairs of a corpus; `balance` chooses among them."""
    near = _neighbours(corpus)
    pairs: list[MadePair] = []
    for number in range(len(corpus.texts) // 2):
        draw = random.Random(f"{seed}/{corpus.source}/{number}")
        a, b = (
            Sentence(corpus.texts[place], corpus.tags[place], corpus.is_question)
            for place in (2 * number, 2 * number + 1)
        )
        if draw.random() < 0.5:
            a, b = b, a
        agree = bool(corpus.vectors[2 * number] @ corpus.vectors[2 * number + 1] >= corpus.clean) and _same_facts(a, b)
        pairs += _wrong_pairs(corpus.source, a, b if agree else a, bank, draw, mistakes_each)
        pairs += _right_pairs(corpus.source, a, b if agree else None, bank, draw)
        if near[number] is not None and draw.random() < 0.6:
            pairs.append(MadePair(corpus.texts[2 * number], near[number] or "", False, corpus.source, NEIGHBOUR))
    return pairs


def balance(pairs: Sequence[MadePair], seed: int) -> list[MadePair]:
    """Cut the commoner label of every degree of word overlap to little more than the rarer one."""
    groups: dict[tuple[int, bool], list[MadePair]] = {}
    for pair in pairs:
        degree = sum(word_overlap(pair.a, pair.b) >= edge for edge in _EDGES)
        groups.setdefault((degree, pair.same), []).append(pair)
    kept: list[MadePair] = []
    for degree in range(len(_EDGES) + 1):
        both = [groups.get((degree, same), []) for same in (False, True)]
        for same in (False, True):
            group, limit = both[same], max(20, int(_MOST[same] * len(both[not same])))
            kept += random.Random(f"{seed}/{degree}").sample(group, min(limit, len(group)))
    return kept


def one_mistake(sentence: Sentence, kind: str, draw: random.Random, bank: Bank) -> str | None:
    """The sentence with a mistake of that kind; None where it leaves the words as they are."""
    wrong = MISTAKES[kind](sentence, draw, bank)
    return None if wrong is None or _bare(wrong) == _bare(sentence.text) else wrong


def _wrong_pairs(source: str, a: Sentence, b: Sentence, bank: Bank, draw: random.Random, number: int) -> list[MadePair]:
    kinds = sorted(MISTAKES, key=lambda kind: -(draw.random() ** (1 / _RARE.get(kind, 1.0))))
    pairs: list[MadePair] = []
    for kind in kinds:
        target = b if draw.random() < 0.6 else a
        wrong = one_mistake(target, kind, draw, bank)
        if wrong is not None and _bare(wrong) not in (_bare(a.text), _bare(b.text)):
            pairs.append(MadePair(a.text, wrong, False, source, kind))
        if len(pairs) == number:
            break
    return pairs


def _right_pairs(source: str, a: Sentence, b: Sentence | None, bank: Bank, draw: random.Random) -> list[MadePair]:
    pairs = []
    if b is not None:
        pairs.append(MadePair(a.text, b.text, True, source, "cluster"))
        both = _changed_alike(a, b, bank, draw)
        if both:
            pairs.append(MadePair(*both, True, source, "changed_alike"))
    written = draw.random()
    if written < 0.45:
        pairs.append(MadePair(a.text, harmless(a.text, draw, draw.choice([1, 2])), True, source, "harmless"))
    elif written < 0.7:
        kind = draw.choice(["opposite", "other_word", "roles", "detail_added", "tense", "negation", "amount"])
        odd = one_mistake(a, kind, draw, bank)  # an odd sentence still says what it says itself
        if odd is not None:
            pairs.append(MadePair(odd, harmless(odd, draw), True, source, "harmless"))
    return pairs


def _changed_alike(a: Sentence, b: Sentence, bank: Bank, draw: random.Random) -> tuple[str, str] | None:
    """Both with the same word replaced by the same other word, or with the same detail at their end."""
    if bank.phrases and draw.random() < 0.15:
        detail = " " + draw.choice(bank.phrases)
        return appended(a.text, detail), appended(b.text, detail)
    for kind in draw.sample(_CONSISTENT, len(_CONSISTENT)):
        wrong = one_mistake(a, kind, draw, bank)
        difference = None if wrong is None else _one_word(a.text, wrong)
        if wrong is None or difference is None:
            continue
        old, new = difference
        pattern = re.compile(rf"(?<!\w){re.escape(old)}(?!\w)")
        if len(pattern.findall(a.text)) == len(pattern.findall(b.text)) == 1:
            return wrong, pattern.sub(lambda _, new=new: new, b.text)  # type: ignore[misc]
    return None


def _one_word(before: str, after: str) -> tuple[str, str] | None:
    """The word that was replaced and its replacement, if that is all that differs."""
    one, other = _WORD.findall(before), _WORD.findall(after)
    if len(one) != len(other):
        return None
    different = [(old, new) for old, new in zip(one, other, strict=True) if old != new]
    return different[0] if len(different) == 1 else None


def _same_facts(a: Sentence, b: Sentence) -> bool:
    """Whether numbers and the presence of a negation agree; where they do not, the cluster may be wrong."""
    numbers = [{_THOUSANDS.sub("", found) for found in _NUMBER.findall(sentence.text)} for sentence in (a, b)]
    return numbers[0] == numbers[1] and bool(_NOT.search(a.text)) == bool(_NOT.search(b.text))


def _neighbours(corpus: Corpus) -> list[str | None]:
    """For every first sentence the nearest text of another cluster that says something else."""
    found: list[str | None] = []
    first, owner = corpus.vectors[::2], np.arange(len(corpus.texts)) // 2
    for start in range(0, len(first), 1024):
        block = first[start : start + 1024] @ corpus.vectors.T
        block[block > corpus.distinct] = -1.0
        rows = np.arange(len(block))[:, None]
        block[owner[None] == rows + start] = -1.0
        best = block.argmax(axis=1)
        for row, place in enumerate(best):
            found.append(corpus.texts[place] if block[row, place] > 0.4 else None)
    return found


def _bare(text: str) -> str:
    return " ".join(_WORD.findall(text.lower())).rstrip(" .!?")


def count(pairs: Sequence[MadePair]) -> Mapping[tuple[str, str, bool], int]:
    """How many pairs of each source, kind and label."""
    counts: dict[tuple[str, str, bool], int] = {}
    for pair in pairs:
        key = (pair.source, pair.kind, pair.same)
        counts[key] = counts.get(key, 0) + 1
    return dict(sorted(counts.items()))
