"""Wrong sentences from right ones, by their make-up: roles, details, ends, order; and the list of all kinds.

Broken English counts as wrong too: whoever asks whether B says what A says wants B to be a sentence.
"""

import random
from collections.abc import Callable, Sequence
from itertools import pairwise

from parasketch.text.tagger import TaggedToken
from parasketch.text.templates import STOP_WORDS
from parasketch.verify import mistakes
from parasketch.verify.bank import Bank, prepositional_phrase
from parasketch.verify.mistakes import Sentence

_MARKS = frozenset(".,;:?!\"'()”“")
_FEW, _SHORT = 4, 6
_OBJECT = {"i": "me", "he": "him", "she": "her", "we": "us", "they": "them"}
_SUBJECT = {"me": "I", "him": "he", "us": "we", "them": "they"}


def roles(sentence: Sentence, draw: random.Random, bank: Bank) -> str | None:
    """Two names, nouns or adjectives, or subject and object, in each other's place."""
    del bank
    tokens = sentence.tokens
    groups = [
        [place for place, token in enumerate(tokens) if token.pos == tag and token.text.lower() not in STOP_WORDS]
        for tag in ("NNP", "NN", "NNS", "JJ", "CD")
    ]
    phrases = _noun_phrases(tokens)
    choices: list[tuple[tuple[int, int], tuple[int, int]]] = []
    for group in groups:
        choices += [((one, one), (other, other)) for one in group for other in group if other > one + 1]
    choices += [(one, other) for one, other in pairwise(phrases)]
    choices = [pair for pair in choices if _text(sentence, pair[0]).lower() != _text(sentence, pair[1]).lower()]
    choices = [pair for pair in choices if not _are_coordinated(tokens, *pair)]
    return _exchanged(sentence, *draw.choice(choices)) if choices else None


def detail_added(sentence: Sentence, draw: random.Random, bank: Bank) -> str | None:
    """A prepositional phrase or an adjective more."""
    nouns = [
        place
        for place, token in enumerate(sentence.tokens)
        if token.pos in ("NN", "NNS") and place and sentence.tokens[place - 1].pos in ("DT", "PRP$", "IN", "CD")
    ]
    if nouns and bank.adjectives and draw.random() < 0.4:
        place = draw.choice(nouns)
        return sentence.replaced(place, place, f"{draw.choice(bank.adjectives)} {sentence.tokens[place].text}")
    if not bank.phrases:
        return None
    return appended(sentence.text, " " + draw.choice(bank.phrases))


def detail_dropped(sentence: Sentence, draw: random.Random, bank: Bank) -> str | None:
    """A prepositional phrase, an adjective or an adverb less, or the clause after a comma or conjunction."""
    del bank
    tokens = sentence.tokens
    spans: list[tuple[int, int]] = []
    for place, token in enumerate(tokens):
        if token.pos == "IN" and place and (phrase := prepositional_phrase(tokens, place)):
            spans.append((place, phrase[1] - 1))
        elif (
            token.pos == "JJ"
            and token.text not in ("good", "best")
            and place + 1 < len(tokens)
            and tokens[place + 1].pos in ("NN", "NNS")
        ):
            spans.append((place, place))
        elif (
            token.text.lower() in ("because", "when", "if", "while", "although", "and", "but", "who", "which")
            and place > 2
        ):
            end = len(tokens) - 1 - (tokens[-1].text in _MARKS)
            if end - place >= 2:
                spans.append((place, end))
    spans = [(first, last) for first, last in spans if len(tokens) - (last - first + 1) > 3]
    return sentence.without(*draw.choice(spans)) if spans else None


