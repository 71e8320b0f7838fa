"""The report on a reproduction, in Markdown, from the JSON of its parts and analyses, and the list of its figures."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from parasketch.analyse import figures
from parasketch.analyse.codes import CodeReport
from parasketch.analyse.naming import format_p
from parasketch.analyse.tables import GranularityTable, SketchTable
from parasketch.analyse.tsne import Map
from parasketch.evaluate import compare
from parasketch.evaluate.compare import Table, tables
from parasketch.evaluate.report import markdown_table, render
from parasketch.reproduce.claims import claims, signed
from parasketch.reproduce.paper import ABLATIONS, TABLE_1, TOP_3, Figures
from parasketch.reproduce.plan import PLAIN
from parasketch.reproduce.summary import Row, Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER_NOTE = """\
The columns "the paper's" repeat what the paper reports, the same scores in the same order, for data of its own: six
times as many COCO images, and a QQP split in which 31 % of the test inputs occur in the training data. They cannot be
compared downwards.
"""
FIGURES = "figures"
SHOWN_PROPERTIES = ("question word", "auxiliary", "length", "beginning")
"""Properties that the report draws; the numbers of the others are in the JSON."""
_TWO = frozenset([0, 1])


@dataclass(frozen=True)
class Drawing:
    """A figure that the report shows: what it is called, its caption, what it shows, and how it is drawn."""

    name: str
    caption: str
    values: Any
    draw: "Callable[[], Figure]"


@dataclass(frozen=True)
class Found:
    """All that a report is written from."""

    summaries: list[Summary]
    analyses: dict[str, dict[str, Any]]
    """By file name without ending: `codes-questions`."""

    @classmethod
    def read(cls, directory: Path) -> "Found":
        """The JSON files of a directory."""
        summaries = [Summary.load(path) for path in sorted(directory.glob("*.json"))]
        analyses = {
            path.stem: json.loads(path.read_text("utf-8")) for path in sorted((directory / "analyses").glob("*.json"))
        }
        order = ("shipped", "comparison", "ablations")
        summaries.sort(key=lambda one: (order.index(one.part) if one.part in order else len(order), one.part))
        return cls(summaries, analyses)


def write_report(found: Found, directory: Path, name: str) -> str:
    """Write `name` and the figures it shows into a directory; the Markdown is returned, too."""
    from parasketch.files import write_text

    for drawing in drawings(found):
        target = directory / FIGURES / drawing.name
        if not all(figures.shows(target.with_name(target.name + end), drawing.values) for end in figures.ENDINGS):
            figures.save(drawing.draw(), target, drawing.values)
    text = markdown(found)
    with write_text(directory / name) as stream:
        stream.write(text)
    return text


def drawings(found: Found) -> list[Drawing]:
    """All figures of a report."""
    return [
        *(drawing for summary in found.summaries for drawing in _part_drawings(summary)),
        *(drawing for name, values in found.analyses.items() for drawing in _analysis_drawings(name, values)),
    ]


def markdown(found: Found) -> str:
    """The text."""
    lines = [
        "# Results",
        "",
        "Written by `parasketch reproduce` from JSON; the commands behind the numbers stand at the end of each part.",
        "",
    ]
    for summary in found.summaries:
        lines += _part(summary)
    for name, values in found.analyses.items():
        lines += _analysis(name, values)
    return "\n".join(lines).rstrip() + "\n"


def _part(summary: Summary) -> Iterable[str]:
    yield from (f"## {summary.title}", "", _about(summary), "")
    said = claims(summary)
    yield from ["What the tests say:", "", *(f"- {claim}" for claim in said), ""] if said else []
    if any(row.paper for row in summary.rows):
        yield PAPER_NOTE
    seeds = sorted({row.seed for row in summary.rows})
    first = [row for row in summary.rows if row.seed == seeds[0]] if seeds else []
    if len(seeds) > 1 or summary.same_way:
        yield markdown_table(_difference_table(summary))
    else:
        records = [row.record for row in first]
        top, *others = tables(records, summary.tests)
        shown = [_beside_paper(top, summary, TABLE_1)]
        shown += [_beside_paper(one, summary, TOP_3) if one.title.startswith("Top 3") else one for one in others]
        yield from (markdown_table(table) for table in shown)
    for drawing in _part_drawings(summary):
        yield from _image(drawing)
    for example in summary.examples:
        rows = [[system, text] for system, text in example.outputs.items()]
        title = f"The first item of {example.data}: {example.text}"
        yield markdown_table(Table(title=title, header=["system", "output"], rows=rows, words=_TWO))
    yield render("markdown", [], [row.record for row in first])


def _about(summary: Summary) -> str:
    steps = [row.training.steps for row in summary.rows if row.training]
    said = [summary.about] if summary.about else []
    if steps and not summary.about:
        budget = "a fixed number of steps" if summary.minutes is None else f"{summary.minutes:g} minutes of one core"
        done = f"{min(steps):,} to {max(steps):,} steps" if min(steps) < max(steps) else f"{steps[0]:,} steps"
        said.append(f"Every trained system had {budget} ({done}).")
    if summary.missing:
        said.append(f"Not done yet: {len(summary.missing)} steps, such as {summary.missing[0]}.")
    return " ".join(said)


def _beside_paper(table: Table, summary: Summary, paper: Figures) -> Table:
    """A table of systems with a further column for each data set: what the paper reports."""
    sets = {row.record.data: row.paper for row in summary.rows if row.paper}
    known = {(row.record.system, row.record.data): row for row in summary.rows}

    def cell(system: str, data: str) -> str:
        row = known.get((system, data))
        return "–" if row is None else paper.get(_role(row), {}).get(sets[data] or "", "–")

    return replace(
        table,
        header=[*table.header, *(f"{data}: the paper's" for data in sets)],
        rows=[[*row, *(cell(row[0], data) for data in sets)] for row in table.rows],
    )


def _role(row: Row) -> str:
    """The row of the paper's table that belongs to ours."""
    return row.run if row.way == PLAIN else f"{row.run}, {row.way}"


