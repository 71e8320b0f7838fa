"""What generation returns: a sketch, and a paraphrase with all that is known about it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self, SupportsIndex

from parasketch.errors import UsageError


class Sketch(tuple[int, ...]):
    """A path of codes, coarse to fine: `Sketch(13, 5, 7)`, or of any sequence, `Sketch([13, 5, 7])`."""

    __slots__ = ()

    def __new__(cls, *codes: SupportsIndex | Iterable[SupportsIndex]) -> Self:
        parts: Any = codes[0] if len(codes) == 1 and isinstance(codes[0], Iterable) else codes
        return super().__new__(cls, (int(code) for code in parts))

    def __getnewargs__(self) -> tuple[int, ...]:
        return tuple(self)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The sketch written as `13,5,7`; an empty text is the empty sketch."""
        try:
            return cls([int(part) for part in text.split(",")] if text.strip() else [])
        except ValueError as error:
            raise UsageError(f"{text!r} is no sketch (expected codes such as 13,5,7)") from error

    def __str__(self) -> str:
        return ",".join(map(str, self))

    def __repr__(self) -> str:
        return f"Sketch({', '.join(map(str, self))})"


class BagWord(NamedTuple):
    """A word that a model expects in paraphrases of an input."""

    word: str
    """A piece of a longer word begins with a hyphen."""
    weight: float
    """How often it is expected."""


@dataclass(frozen=True)
class WordOrder:
    """In which order a model was asked to say the words of the input; it may say other words in their places."""

    words: tuple[str, ...]
    """The words of the input."""
    ranks: tuple[int, ...]
    """When each of them is to be said, from 1."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"words": list(self.words), "ranks": list(self.ranks)}

    @classmethod
    def join(cls, orders: Sequence[WordOrder]) -> WordOrder:
        """The order of several sentences, one after the other."""
        starts = itertools.accumulate((len(order.words) for order in orders), initial=0)
        ranks = [start + rank for start, order in zip(starts, orders, strict=False) for rank in order.ranks]
        return cls(tuple(word for order in orders for word in order.words), tuple(ranks))

    def __str__(self) -> str:
        return " ".join(word for _, word in sorted(zip(self.ranks, self.words, strict=True)))


@dataclass(frozen=True, kw_only=True)
class Paraphrase:
    """One paraphrase of an input."""

    text: str
    sketch: Sketch
    """The form it was generated in; shorter than the model's depth where it was truncated."""
    score: float
    """What it was chosen by; more is better, and only paraphrases of one input compare."""
    difference: float
    """How much of the wording changed: 0 for the input itself, 1 when no word is shared."""
    faithfulness: float | None = None
    """How well the model gets the input back from it, 0 to 1 (mean probability of a token); None if not judged."""
    lost: tuple[str, ...] = ()
    """Facts of the input that are missing (numbers, names, addresses, a negation, ...), and facts that were added."""
    accepted: bool = True
    """False where nothing better was found: a copy of the input, a repeat of an earlier paraphrase, one that lost or
    added a fact or may mean something else; and for an input that no model is made for."""
    warnings: tuple[str, ...] = ()
    """What is odd about the input or about this result."""
    bow: tuple[BagWord, ...] = ()
    """The bag of words that the model (LBoW) predicted for the input, likeliest first, if it was asked for."""
    order: WordOrder | None = None
    """The order of words it was to follow, from a model that decides on one."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; `bow` and `order` where there is one."""
        values = {**asdict(self), "sketch": list(self.sketch), "lost": list(self.lost), "warnings": list(self.warnings)}
        bow = [{"word": one.word, "weight": round(one.weight, 4)} for one in values.pop("bow")]
        del values["order"]
        values |= {"bow": bow} if bow else {}
        return values if self.order is None else values | {"order": self.order.to_dict()}

    def __str__(self) -> str:
        return self.text
