"""Pairs of paraphrases in tables: CSV and TSV files with a header that names the columns."""

from collections.abc import Iterator
from dataclasses import dataclass

from parasketch.data.records import Cluster, Source, clean_sentence
from parasketch.delimited import join_lines, split_fields, split_header
from parasketch.errors import DataError

QUORA_COLUMNS = ("question1", "question2", "is_duplicate")
KNOWN_TEXT_COLUMNS = (("question1", "question2"), ("sentence1", "sentence2"), ("text1", "text2"))
KNOWN_LABEL_COLUMNS = ("is_duplicate", "label")

_POSITIVE, _NEGATIVE = {"1", "1.0", "true", "yes"}, {"0", "0.0", "false", "no"}


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


def _is_positive(label: str) -> bool:
    value = label.strip().lower()
    if value not in _POSITIVE | _NEGATIVE:
        raise DataError(f"the label {label!r}", expected="1 (a paraphrase) or 0 (none)")
    return value in _POSITIVE


def _alternatives() -> str:
    return " or ".join(f"{first} and {second}" for first, second in KNOWN_TEXT_COLUMNS)
