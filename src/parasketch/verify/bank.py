"""What other sentences lend to a wrong one: names, details, sentence ends, and words of the same neighbourhood.

It is gathered from training sentences only. Words count as neighbours if their vectors (the token embeddings of the
base model) are near and they are of the same part of speech, unless people use one for the other: two words that stand
in each other's place in a cluster of paraphrases are taken for synonyms.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from parasketch.text.tagger import TaggedToken
from parasketch.text.templates import STOP_WORDS

_CONTENT = ("NN", "NNS", "JJ", "VB", "VBD", "VBG", "VBN", "VBZ", "VBP", "RB")
_NEAR, _FAR, _COMMON = 3, 30, 12_000
_STEM = 4
_PALE = frozenset(
    [
        "many",
        "much",
        "same",
        "right",
        "own",
        "such",
        "other",
        "more",
        "few",
        "good",
        "best",
        "possible",
        "last",
        "next",
        "first",
    ]
)


@dataclass
class Bank:
    """Parts of training sentences, each as it was written; lists keep repetitions, so common parts are drawn more."""

    names: list[str] = field(default_factory=list)
    phrases: list[str] = field(default_factory=list)
    """Prepositional phrases, such as "in the morning"."""
    adjectives: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    """What follows a comma or an "and" to the end of a sentence."""
    bases: set[str] = field(default_factory=set)
    """Base forms of verbs."""
    neighbours: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """(word, tag) -> words near it that are no synonyms"""


def gather(sentences: Sequence[Sequence[TaggedToken]], texts: Sequence[str]) -> Bank:
    """The parts of tagged sentences; neighbours are found by `add_neighbours`."""
    bank = Bank()
    for tokens, text in zip(sentences, texts, strict=True):
        for place, token in enumerate(tokens):
            if token.pos == "VB":
                bank.bases.add(token.text.lower())
            elif (
                token.pos == "NNP"
                and place
                and token.text[0].isupper()
                and token.text.isalpha()
                and len(token.text) > 2
            ):
                bank.names.append(token.text)
            elif token.pos == "JJ" and token.text.islower() and token.text.isalpha() and token.text not in _PALE:
                bank.adjectives.append(token.text)
            elif (
                token.pos == "IN" and place and token.chunk == "PP" and (phrase := prepositional_phrase(tokens, place))
            ):
                end = phrase[1]
                if 2 <= end - place <= 5:
                    bank.phrases.append(text[token.start : tokens[end - 1].end])
            if token.text in (",", "and", "because", "but") and 4 <= len(tokens) - place <= 12 and place > 3:
                bank.ends.append(text[token.start :])
    return bank


def prepositional_phrase(tokens: Sequence[TaggedToken], place: int) -> tuple[int, int] | None:
    """The half-open range of tokens of the phrase that begins with the preposition at `place`."""
    end = place + 1
    while end < len(tokens) and tokens[end].chunk == "NP" and tokens[end].pos not in ("WP", "WDT"):
        end += 1
    return (place, end) if end > place + 1 else None


def add_neighbours(
    bank: Bank,
    sentences: Iterable[Sequence[TaggedToken]],
    vectors: dict[str, NDArray[np.float32]],
    synonyms: set[tuple[str, str]],
) -> None:
    """Find the neighbours of common content words that have a vector of their own."""
    counts = Counter(
        (token.text, token.pos)
        for tokens in sentences
        for token in tokens
        if token.pos in _CONTENT and token.text in vectors and token.text not in STOP_WORDS and len(token.text) > 2
    )
    by_tag: dict[str, list[str]] = {}
    for (word, tag), count in counts.most_common(_COMMON):
        if count > 2:
            by_tag.setdefault(tag, []).append(word)
    for tag, words in by_tag.items():
        table = np.stack([vectors[word] for word in words])
        table /= np.linalg.norm(table, axis=1, keepdims=True)
        nearest = np.argsort(-(table @ table.T), axis=1)[:, 1 : _FAR + 1]
        for row, word in enumerate(words):
            found = [words[other] for other in nearest[row, _NEAR:]]
            kept = [other for other in found if other[:_STEM] != word[:_STEM] and (word, other) not in synonyms]
            bank.neighbours[word, tag] = kept


def synonyms_in(clusters: Iterable[Sequence[str]]) -> set[tuple[str, str]]:
    """Words that stand for each other in paraphrases that differ in two words at most on each side; both directions."""
    found: set[tuple[str, str]] = set()
    for cluster in clusters:
        bags = [set(sentence.lower().rstrip(".?!").split()) for sentence in cluster[:5]]
        for number, one in enumerate(bags):
            for other in bags[number + 1 :]:
                left, right = one - other, other - one
                if len(left) <= 2 and len(right) <= 2:
                    found |= {pair for a in left for b in right for pair in ((a, b), (b, a))}
    return found