def _difference_table(summary: Summary) -> Table:
    """Rows of a part with several seeds: mean and spread, and the change against what they are compared with."""
    header = ["data", "row", "iBLEU", "spread", "against", "change", "95 % interval", "p", "the paper's change"]
    rows = []
    for data, system in dict.fromkeys((row.record.data, row.record.system) for row in summary.rows):
        mine = [row for row in summary.rows if (row.record.data, row.record.system) == (data, system)]
        values = [row.record.scores["ibleu"].value for row in mine]
        spread = f"± {stdev(values):.2f} ({len(values)} seeds)" if len(values) > 1 else "one seed"
        cells = [data, system, f"{mean(values):.2f}", spread]
        test = next((one for one in summary.tests if (one.data, one.system) == (data, system)), None)
        if test is None:
            rows.append([*cells, "–", "–", "–", "–", "–"])
            continue
        known = ABLATIONS.get((mine[0].run, mine[0].way), {}).get(mine[0].paper or "")
        interval = f"{signed(-test.result.interval.high)} to {signed(-test.result.interval.low)}"
        change = signed(-test.result.difference)
        paper = "–" if known is None else f"{known:+.2f}"
        rows.append([*cells, test.against, change, interval, compare.format_p(test.result), paper])
    title = "iBLEU, and what changes it (paired bootstrap of the means over seeds; p: the other one is not better)"
    return Table(title=title, header=header, rows=rows, words=frozenset([0, 1, 4]))


def _part_drawings(summary: Summary) -> Iterable[Drawing]:
    records = [row.record for row in summary.rows if row.seed == min(one.seed for one in summary.rows)]
    if not records:
        return
    if not summary.same_way:
        cut = {row.record.system for row in summary.rows if row.way.startswith("oracle ")}  # too many lines
        values = figures.alpha_values([record for record in records if record.system not in cut])
        caption = "iBLEU over the weight of BLEU; the grey line is the weight of all tables"
        yield Drawing(f"{summary.part}-alpha", caption, values, lambda: figures.draw_alpha(values))
    if summary.tests:
        rows = [
            (one.system, one.data, -one.result.difference, -one.result.interval.high, -one.result.interval.low)
            for one in summary.tests
        ]
        caption = f"iBLEU minus that of what it is tested against (mostly {summary.against}), with 95 % intervals"
        title = "change of iBLEU"
        yield Drawing(f"{summary.part}-changes", caption, rows, lambda: figures.draw_differences(rows, title=title))
    for data in dict.fromkeys(record.data for record in records):
        curves = {
            row.run: row.training.curve
            for row in summary.rows
            if row.record.data == data and row.training and len(row.training.curve) > 1 and row.record in records
        }
        if curves:
            yield _curves(summary.part, data, curves)


def _curves(part: str, data: str, curves: dict[str, list[list[float]]]) -> Drawing:
    name = f"{part}-curves-{data.replace('/', '-')}"
    points = {run: [(minutes, value) for minutes, value in curve] for run, curve in curves.items()}
    caption = f"{data}: dev iBLEU while training, greedy, without reranking"
    return Drawing(name, caption, curves, lambda: figures.draw_curves(points, ylabel="dev iBLEU"))


