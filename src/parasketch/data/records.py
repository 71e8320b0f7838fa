"""What every corpus is made of, clusters and evaluation items, and the common ground of all readers.

A reader turns the numbered lines of a `Source` into records. Its parser sees one line and raises a DataError
that says what is wrong with it; the source adds the place and hands the error to `on_bad`, which raises it or
counts it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from parasketch.errors import DataError
from parasketch.files import raise_error

Record = TypeVar("Record")
OnBad = Callable[[DataError], None]

SHOWN_BAD_ROWS = 10

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Cluster:
    """Sentences that mean the same."""

    sentences: tuple[str, ...]


@dataclass(frozen=True)
class EvalItem:
    """A sentence to paraphrase and the paraphrases that people gave for it."""

    input: str
    references: tuple[str, ...]


@dataclass
class BadRows:
    """An `on_bad` that counts bad rows and keeps the first few, so that they can be listed afterwards."""

    count: int = 0
    first: list[DataError] = field(default_factory=list)

    def __call__(self, error: DataError) -> None:
        self.count += 1
        if len(self.first) < SHOWN_BAD_ROWS:
            self.first.append(error)


@dataclass(frozen=True, kw_only=True)
class Source:
    """The numbered lines of one file, where its bad rows go, and which columns of a table to read."""

    name: str
    lines: Iterator[tuple[int, str]]
    on_bad: OnBad = raise_error
    text_columns: tuple[str, str] | None = None
    label_column: str | None = None

    def records(
        self, parse: Callable[[str], Record | None], lines: Iterator[tuple[int, str]] | None = None
    ) -> Iterator[Record]:
        """What `parse` makes of each line; None stands for a line that holds no record."""
        for number, line in self.lines if lines is None else lines:
            try:
                record = parse(line)
            except DataError as error:
                self.on_bad(error.at(self.name, number))
                continue
            if record is not None:
                yield record


def clean_sentence(text: object) -> str:
    """One sentence on one line: white space runs become single spaces; what is no sentence is a DataError."""
    if not isinstance(text, str):
        raise DataError(f"{_kind(text)} where a sentence should be", expected="a string")
    sentence = " ".join(text.split())
    if not sentence:
        raise DataError("an empty sentence")
    if "\0" in sentence:
        raise DataError("a NUL byte in a sentence", expected="text")
    if _SURROGATE.search(sentence):
        raise DataError("half of a surrogate pair in a sentence", expected="Unicode text")
    return sentence


def clean_sentences(texts: object) -> tuple[str, ...]:
    """The sentences of a non-empty list, each clean."""
    if not isinstance(texts, list):
        raise DataError(f"{_kind(texts)} where the sentences should be", expected="a list of strings")
    if not texts:
        raise DataError("an empty list of sentences", expected="at least one")
    return tuple(clean_sentence(text) for text in texts)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
