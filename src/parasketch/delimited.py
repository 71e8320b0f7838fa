"""Rows of delimited text: CSV, TSV and tables with semicolons, cut into fields.

Quora's files are quoted like CSV in some rows (questions with line ends or quotes), yet a stray quote mark may
stand at the start of a field. So a row of a TSV file is read as quoted where that makes sense and as it stands
otherwise.
"""

import csv
import re
from collections import deque
from collections.abc import Iterator

from parasketch.errors import DataError

_MOST_LINES_OF_A_ROW = 50
_QUOTED_FIELD = re.compile(r'(?:^|(?<=\t))"(?:[^"]|"")*"(?=\t)')


def split_header(line: str) -> tuple[str, list[str]]:
    """The delimiter (a tab if there is one, else a comma, else a semicolon) and the names of the columns."""
    delimiter = next((sign for sign in "\t,;" if sign in line), ",")
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
