"""Pairs of paraphrases in tables: CSV and TSV files with a header that names the columns.

Quora's files are quoted like CSV in some rows (questions with line ends or quotes), yet a stray quote mark may
stand at the start of a field. So a row of a TSV file is read as quoted where that makes sense and as it stands
otherwise.
"""

import csv
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from parasketch.data.records import Cluster, Source, clean_sentence
from parasketch.errors import DataError

QUORA_COLUMNS = ("question1", "question2", "is_duplicate")
KNOWN_TEXT_COLUMNS = (("question1", "question2"), ("sentence1", "sentence2"), ("text1", "text2"))
KNOWN_LABEL_COLUMNS = ("is_duplicate", "label")

_POSITIVE, _NEGATIVE = {"1", "1.0", "true", "yes"}, {"0", "0.0", "false", "no"}
_MOST_LINES_OF_A_ROW = 50
_QUOTED_FIELD = re.compile(r'(?:^|(?<=\t))"(?:[^"]|"")*"(?=\t)')


@dataclass(frozen=True)
class _Header:
    """The names of the columns, and what is needed to read the rows under them."""

    source: Source
    line: int
    delimiter: str
    names: list[str]

    def position(self, name: str) -> int:
        """Where a column stands; one that is not there is an error."""
        if name in self.names:
            return self.names.index(name)
        raise self.error(f"no column {name!r} among {', '.join(self.names)}", "a header that names the columns")

    def error(self, problem: str, expected: str) -> DataError:
        """A problem with the header itself, which no row can make up for."""
        return DataError(problem, path=self.source.name, line=self.line, expected=expected)


@dataclass(frozen=True)
class _Pairs:
    """Where in a row of `width` fields the two texts and the label stand."""

    delimiter: str
    width: int
    texts: tuple[int, int]
    label: int | None

    def parse(self, row: str) -> Cluster | None:
        """The pair of a row; None for a blank row and for a pair that is labelled as no paraphrase."""
        if not row.strip():
            return None
        fields = split_fields(row, self.delimiter, self.width)
        if len(fields) != self.width:
            raise DataError(f"{len(fields)} columns", expected=f"{self.width}, as in the header")
        if self.label is not None and not _is_positive(fields[self.label]):
            return None
        return Cluster((clean_sentence(fields[self.texts[0]]), clean_sentence(fields[self.texts[1]])))


def read_pairs(source: Source) -> Iterator[Cluster]:
    """The positive pairs of a CSV or TSV file; the columns are those asked for, or well-known ones."""
    header = _read_header(source)
    texts = source.text_columns or next(
        (names for names in KNOWN_TEXT_COLUMNS if set(names) <= set(header.names)), None
    )
    if texts is None:
        expected = f"{_alternatives()}; name others with --text-columns"
        raise header.error(f"the columns are {', '.join(header.names)}", expected)
    label = source.label_column or next((name for name in KNOWN_LABEL_COLUMNS if name in header.names), None)
    return _read_rows(header, texts, label)


def read_quora(source: Source) -> Iterator[Cluster]:
    """The duplicates of Quora's own release, of GLUE's QQP (train and dev) or of Kaggle's train.csv."""
    return _read_rows(_read_header(source), QUORA_COLUMNS[:2], QUORA_COLUMNS[2])


def split_header(line: str) -> tuple[str, list[str]]:
    """The delimiter (a tab if there is one, else a comma) and the names of the columns."""
    delimiter = "\t" if "\t" in line else ","
    return delimiter, [name.strip() for name in split_fields(line, delimiter)]


def split_fields(row: str, delimiter: str, width: int | None = None) -> list[str]:
    """The fields of one row; `width` is how many there should be."""
    plain = row.split(delimiter)
    if '"' not in row:
        return plain
    try:
        fields = next(csv.reader([row], delimiter=delimiter, strict=True))
    except csv.Error as error:
        if delimiter == "\t":
            return plain
        raise DataError(f"not valid CSV: {error}") from None
    return plain if delimiter == "\t" and len(plain) == width != len(fields) else fields


def _read_header(source: Source) -> _Header:
    for number, line in source.lines:
        if line.strip():
            try:
                return _Header(source, number, *split_header(line))
            except DataError as error:
                raise error.at(source.name, number) from None
    raise DataError("is empty", path=source.name, expected="a header that names the columns")


def _read_rows(header: _Header, texts: tuple[str, str], label: str | None) -> Iterator[Cluster]:
    delimiter, width = header.delimiter, len(header.names)
    positions = header.position(texts[0]), header.position(texts[1])
    pairs = _Pairs(delimiter, width, positions, None if label is None else header.position(label))
    return header.source.records(pairs.parse, join_lines(header.source.lines, delimiter, width))


def join_lines(lines: Iterator[tuple[int, str]], delimiter: str, width: int) -> Iterator[tuple[int, str]]:
    """Lines, joined where a quoted field runs over the end of a line; numbered by the first."""
    ahead: deque[tuple[int, str]] = deque()
    while True:
        number, row = ahead.popleft() if ahead else next(lines, (0, ""))
        if number == 0:
            return
        if _is_open(row, delimiter, width):
            while len(ahead) < _MOST_LINES_OF_A_ROW and (following := next(lines, None)) is not None:
                ahead.append(following)
            row = _close(row, ahead)
        yield number, row


def _is_open(row: str, delimiter: str, width: int) -> bool:
    """Whether a quoted field goes on in the next line; a full TSV row with a stray quote is no such row."""
    outside = _QUOTED_FIELD.sub("", row)  # tabs inside a whole quoted field part nothing
    return row.count('"') % 2 == 1 and not (delimiter == "\t" and outside.count("\t") == width - 1)


def _close(row: str, ahead: deque[tuple[int, str]]) -> str:
    """`row` with as many lines of `ahead` (taken from it) as close its quote; alone if none of them does."""
    for count, (_, line) in enumerate(ahead, 1):
        if line.count('"') % 2 == 1:
            return "\n".join([row, *(ahead.popleft()[1] for _ in range(count))])
    return row


def _is_positive(label: str) -> bool:
    value = label.strip().lower()
    if value not in _POSITIVE | _NEGATIVE:
        raise DataError(f"the label {label!r}", expected="1 (a paraphrase) or 0 (none)")
    return value in _POSITIVE


def _alternatives() -> str:
    return " or ".join(f"{first} and {second}" for first, second in KNOWN_TEXT_COLUMNS)
