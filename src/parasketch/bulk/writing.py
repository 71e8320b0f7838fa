"""Rows and their paraphrases as lines of a file: JSON lines with everything, tables with a column each, or text.

Numbers are rounded: their last digits depend on what was worked on together, and say nothing.
"""

import csv
import io
import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from parasketch.bulk.reading import Row, RowFormat, Rows
from parasketch.errors import UsageError
from parasketch.generate.paraphrases import Paraphrase

RESULTS, PROBLEM = "paraphrases", "problem"
ABOUT = ("accepted", "lost", "warnings")
"""Columns of a table that say more about the paraphrases: theirs in order, with a bar between."""
_DIGITS = 4


class RowWriter:
    """Turns rows and their paraphrases into lines of a format."""

    def __init__(self, source: Rows, format: RowFormat, n: int) -> None:
        self.format, self._columns, self._n = format, list(source.columns), n
        if source.format == "jsonl" and format in ("csv", "tsv", "parquet"):
            raise UsageError("the rows of a JSON lines file may differ in their columns: write JSON lines or text")
        self._check(self._columns)

    @property
    def header(self) -> str:
        """The first line of the output; nothing where a format has no header."""
        return "" if self.format not in ("csv", "tsv") else self._table_line([*self._columns, *self._added()])

    def line(self, row: Row, paraphrases: Sequence[Paraphrase], problem: str | None) -> str:
        """One row, its line end included."""
        texts = [paraphrase.text for paraphrase in paraphrases]
        if self.format == "txt":
            return "\t".join(" ".join(text.split()) for text in texts) + "\n"
        if self.format == "jsonl":
            self._check(row.fields)  # each row may have others
            result = {**row.fields, RESULTS: as_values(paraphrases)} | ({PROBLEM: problem} if problem else {})
            return json.dumps(result, ensure_ascii=False, default=str) + "\n"  # Parquet has dates and the like
        padded = texts + [""] * (self._n - len(texts))
        about = (
            _in_order("true" if paraphrase.accepted else "false" for paraphrase in paraphrases),
            _in_order(", ".join(paraphrase.lost) for paraphrase in paraphrases),
            _in_order("; ".join(paraphrase.warnings) for paraphrase in paraphrases),
        )
        return self._table_line([*(row.fields[name] for name in self._columns), *padded, *about, problem or ""])

    def _check(self, columns: Collection[str]) -> None:
        """No column of the input is ever overwritten."""
        clash = [name for name in self._added() if name in columns]
        if clash and self.format != "txt":
            raise UsageError(f"there is a column {clash[0]!r} already: rename it, or write a text file")

    def _added(self) -> list[str]:
        if self.format in ("jsonl", "parquet"):
            return [RESULTS, PROBLEM]
        return [*(f"paraphrase_{rank}" for rank in range(1, self._n + 1)), *ABOUT, PROBLEM]

    def _table_line(self, fields: Iterable[str]) -> str:
        stream = io.StringIO()
        csv.writer(stream, delimiter="," if self.format == "csv" else "\t", lineterminator="\n").writerow(fields)
        return stream.getvalue()


def _in_order(parts: Iterable[str]) -> str:
    """What there is to say of each paraphrase; nothing if there is nothing to say of any."""
    found = list(parts)
    return " | ".join(found).strip() if any(found) else ""


def as_values(paraphrases: Sequence[Paraphrase]) -> list[dict[str, Any]]:
    """Paraphrases as plain values."""
    return [_rounded(paraphrase.to_dict()) for paraphrase in paraphrases]


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    return {key: round(value, _DIGITS) if isinstance(value, float) else value for key, value in values.items()}
