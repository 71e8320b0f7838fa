"""What is asked for: texts made ready for a model, the form they are to have, and what a call wants for all of them.

Everything that can be wrong with a call, whatever the model, is found here, before any work. A text without any content
is refused. Anything else gets a result; control characters, halves of surrogate pairs, texts that are too long and
scripts the vocabulary does not know are mended or taken as they are, and mentioned.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Protocol, SupportsIndex, TypeVar, cast

from parasketch.errors import UsageError
from parasketch.generate.paraphrases import Sketch
from parasketch.text.suitability import unsuitable

MOST_OUTPUTS = 1000
LEAST_EFFORT, MOST_EFFORT = 1, 5
MOST_ROUNDS = 10
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST_TOKEN = 100  # characters: what lies beyond so many for each token is certainly not read
_FEW_TOKENS = 4
_STRANGE_SHARE = 0.75  # tokens a character: whole words are unknown to the vocabulary

T = TypeVar("T")


class TextTokenizer(Protocol):
    """What is needed of a tokeniser to read texts."""

    def encode_batch(self, texts: Sequence[str], /) -> list[list[int]]:
        """The tokens of each text."""
        ...

    def encode_with_offsets(self, texts: Sequence[str], /) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """The tokens of each text, and the characters (start, end) that each of them stands for."""
        ...


@dataclass(frozen=True)
class PreparedText:
    """A text as a model reads it."""

    text: str
    """The part that is read, on one line."""
    tokens: tuple[int, ...]
    """Without begin and end."""
    warnings: tuple[str, ...]
    suitable: bool = True
    """Whether it is what the models were made for; of anything else no paraphrase is accepted."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """One text to paraphrase."""

    text: PreparedText
    prefix: Sketch
    """The first codes that its sketches must have; empty for any."""
    exemplar: str | None = None
    """The sentence that the prefix is the sketch of: other sentences with its sketch are compared with it, and sketches
    that share only a part of the prefix may help out when there are too few candidates."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a call asks for, the same for all its texts."""

    n: int = 1
    depth: int | None = None
    """How many codes a sketch has; None for as many as the model's have."""
    rerank: bool = True
    temperature: float | None = None
    seed: int = 0
    effort: int | None = None
    """How much is tried, from LEAST_EFFORT to MOST_EFFORT; None for as much as is worth its time."""
    rounds: int | None = None
    """How often an output is paraphrased again; None for as often as the model is used to."""
    bow: bool = False
    """Whether the bag of words that a text's paraphrases are made of is wanted too."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense with any model."""
        check_number("n", self.n, least=1, most=MOST_OUTPUTS)
        if self.depth is not None:
            check_number("depth", self.depth, least=0)
        if not isinstance(self.rerank, bool):
            raise UsageError(f"rerank is {self.rerank!r} (expected True or False)")
        check_number("seed", self.seed)
        if self.effort is not None:
            check_number("effort", self.effort, least=LEAST_EFFORT, most=MOST_EFFORT)
        if self.rounds is not None:
            check_number("rounds", self.rounds, least=1, most=MOST_ROUNDS)
        if self.temperature is not None:
            real = isinstance(self.temperature, Real) and not isinstance(self.temperature, bool)
            if not real or not 0 < self.temperature <= 100:
                raise UsageError(f"the temperature is {self.temperature!r} (expected a number above 0, at most 100)")


def check_number(name: str, value: object, *, least: float = -math.inf, most: float = math.inf) -> None:
    """Refuse what is not a whole number in that range."""
    if isinstance(value, SupportsIndex) and not isinstance(value, bool) and least <= value.__index__() <= most:
        return
    bounds = f"{least:g} to {most:g}" if math.isfinite(most) else f"at least {least:g}" if math.isfinite(least) else ""
    raise UsageError(f"{name} is {value!r} (expected a whole number{bounds and ', '}{bounds})")


def as_texts(texts: object, what: str = "text") -> list[str]:
    """A str or a sequence of them as a list; anything else, and a text that cannot be paraphrased, is an error."""
    if not isinstance(texts, str) and not _is_list(texts):
        raise UsageError(f"the {what} is of type {type(texts).__name__} (expected str, or a list of them)")
    given = [texts] if isinstance(texts, str) else list(cast(Iterable[str], texts))
    for number, text in enumerate(given, 1):
        if problem := problem_with(text):
            raise UsageError(f"{what} {number} {problem}" if len(given) > 1 else f"the {what} {problem}")
    return given


def problem_with(text: object) -> str | None:
    """Why a text cannot be paraphrased at all, to be read after its name; None for a text that can."""
    if not isinstance(text, str):
        return f"is of type {type(text).__name__} (expected str)"
    return None if _clean(text) else "is empty: there is nothing to paraphrase"


def as_exemplars(like: object, count: int) -> list[str] | None:
    """One exemplar a text: the same for all, or those given; None if there are none."""
    if like is None:
        return None
    given = as_texts(like, "exemplar")
    return given * count if isinstance(like, str) else _one_each(given, count, "exemplar")


def as_sketches(sketch: object, count: int) -> list[Sketch]:
    """One prefix a text: the same for all, or those given."""
    if not _is_list(sketch):
        raise UsageError(f"the sketch is {sketch!r} (expected codes such as (13, 5), or such codes for each text)")
    parts = list(cast(Iterable[object], sketch))
    if parts and all(map(_is_list, parts)):
        return _one_each([_as_sketch(cast(Iterable[object], part)) for part in parts], count, "sketch")
    return [_as_sketch(parts)] * count


def prepare_texts(texts: Sequence[str], tokenizer: TextTokenizer, *, max_length: int) -> list[PreparedText]:
    """Make texts with some content ready for a model that reads `max_length` tokens, begin and end included."""
    room = max_length - 2
    cleaned = [_clean(text) for text in texts]
    heads = [text[: room * _LONGEST_TOKEN] for text in cleaned]
    return [
        _prepared(text, head, tokens, tokenizer, room)
        for text, head, tokens in zip(texts, heads, tokenizer.encode_batch(heads), strict=True)
    ]


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray | Mapping)


def _one_each(values: list[T], count: int, what: str) -> list[T]:
    """The values, if there are as many as texts."""
    if len(values) != count:
        raise UsageError(f"{len(values)} {what}s for {count} texts (expected one for all, or one for each)")
    return values


def _as_sketch(codes: Iterable[object]) -> Sketch:
    found = list(codes)
    for level, code in enumerate(found, 1):
        check_number(f"code {level} of the sketch", code)
    return Sketch(cast(list[int], found))


def _clean(text: str) -> str:
    return " ".join(_SURROGATE.sub("\ufffd", _CONTROL.sub(" ", text)).split())


def _prepared(original: str, head: str, tokens: list[int], tokenizer: TextTokenizer, room: int) -> PreparedText:
    warnings = []
    if _CONTROL.search(original):
        warnings.append("control characters were replaced by spaces")
    if _SURROGATE.search(original):
        warnings.append("halves of surrogate pairs were replaced by \ufffd")
    if len(tokens) >= _FEW_TOKENS and len(tokens) > _STRANGE_SHARE * len(head):
        warnings.append("the model's vocabulary hardly knows this script")
    if len(tokens) > room:
        warnings.append(f"only the beginning was read: it is longer than {room} tokens")
        [(tokens, spans)] = tokenizer.encode_with_offsets([head])
        tokens, head = tokens[:room], head[: spans[room - 1][1]]
    if reason := unsuitable(original[: len(head)]):
        warnings.append(reason)
    return PreparedText(head, tuple(tokens), tuple(warnings), suitable=reason is None)
