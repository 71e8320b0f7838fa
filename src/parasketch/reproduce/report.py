"""The report on a reproduction, in Markdown, from the JSON of its parts."""

from collections.abc import Sequence
from dataclasses import replace

from parasketch.evaluate.compare import Table, tables
from parasketch.evaluate.report import render
from parasketch.reproduce.paper import TABLE_1, TOP_3, Figures
from parasketch.reproduce.summary import Summary

PAPER_NOTE = """\
The columns "the paper's" repeat what the paper reports, the same scores in the same order, for data of its own: six
times as many COCO images, and a QQP split in which 31 % of the test inputs occur in the training data. They cannot be
compared downwards.
"""


def part_report(summary: Summary) -> str:
    """The tables of a part with one seed."""
    records = [row.record for row in summary.rows]
    lines = [f"## {summary.title}", "", _about(summary), "", PAPER_NOTE]
    if records:
        first, *others = tables(records, [test.verdict for test in summary.tests])
        shown = [_beside_paper(first, summary, TABLE_1)]
        shown += [_beside_paper(one, summary, TOP_3) if one.title.startswith("Top 3") else one for one in others]
        lines.append(render("markdown", shown, records))
    return "\n".join(lines)


def _about(summary: Summary) -> str:
    steps = [row.training["steps"] for row in summary.rows if row.training]
    budget = "a fixed number of steps" if summary.minutes is None else f"{summary.minutes:g} minutes of one core"
    said = [f"Every trained system had {budget}" + (f" ({min(steps):,} to {max(steps):,} steps)." if steps else ".")]
    if summary.missing:
        said.append(f"Not done yet: {', '.join(summary.missing)}.")
    return " ".join(said)


def _beside_paper(table: Table, summary: Summary, paper: Figures) -> Table:
    """A table of systems with a further column for each data set: what the paper reports."""
    sets = {row.record.data: row.paper for row in summary.rows if row.paper}
    evaluated = {(row.record.system, row.record.data) for row in summary.rows}

    def cell(system: str, data: str) -> str:
        known = (system, data) in evaluated
        return paper.get(system, {}).get(sets[data] or "", "–") if known else "–"

    return replace(
        table,
        header=[*table.header, *(f"{data}: the paper's" for data in sets)],
        rows=[[*row, *(cell(row[0], data) for data in sets)] for row in table.rows],
    )


def whole_report(summaries: Sequence[Summary]) -> str:
    """All parts, one after the other."""
    return "\n".join(["# Reproduction", "", *(part_report(summary) for summary in summaries)])