def cut_short(sentence: Sentence, draw: random.Random, bank: Bank) -> str | None:
    """The end missing."""
    del bank
    tokens = sentence.tokens
    if len(tokens) < _SHORT:
        return None
    keep = draw.randrange(len(tokens) // 2, len(tokens) - 2)
    mark = tokens[-1].text if tokens[-1].text in _MARKS and draw.random() < 0.6 else ""
    return sentence.text[: tokens[keep].end] + mark


def continued(sentence: Sentence, draw: random.Random, bank: Bank) -> str | None:
    """More said than the sentence says: the end of another one."""
    if not bank.ends:
        return None
    end = draw.choice(bank.ends)
    return sentence.text.rstrip(".?! ") + ("" if end.startswith(",") else " ") + end


def repeated(sentence: Sentence, draw: random.Random, bank: Bank) -> str | None:
    """A phrase said twice, or a word three times, as failing generators do."""
    del bank
    tokens = [token for token in sentence.tokens if token.text not in _MARKS]
    if len(tokens) < _FEW:
        return None
    first = draw.randrange(len(tokens) - 2)
    last = min(len(tokens) - 1, first + draw.choice([0, 0, 1, 2, 3]))
    phrase = sentence.text[tokens[first].start : tokens[last].end]
    times = draw.choice([2, 3]) if first == last else draw.choice([1, 1, 2])
    glue = draw.choice([" ", " ", " and ", ", "])
    inserted = (glue + phrase) * times
    if draw.random() < 0.4:  # at the end
        return appended(sentence.text, inserted)
    return sentence.text[: tokens[last].end] + inserted + sentence.text[tokens[last].end :]


def disordered(sentence: Sentence, draw: random.Random, bank: Bank) -> str | None:
    """Words out of order: all of them, a few neighbours, or one that has wandered."""
    del bank
    words = [token.text for token in sentence.tokens]
    mark = words.pop() if words and words[-1] in _MARKS else ""
    if len(words) < _FEW:
        return None
    before, way = list(words), draw.random()
    if way < 0.35:
        draw.shuffle(words)
    elif way < 0.7:
        start = draw.randrange(len(words) - 3)
        part = words[start : start + 4]
        draw.shuffle(part)
        words[start : start + 4] = part
    else:
        word = words.pop(draw.randrange(len(words)))
        words.insert(draw.randrange(len(words)), word)
    return None if words == before else _joined(words) + mark


def appended(text: str, more: str) -> str:
    """The text with more before its final mark."""
    bare = text.rstrip(".?! ")
    return bare + more + text[len(bare) :]


MISTAKES: dict[str, Callable[[Sentence, random.Random, Bank], str | None]] = {
    "negation": mistakes.negation,
    "number": mistakes.number,
    "name": mistakes.name,
    "opposite": mistakes.opposite,
    "same_kind": mistakes.same_kind,
    "amount": mistakes.amount,
    "person": mistakes.person,
    "tense": mistakes.tense,
    "question_word": mistakes.question_word,
    "other_word": mistakes.other_word,
    "roles": roles,
    "detail_added": detail_added,
    "detail_dropped": detail_dropped,
    "cut_short": cut_short,
    "continued": continued,
    "repeated": repeated,
    "disordered": disordered,
}
"""All kinds of mistakes by name."""


def _joined(words: Sequence[str]) -> str:
    text = ""
    for word in words:
        attached = word in _MARKS or word.lower() in ("n't", "'s", "'m", "'re", "'ve", "'ll", "'d")
        text += word if attached or not text else f" {word}"
    return text


def _noun_phrases(tokens: Sequence[TaggedToken]) -> list[tuple[int, int]]:
    """Runs of the chunk NP, first and last token."""
    phrases, start = [], None
    for place, token in enumerate([*tokens, None]):
        inside = token is not None and token.chunk == "NP" and token.text not in _MARKS and token.pos[0] != "W"
        if inside and start is None:
            start = place
        elif not inside and start is not None:
            phrases.append((start, place - 1))
            start = None
    return phrases


def _are_coordinated(tokens: Sequence[TaggedToken], one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether only "and", "or" or commas stand between the two: their order says nothing then."""
    return all(token.text.lower() in ("and", "or", ",", "&") for token in tokens[one[1] + 1 : other[0]])


def _text(sentence: Sentence, span: tuple[int, int]) -> str:
    return sentence.text[sentence.tokens[span[0]].start : sentence.tokens[span[1]].end]


def _exchanged(sentence: Sentence, one: tuple[int, int], other: tuple[int, int]) -> str:
    text, tokens = sentence.text, sentence.tokens
    left, right = _text(sentence, one), _text(sentence, other)
    left, right = _OBJECT.get(left.lower(), left), _SUBJECT.get(right.lower(), right)
    if one[0] == 0 and tokens[0].pos != "NNP":
        left = left[:1].lower() + left[1:]
    if one[0] == 0:
        right = right[:1].upper() + right[1:]
    middle = text[tokens[one[1]].end : tokens[other[0]].start]
    return text[: tokens[one[0]].start] + right + middle + left + text[tokens[other[1]].end :]
