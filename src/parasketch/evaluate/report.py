"""Tables as Markdown, LaTeX, CSV or for the terminal.

The Markdown carries what a reader needs to trust and repeat the numbers: command, data, seed, time,
signature.
"""

import csv
import io
from collections.abc import Sequence
from typing import Literal

from rich.table import Table as RichTable
from rich.text import Text

from parasketch.evaluate.compare import SHOWN, Table, format_score
from parasketch.evaluate.results import Record

TextFormat = Literal["markdown", "latex", "csv"]

_LATEX = str.maketrans({"%": r"\%", "&": r"\&", "_": r"\_", "#": r"\#", "–": "--", "<": "$<$"})


def render(format: TextFormat, tables: Sequence[Table], results: Sequence[Record]) -> str:
    """The comparison as text in a format."""
    if format == "csv":
        return to_csv(results)
    if format == "latex":
        return "\n".join(_latex_table(table) for table in tables)
    return "\n".join([*(markdown_table(table) for table in tables), _provenance(results)])


def to_csv(results: Sequence[Record]) -> str:
    """One row for each result with all its scores, unrounded, for spreadsheets and scripts."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["system", "data", "items", "candidates", "empty_outputs", "signature", *SHOWN])
    for one in results:
        about = [one.system, one.data, one.items, one.candidates, one.empty_outputs, one.scores["ibleu"].signature]
        writer.writerow([*about, *(one.score(name) for name in SHOWN)])
    return stream.getvalue()


def to_rich(table: Table) -> RichTable:
    """A table for the terminal, the best in bold."""
    rich = RichTable(title=Text(table.title), title_justify="left")
    for column, name in enumerate(table.header):
        rich.add_column(Text(name), justify="left" if column in table.words else "right")
    for row, cells in enumerate(table.rows):
        rich.add_row(*(Text(cell, "bold" if (row, at) in table.best else "") for at, cell in enumerate(cells)))
    return rich


def score_table(results: Record) -> RichTable:
    """All scores of one system with their intervals, and what people reach where that is known."""
    title = Text(f"{results.system} on {results.data} ({results.items} items)")
    rich = RichTable(title=title, title_justify="left", min_width=title.cell_len)
    scores = [results.scores[name] for name in SHOWN if name in results.scores]
    with_intervals = any(score.interval for score in scores)
    columns = ["score", "value", *(["95 % interval"] if with_intervals else []), *(["people"] if results.human else [])]
    for name in columns:
        rich.add_column(name, justify="left" if name == "score" else "right")
    for score in scores:
        row = [SHOWN[score.name][0], format_score(score.name, score.value)]
        if with_intervals:
            ends = (score.interval.low, score.interval.high) if score.interval else ()
            row.append(" to ".join(format_score(score.name, end) for end in ends))
        if results.human:
            row.append(format_score(score.name, results.human[score.name].value) if score.name in results.human else "")
        rich.add_row(*row)
    return rich


def markdown_table(table: Table) -> str:
    """A table under its title."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"

    marked = [
        [f"**{cell}**" if (row, at) in table.best else cell for at, cell in enumerate(cells)]
        for row, cells in enumerate(table.rows)
    ]
    rule = line(["---" if column in table.words else "---:" for column in range(len(table.header))])
    return "\n".join([f"### {table.title}", "", line(table.header), rule, *map(line, marked), ""])


def _latex_table(table: Table) -> str:
    def line(cells: Sequence[str]) -> str:
        return " & ".join(cells) + r" \\"

    rows = [
        [rf"\textbf{{{_tex(cell)}}}" if (row, at) in table.best else _tex(cell) for at, cell in enumerate(cells)]
        for row, cells in enumerate(table.rows)
    ]
    header = line([_tex(cell) for cell in table.header])
    columns = "".join("l" if column in table.words else "r" for column in range(len(table.header)))
    begin = [r"\begin{table}", rf"\caption{{{_tex(table.title)}}}", rf"\begin{{tabular}}{{{columns}}}", r"\hline"]
    end = [r"\hline", r"\end{tabular}", r"\end{table}", ""]
    return "\n".join([*begin, header, r"\hline", *map(line, rows), *end])


def _tex(cell: str) -> str:
    return cell.translate(_LATEX)


def _provenance(results: Sequence[Record]) -> str:
    lines = ["### How these numbers were made", ""]
    for one in results:
        time = "" if one.seconds is None else f"; generated in {one.seconds:g} s on {one.cores} cores"
        model = "" if one.model_sha256 is None else f"; model `{one.model_sha256[:12]}`"
        lines.append(
            f"- **{one.system}**, {one.data}: `{one.command}`; {one.items:,} items, data `{one.data_sha256[:12]}`"
            f"{model}; seed {one.seed}{time}; {one.empty_outputs} empty outputs; "
            f"`{one.scores['ibleu'].signature}`"
        )
    return "\n".join([*lines, ""])
