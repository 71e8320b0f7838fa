"""What a sentence must contain: the tokens of the source's numbers, names and literals, and which have been said.

The facts of a source become runs of its own tokens. A sentence has to contain the runs in the order of the source,
each of them in one piece; how many of their tokens a hypothesis has said is all that has to be known about it.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

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

    tokens: Tensor
    """(G, C + 1); after the last of a group's tokens comes a filler."""
    follows: Tensor
    """(G, C + 1), whether the token must directly follow the one before it."""
    counts: Tensor
    """(G,), how many tokens"""

    @classmethod
    def of(cls, required: Sequence[Required], *, filler: int, device: torch.device) -> "Requirements":
        """`filler` is a token that no sentence contains."""
        longest = max(len(each.tokens) for each in required) + 1
        tokens = torch.full((len(required), longest), filler)
        follows = torch.zeros(len(required), longest, dtype=torch.bool)
        for row, each in enumerate(required):
            tokens[row, : len(each.tokens)] = torch.tensor(each.tokens, dtype=torch.int64)
            follows[row, : len(each.tokens)] = torch.tensor(each.inside, dtype=torch.bool)
        counts = torch.tensor([len(each.tokens) for each in required])
        return cls(*(part.to(device) for part in (tokens, follows, counts)))

    def keep(self, kept: Tensor) -> "Requirements":
        """Those of some of the groups, (G',)."""
        return Requirements(self.tokens[kept], self.follows[kept], self.counts[kept])

    def next(self, said: Tensor) -> Tensor:
        """The token that each row has to say next, (G, W); the filler if there is none."""
        return self.tokens.gather(1, said)

    def inside(self, said: Tensor) -> Tensor:
        """Whether each row is in the middle of a run, (G, W)."""
        return self.follows.gather(1, said)

    def completed(self, said: Tensor, last: Tensor) -> Tensor:
        """Whether the last token (G, W) of each row was the end of a run, (G, W): nothing may continue its word."""
        before = self.tokens.gather(1, (said - 1).clamp_min(0))
        return (said > 0) & (before == last) & ~self.inside(said)

    def advance(self, said: Tensor, ids: Tensor) -> Tensor:
        """How many tokens have been said after each of the proposals (G, W, count)."""
        is_next = (ids == self.next(said)[..., None]) & (said < self.counts[:, None])[..., None]
        return said[..., None] + is_next


def take_in_turn(scores: Tensor, banks: Tensor, count: int) -> Tensor:
    """Where the `count` rows to be kept are among scores (G, N): the best of each bank (G, N), then the second best...

    The highest bank comes first, and one that is used up is passed over. The rows of one bank alone are the best.
    """
    order = scores.argsort(dim=1, descending=True, stable=True)
    banks = banks.gather(1, order)
    num_banks = int(banks.max()) + 1
    members = banks[..., None] == torch.arange(num_banks, device=banks.device)  # (G, N, banks)
    rank = members.cumsum(dim=1).gather(2, banks[..., None]).squeeze(2) - 1
    turn = rank * num_banks + (num_banks - 1 - banks)
    turn.masked_fill_(scores.gather(1, order) == -math.inf, num_banks * scores.shape[1])  # after all turns
    return order.gather(1, turn.argsort(dim=1, stable=True)[:, :count])