def _analysis_drawings(name: str, values: dict[str, Any]) -> Iterable[Drawing]:
    what, _, data = name.partition("-")
    if what == "codes":
        report = CodeReport.from_dict(values)
        for known in SHOWN_PROPERTIES:
            yield _crossing(report, data, known)
    elif what == "tsne":
        found = Map.from_dict(values)
        caption = f"Forms of {data} by t-SNE, coloured by their codes; each panel is one group of the panel before it"
        yield Drawing(name, caption, asdict(found), lambda: figures.draw_map(found))


def _crossing(report: CodeReport, data: str, known: str) -> Drawing:
    values = figures.crossing_values(report, known)
    caption = f"{data}: the share of each {known} among the sentences of a code; codes are ordered by what they prefer"
    name = f"codes-{data}-{known.replace(' ', '-')}"
    return Drawing(name, caption, values, lambda: figures.draw_crossings(report, known))


def _analysis(name: str, values: dict[str, Any]) -> Iterable[str]:
    what, _, data = name.partition("-")
    if what == "codes":
        yield from _codes(data, CodeReport.from_dict(values))
    elif what == "sketches":
        yield from _sketches(data, values)
    else:
        yield from (f"## Forms on a plane: {data}", "")
    for drawing in _analysis_drawings(name, values):
        yield from _image(drawing)


def _codes(data: str, report: CodeReport) -> Iterable[str]:
    yield from (f"## What the codes mean: {data}", "")
    named = [
        sum(code.least_p < 0.001 for code in report.codes if code.level == level)
        for level in sorted({code.level for code in report.codes})
    ]
    each = len(report.codes) // len(named)
    yield (
        f"Model `{report.model}`, {report.sentences:,} sentences. Codes with a property at p < 0.001 (exact "
        f"permutation test, corrected for {report.tests:,} tests by Holm's method), level by level: "
        + ", ".join(f"{count} of {each}" for count in named)
        + ". The table has the first level; all levels are in the JSON."
    )
    yield ""
    rows = [
        [
            str(code.code),
            f"{100 * code.share:.1f}",
            code.name,
            f"{best.property}: {best.value}" if best else "–",
            f"{best.share:.0%} ({best.share_of_all:.0%})" if best else "–",
            format_p(best.p) if best else format_p(code.least_p),
        ]
        for code in report.codes
        if code.level == 1
        for best in [code.associations[0] if code.associations else None]
    ]
    header = ["code", "share %", "description", "most telling", "of its sentences (of all)", "p"]
    yield markdown_table(Table(title="First-level codes", header=header, rows=rows, words=frozenset([2, 3])))
    levels = sorted({one.level for one in report.information})
    rows = [
        [known, f"{entropy:.2f}", *(_bits(report, known, level) for level in levels)]
        for known, entropy in dict.fromkeys((one.property, one.entropy) for one in report.information)
    ]
    title = f"Mutual information in bits (minus that of shuffled codes; p, {report.permutations} permutations)"
    header = ["property", "entropy", *(f"level {level}" for level in levels)]
    yield markdown_table(Table(title=title, header=header, rows=rows))


def _bits(report: CodeReport, known: str, level: int) -> str:
    one = next(one for one in report.information if (one.property, one.level) == (known, level))
    return f"{one.bits - one.chance:.3f} (p {one.p:.3g})"


def _sketches(data: str, values: dict[str, Any]) -> Iterable[str]:
    yield from (f"## What sketches do: {data}", "")
    for table in values["sketches"]:
        sketched = SketchTable(**table)
        title = f"One input in many sketches: {sketched.text} (its own: {_dotted(sketched.own)})"
        rows = [[_dotted(said["sketch"]), said["text"]] for said in table["said"]]
        yield markdown_table(Table(title=title, header=["sketch", "paraphrase"], rows=rows, words=_TWO))
    for table in values["granularity"]:
        granular = GranularityTable(**table)
        title = f"In the form of another, code by code: {granular.text} like: {granular.like}"
        rows = [[_dotted(said["sketch"]) or "none", said["text"]] for said in table["said"]]
        yield markdown_table(Table(title=title, header=["codes", "paraphrase"], rows=rows, words=_TWO))


def _dotted(sketch: Sequence[int]) -> str:
    return ".".join(map(str, sketch))


def _image(drawing: Drawing) -> Iterable[str]:
    yield from (f"![{drawing.caption}]({FIGURES}/{drawing.name}.svg)", "", f"*{drawing.caption}.*", "")
