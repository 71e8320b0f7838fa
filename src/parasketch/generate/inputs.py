"""Texts as people give them, made ready for the model: cleaned, cut into tokens, and with a word about what is odd.

A text without any content is refused. Anything else gets a result; control characters, halves of surrogate pairs, texts
that are too long and scripts the vocabulary does not know are mended or taken as they are, and mentioned.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from parasketch.errors import UsageError
from parasketch.text.tokenizer import Tokenizer

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST_TOKEN = 100  # characters: what lies beyond so many for each token is certainly not read
_FEW_TOKENS = 4
_STRANGE_SHARE = 0.75  # tokens a character: whole words are unknown to the vocabulary


@dataclass(frozen=True)
class PreparedText:
    """A text as the model reads it."""

    text: str
    """The part that is read, on one line."""
    tokens: tuple[int, ...]
    """Without begin and end."""
    warnings: tuple[str, ...]


def prepare_texts(texts: Sequence[str], tokenizer: Tokenizer, *, max_length: int) -> list[PreparedText]:
    """Make texts with some content ready for a model that reads `max_length` tokens, begin and end included."""
    room = max_length - 2
    cleaned = [_clean(text) for text in texts]
    heads = [text[: room * _LONGEST_TOKEN] for text in cleaned]
    return [
        _prepared(text, head, tokens, tokenizer, room)
        for text, head, tokens in zip(texts, heads, tokenizer.encode_batch(heads), strict=True)
    ]


def check_texts(texts: Sequence[object]) -> None:
    """Refuse a list with a text that cannot be paraphrased at all."""
    for number, text in enumerate(texts, 1):
        if problem := problem_with(text):
            raise UsageError(f"text {number} {problem}" if len(texts) > 1 else f"the text {problem}")


def problem_with(text: object) -> str | None:
    """Why a text cannot be paraphrased at all, to be read after its name; None for a text that can."""
    if not isinstance(text, str):
        return f"is of type {type(text).__name__} (expected str)"
    return None if _clean(text) else "is empty: there is nothing to paraphrase"


def _clean(text: str) -> str:
    return " ".join(_SURROGATE.sub("\ufffd", _CONTROL.sub(" ", text)).split())


def _prepared(original: str, head: str, tokens: list[int], tokenizer: Tokenizer, room: int) -> PreparedText:
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
    return PreparedText(head, tuple(tokens), tuple(warnings))
