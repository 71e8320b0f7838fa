"""What a sentence must contain: the tokens of the source's numbers, names and literals, and which have been said.

The facts of a source become runs of its own tokens. A sentence has to contain the runs in the order of the source,
each of them in one piece; how many of their tokens a hypothesis has said is all that has to be known about it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from parasketch.generate.decoding import Bools, Floats, Ints
from parasketch.text.facts import Facts, facts_of, required_spans
from parasketch.text.templates import STOP_WORDS
from parasketch.text.tokenizer import Tokenizer

MOST_TOKENS = 16
"""Facts that need more tokens than this, together with those before them, are not required."""

_OPENING = re.compile(r"(?<!\S)[\"'“‘«(\[{]+")
_REST_OF_WORD = re.compile(r"[\w\u0300-\u036f]*[%°+#]*")  # 92nd, 5%, C++
_WORD_AFTER = re.compile(r" ([^\W\d_]+)(?![\w'’-])")
_WORD_BEFORE = re.compile(r"(?<!\S)(\w+) $")
_BARE_NUMBER = re.compile(r"[\d.,:]+(?:st|nd|rd|th)?", re.IGNORECASE)
_LABELS = ("number", "no")  # they belong to the number after them, whatever follows


class Required(NamedTuple):
    """The tokens that the sentences of a group must contain, in order."""

    tokens: tuple[int, ...] = ()
    inside: tuple[bool, ...] = ()
    """Whether a token must directly follow the one before it."""


NOTHING = Required()


def required_tokens(text: str, tokenizer: Tokenizer) -> Required:
    """The facts of a source as runs of its tokens; facts that are next to each other are one run."""
    spans = _spans(facts_of(text))
    if not spans:
        return NOTHING
    # A fact is to be said without the quotation mark or bracket before it, so with a space of its own.
    plain = _OPENING.sub(lambda signs: " " * len(signs.group()), text)
    [(ids, places)] = tokenizer.encode_with_offsets([plain])
    tokens: list[int] = []
    inside: list[bool] = []
    for start, end in _join([_widen(plain, *span) for span in spans], plain):
        run = [token for token, (first, _) in zip(ids, places, strict=True) if start <= first < end]
        if len(tokens) + len(run) > MOST_TOKENS:
            break
        if run and tokenizer.unk_id not in run:
            tokens += run
            inside += [False, *[True] * (len(run) - 1)]
    return Required(tuple(tokens), tuple(inside))


def _spans(facts: Facts) -> list[tuple[int, int]]:
    """What has to be said as it is written; a number in words may well be said in digits."""
    in_words = {
        (number.start, number.end)
        for number in facts.numbers
        if not any(character.isdigit() for character in facts.text[number.start : number.end])
    }
    return [span for span in required_spans(facts) if span not in in_words]


def _widen(text: str, start: int, end: int) -> tuple[int, int]:
    """The whole word with a fact in it; for a bare number with the word that it belongs to.

    A word begins after a space: without that, its first token would stick to whatever is said before. A number alone
    fits everywhere and says nothing ("a man on a 58"), so it goes with the word after it ("3 candles") or, if that is
    none with a meaning, the word before it ("in 2008"). One with a unit ("4:30 pm", "5 km") needs nothing else.
    """
    first = text.rfind(" ", 0, start) + 1
    rest = _REST_OF_WORD.match(text, end)
    last = rest.end() if rest else end
    if first < start or not _BARE_NUMBER.fullmatch(text, start, end):
        return first, last
    before, after = _WORD_BEFORE.search(text, 0, first), _WORD_AFTER.match(text, last)
    if after and after[1].casefold() not in STOP_WORDS and not (before and before[1].casefold() in _LABELS):
        return first, after.end()
    return (before.start() if before else first), last


def _join(spans: list[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """Spans in order, those that overlap or have only a space between them made one."""
    joined = spans[:1]
    for start, end in spans[1:]:
        before, until = joined[-1]
        if start <= until or text[until:start].isspace():
            joined[-1] = before, max(until, end)
        else:
            joined.append((start, end))
    return joined


@dataclass(frozen=True)
class Requirements:
    """What G groups require, at most C tokens each; `said` (G, W) is always how many of them a row has said."""

    tokens: Ints
    """(G, C + 1); after the last of a group's tokens comes a filler."""
    follows: Bools
    """(G, C + 1), whether the token must directly follow the one before it."""
    counts: Ints
    """(G,), how many tokens"""

    @classmethod
    def of(cls, required: Sequence[Required], *, filler: int) -> "Requirements":
        """`filler` is a token that no sentence contains."""
        longest = max(len(each.tokens) for each in required) + 1
        tokens = np.full((len(required), longest), filler)
        follows = np.zeros((len(required), longest), dtype=np.bool_)
        for row, each in enumerate(required):
            tokens[row, : len(each.tokens)] = each.tokens
            follows[row, : len(each.tokens)] = each.inside
        return cls(tokens, follows, np.array([len(each.tokens) for each in required]))

    def keep(self, kept: Bools) -> "Requirements":
        """Those of some of the groups, (G,)."""
        return Requirements(self.tokens[kept], self.follows[kept], self.counts[kept])

    def next(self, said: Ints) -> Ints:
        """The token that each row has to say next, (G, W); the filler if there is none."""
        return np.take_along_axis(self.tokens, said, axis=1)

    def inside(self, said: Ints) -> Bools:
        """Whether each row is in the middle of a run, (G, W)."""
        return np.take_along_axis(self.follows, said, axis=1)

    def completed(self, said: Ints, last: Ints) -> Bools:
        """Whether the last token (G, W) of each row was the end of a run, (G, W): nothing may continue its word."""
        before = np.take_along_axis(self.tokens, np.maximum(said - 1, 0), axis=1)
        return np.asarray((said > 0) & (before == last) & ~self.inside(said))

    def advance(self, said: Ints, ids: Ints) -> Ints:
        """How many tokens have been said after each of the proposals (G, W, count)."""
        is_next = (ids == self.next(said)[..., None]) & (said < self.counts[:, None])[..., None]
        return np.asarray(said[..., None] + is_next)


def take_in_turn(scores: Floats, banks: Ints, count: int) -> Ints:
    """Where the `count` rows to be kept are among scores (G, N): the best of each bank (G, N), then the second best...

    The highest bank comes first, and one that is used up is passed over. The rows of one bank alone are the best.
    """
    order = np.argsort(-scores, axis=1, kind="stable")
    banks = np.take_along_axis(banks, order, axis=1)
    num_banks = int(banks.max()) + 1
    members = banks[..., None] == np.arange(num_banks)  # (G, N, banks)
    rank = np.take_along_axis(members.cumsum(axis=1), banks[..., None], axis=2)[..., 0] - 1
    turn = rank * num_banks + (num_banks - 1 - banks)
    turn[np.isneginf(np.take_along_axis(scores, order, axis=1))] = num_banks * scores.shape[1]  # after all turns
    return np.take_along_axis(order, np.argsort(turn, axis=1, kind="stable")[:, :count], axis=1)
