"""Rows of files of any length: text, CSV, TSV, JSON lines and Parquet, one after the other.

A row keeps all its columns. Every row that can be read comes out, whatever its text; a row that cannot be read (no
JSON, a wrong number of fields, no UTF-8) is handed to `on_bad` and left out. A file that is something else as a whole
(a JSON array, a spreadsheet, UTF-16) is refused with a word about what to do.
"""

import itertools
import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from parasketch.delimited import join_lines, split_fields, split_header
from parasketch.errors import DataError, UsageError
from parasketch.files import STANDARD_STREAM, read_lines

if TYPE_CHECKING:
    import pyarrow

RowFormat = Literal["txt", "csv", "tsv", "jsonl", "parquet"]
OnBad = Callable[[DataError], None]
Lines = Iterator[tuple[int, str]]

ENDINGS: dict[str, RowFormat] = {
    ".txt": "txt",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
}
USUAL_COLUMNS = ("text", "sentence", "question", "input", "source")


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
    schema: "pyarrow.Schema | None" = None
    """The types of the columns, where the file has types."""


def open_rows(path: str, *, column: str | None, on_bad: OnBad, stream: IO[bytes] | None = None) -> Rows:
    """Open a file (`-` is standard input); the format is told from its ending, or from its first line.

    With a `stream` that is read instead, and the path is only its name.
    """
    if format_of(path) == "parquet":
        return _open_parquet(path, column)
    lines = read_lines(path, on_bad, stream)
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
        return _open_json(path, first, lines, column, on_bad)
    return _open_table(path, first, lines, column, on_bad)


def count_rows(path: str, *, column: str | None) -> int | None:
    """How many rows a file has, for a progress bar; None if it cannot be read twice, or not as it is asked for."""
    if not Path(path).is_file():
        return None
    try:
        return sum(1 for _ in open_rows(path, column=column, on_bad=lambda _: None).rows)
    except (DataError, UsageError):
        return None  # whoever reads it in earnest will say so


def format_of(path: str) -> RowFormat | None:
    """The format that a file's ending stands for."""
    return ENDINGS.get(Path(path.removesuffix(".gz")).suffix.lower())


def names_a_file(argument: str) -> bool:
    """Whether a command's argument is a file (or should be one, by its ending) rather than a text."""
    try:
        exists, is_directory = bool(argument) and Path(argument).exists(), Path(argument).is_dir()
    except (OSError, ValueError):  # a text too long for a name, or with a NUL in it
        exists = is_directory = False
    if exists and is_directory:
        raise UsageError(f"{argument} is a directory: name a file in it, or a text of more than a word")
    by_ending = format_of(argument) is not None and len(argument.split()) == 1
    return argument == STANDARD_STREAM or exists or by_ending  # pipes such as /dev/stdin exist and are no files


def _is_structured(path: str, column: str | None) -> bool:
    """Whether blank lines before the first row mean nothing; in a text file every line is a row."""
    return format_of(path) not in ("txt", None) or column is not None


def _sniff(line: str, column: str | None) -> RowFormat:
    if line.lstrip().startswith("{"):
        return "jsonl"
    if column is None:
        return "txt"
    return "tsv" if "\t" in line else "csv"


def _open_table(path: str, first: tuple[int, str], lines: Lines, column: str | None, on_bad: OnBad) -> Rows:
    delimiter, header = split_header(first[1])
    twice = [name for place, name in enumerate(header) if name in header[:place]]
    if twice:
        problem = f"two columns are called {twice[0]!r}"
        raise DataError(problem, path=path, line=first[0], expected="a different name for each column")
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


def _open_json(path: str, first: tuple[int, str], lines: Lines, column: str | None, on_bad: OnBad) -> Rows:
    if first[1].lstrip().startswith("["):
        name = "FILE" if path == STANDARD_STREAM else shlex.quote(path)
        advice = f"JSON lines, one object a line: jq -c '.[]' {name} > rows.jsonl"
        raise DataError("is one JSON array", path=path, line=first[0], expected=advice)
    objects = _json_objects(path, itertools.chain([first], lines), on_bad)
    number, fields = next(objects, (0, {}))
    found = _find_column(column, list(fields), path, number) if fields else column or USUAL_COLUMNS[0]
    both = itertools.chain([(number, fields)] if fields else [], objects)
    return Rows("jsonl", found, list(fields), (Row(each, each.get(found)) for _, each in both))


def _open_parquet(path: str, column: str | None) -> Rows:
    from parasketch.bulk.parquet import open_parquet

    schema, rows = open_parquet(path)
    found = _find_column(column, schema.names, path)
    return Rows("parquet", found, schema.names, (Row(each, each[found]) for each in rows), schema)


def _json_objects(path: str, lines: Lines, on_bad: OnBad) -> Iterator[tuple[int, dict[str, Any]]]:
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


def _find_column(column: str | None, columns: Sequence[str], path: str, line: int | None = None) -> str:
    if column is None:
        usual = [name for name in USUAL_COLUMNS if name in columns]
        if usual or len(columns) == 1:
            return (usual or list(columns))[0]
        raise DataError(f"which column? There are {', '.join(columns)}", path=path, line=line, expected="--column NAME")
    if column not in columns:
        where = "standard input" if path == STANDARD_STREAM else path
        raise DataError(f"no column {column!r}", path=where, line=line, expected=f"one of {', '.join(columns)}")
    return column
