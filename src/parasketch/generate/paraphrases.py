"""What generation returns: a sketch, and a paraphrase with all that is known about it."""

from __future__ import annotations

from collections.abc import Iterable
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

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        values = {**asdict(self), "sketch": list(self.sketch), "lost": list(self.lost), "warnings": list(self.warnings)}
        bow = [{"word": one.word, "weight": round(one.weight, 4)} for one in values.pop("bow")]
        return values | ({"bow": bow} if bow else {})

    def __str__(self) -> str:
        return self.text
