"""Rows of files of any length: text, CSV, TSV and JSON lines in, the same with paraphrases out, row by row.

A row keeps all its columns. Every row that can be read comes out, whatever its text; a row that cannot be read (no
JSON, a wrong number of fields, no UTF-8) is handed to `on_bad` and left out.
"""

import csv
import io
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from parasketch.data.tables import join_lines, split_fields, split_header
from parasketch.errors import DataError, UsageError
from parasketch.files import STANDARD_STREAM, read_lines
from parasketch.generate.paraphrases import Paraphrase

RowFormat = Literal["txt", "csv", "tsv", "jsonl"]
OnBad = Callable[[DataError], None]

ENDINGS: dict[str, RowFormat] = {
    ".txt": "txt",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
USUAL_COLUMNS = ("text", "sentence", "question", "input", "source")
RESULTS, PROBLEM = "paraphrases", "problem"


@dataclass(frozen=True)
class Row:
    """One row: all its columns, and the text to paraphrase (not a str if the row has none)."""

    fields: dict[str, Any]
    text: object


@dataclass(frozen=True)
class Rows:
    """An open file of rows that can be read once."""

    format: RowFormat
    column: str
    columns: Sequence[str]
    """Of the header, or of the first row."""
    rows: Iterator[Row]


def open_rows(path: str, *, column: str | None, on_bad: OnBad) -> Rows:
    """Open a file (`-` is standard input); the format is told from its ending, or from its first line."""
    lines = read_lines(path, on_bad)
    first = next((pair for pair in lines if pair[1].strip()), None) if _is_structured(path, column) else None
    if first is None:
        first = next(lines, None)
    if first is None:
        return Rows("txt", column or USUAL_COLUMNS[0], (), iter(()))
    format = format_of(path) or _sniff(first[1], column)
    if format == "txt":
        if column is not None:
            raise UsageError(f"{path}: a text file has no columns: leave out --column")
        return Rows(
            "txt", "text", ("text",), (Row({"text": line}, line) for _, line in itertools.chain([first], lines))
        )
    if format == "jsonl":
        return _open_json(path, itertools.chain([first], lines), column, on_bad)
    return _open_table(path, first, lines, column, on_bad)


def format_of(path: str) -> RowFormat | None:
    """The format that a file's ending stands for."""
    return ENDINGS.get(Path(path.removesuffix(".gz")).suffix.lower())


def names_a_file(argument: str) -> bool:
    """Whether a command's argument is a file (or should be one, by its ending) rather than a text."""
    try:
        exists = Path(argument).is_file()
    except OSError:  # a text too long for a name
        exists = False
    return argument == STANDARD_STREAM or exists or (format_of(argument) is not None and len(argument.split()) == 1)


class RowWriter:
    """Turns rows and their paraphrases into lines of a format."""

    def __init__(self, source: Rows, format: RowFormat, n: int) -> None:
        self.format, self._columns, self._n = format, list(source.columns), n
        if source.format == "jsonl" and format in ("csv", "tsv"):
            raise UsageError("the rows of a JSON lines file may differ in their columns: write JSON lines or text")
        clash = [name for name in self._added() if name in self._columns]
        if clash and format != "txt":
            raise UsageError(f"there is a column {clash[0]!r} already: rename it, or write a text file")

    @property
    def header(self) -> str:
        """The first line of the output; nothing where a format has no header."""
        return "" if self.format in ("txt", "jsonl") else self._table_line([*self._columns, *self._added()])

    def line(self, row: Row, paraphrases: Sequence[Paraphrase], problem: str | None) -> str:
        """One row, its line end included."""
        texts = [paraphrase.text for paraphrase in paraphrases]
        if self.format == "txt":
            return "\t".join(" ".join(text.split()) for text in texts) + "\n"
        if self.format == "jsonl":
            result = {**row.fields, RESULTS: [paraphrase.to_dict() for paraphrase in paraphrases]}
            return json.dumps(result | ({PROBLEM: problem} if problem else {}), ensure_ascii=False) + "\n"
        padded = texts + [""] * (self._n - len(texts))
        return self._table_line([*(row.fields[name] for name in self._columns), *padded, problem or ""])

    def _added(self) -> list[str]:
        if self.format == "jsonl":
            return [RESULTS, PROBLEM]
        return [*(f"paraphrase_{rank}" for rank in range(1, self._n + 1)), PROBLEM]

    def _table_line(self, fields: Iterable[str]) -> str:
        stream = io.StringIO()
        csv.writer(stream, delimiter="," if self.format == "csv" else "\t", lineterminator="\n").writerow(fields)
        return stream.getvalue()


def count_rows(path: Path, format: RowFormat) -> tuple[int, int]:
    """How many whole lines of rows a file has, a header included, and how many bytes they take."""
    rows, size, position, quotes = 0, 0, 0, 0
    with path.open("rb") as stream:
        for line in stream:
            position += len(line)
            quotes += line.count(b'"') if format in ("csv", "tsv") else 0
            if line.endswith(b"\n") and quotes % 2 == 0:  # not inside a quoted field
                rows, size = rows + 1, position
    return rows, size


def _is_structured(path: str, column: str | None) -> bool:
    """Whether blank lines before the first row mean nothing; in a text file every line is a row."""
    return format_of(path) not in ("txt", None) or column is not None


def _sniff(line: str, column: str | None) -> RowFormat:
    if line.lstrip().startswith("{"):
        return "jsonl"
    if column is None:
        return "txt"
    return "tsv" if "\t" in line else "csv"


def _open_table(
    path: str, first: tuple[int, str], lines: Iterator[tuple[int, str]], column: str | None, on_bad: OnBad
) -> Rows:
    delimiter, header = split_header(first[1])
    column = _find_column(column, header, path, first[0])
    width = len(header)

    def rows() -> Iterator[Row]:
        for number, line in join_lines(lines, delimiter, width):
            if not line.strip():
                continue
            try:
                fields = split_fields(line, delimiter, width)
                if len(fields) != width:
                    raise DataError(f"{len(fields)} fields", expected=f"{width}, as in the header")
            except DataError as error:
                on_bad(error.at(path, number))
                continue
            row = dict(zip(header, fields, strict=True))
            yield Row(row, row[column])

    return Rows("tsv" if delimiter == "\t" else "csv", column, header, rows())


def _open_json(path: str, lines: Iterator[tuple[int, str]], column: str | None, on_bad: OnBad) -> Rows:
    objects = _json_objects(path, lines, on_bad)
    number, first = next(objects, (0, {}))
    found = _find_column(column, list(first), path, number) if first else column or USUAL_COLUMNS[0]
    both = itertools.chain([(number, first)] if first else [], objects)
    return Rows("jsonl", found, list(first), (Row(fields, fields.get(found)) for _, fields in both))


def _json_objects(path: str, lines: Iterator[tuple[int, str]], on_bad: OnBad) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            yield number, value
        else:
            on_bad(DataError("not a JSON object", path=path, line=number, expected='a line such as {"text": "..."}'))


def _find_column(column: str | None, columns: Sequence[str], path: str, line: int) -> str:
    if column is None:
        usual = [name for name in USUAL_COLUMNS if name in columns]
        if usual or len(columns) == 1:
            return (usual or list(columns))[0]
        raise DataError(f"which column? There are {', '.join(columns)}", path=path, line=line, expected="--column NAME")
    if column not in columns:
        where = "standard input" if path == STANDARD_STREAM else path
        raise DataError(f"no column {column!r}", path=where, line=line, expected=f"one of {', '.join(columns)}")
    return column
