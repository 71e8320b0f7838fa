"""The report of a study for people and programs: tables in Markdown, the judgements as CSV, the paper's figure."""

import csv
import dataclasses
from collections.abc import Sequence
from pathlib import Path

from parasketch.errors import UsageError
from parasketch.files import write_text
from parasketch.judge.analysis import Analysis
from parasketch.judge.study import QUESTIONS, Judgement

LABELS = {"fluency": "fluency", "meaning": "meaning kept", "difference": "different wording"}


def to_markdown(analysis: Analysis) -> str:
    """Means with intervals, strengths, agreement and raters."""
    lines = [f"{analysis.judgements:,} answers of {sum(r.counted for r in analysis.raters)} raters.", ""]
    lines += _table(
        ["system", *(f"{LABELS[question]} (95 %)" for question in QUESTIONS)],
        [[system, *(_mean(analysis, system, question) for question in QUESTIONS)] for system in analysis.systems],
    )
    lines += ["", "Mean of +1 (chosen) and -1 (not chosen), with bootstrap intervals over items.", ""]
    lines += _table(
        ["Bradley-Terry", *LABELS.values()],
        [
            [system, *(f"{analysis.strengths[system, question]:+.2f}" for question in QUESTIONS)]
            for system in analysis.systems
        ],
    )
    lines += ["", "Log odds of being chosen, centred.", ""]
    lines += _table(
        ["agreement", *LABELS.values()],
        [["Krippendorff's alpha", *(f"{analysis.alpha[question]:.2f}" for question in QUESTIONS)]],
    )
    lines += [""]
    lines += _table(
        ["rater", "pairs", "checks right", "left", "seconds a pair", "counted"],
        [
            [
                str(rater.number), str(rater.pairs), f"{rater.passed} of {rater.checks}", f"{rater.left:.0%}",
                f"{rater.seconds:.0f}", "yes" if rater.counted else "no",
            ]
            for rater in analysis.raters
        ],
    )  # fmt: skip
    return "\n".join(lines) + "\n"


def write_csv(judgements: Sequence[Judgement], path: Path) -> None:
    """One answer a row, checks included."""
    with write_text(path) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([field.name for field in dataclasses.fields(Judgement)])
        writer.writerows(dataclasses.astuple(each) for each in judgements)


def plot(analysis: Analysis, path: Path) -> None:
    """The paper's figure: for each question the systems' means, with their intervals; PNG or SVG by the ending."""
    if path.suffix.lower() not in (".png", ".svg"):
        raise UsageError(f"a plot is written as .png or .svg, not as {path.suffix or 'a file without ending'}")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError("plots need: pip install 'parasketch[plots]'") from error
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(analysis.systems)
    for place, system in enumerate(analysis.systems):
        found = [analysis.means[system, question] for question in QUESTIONS]
        centres = [column + (place - (len(analysis.systems) - 1) / 2) * width for column in range(len(QUESTIONS))]
        means = [each.mean for each in found]
        errors = [[each.mean - each.low for each in found], [each.high - each.mean for each in found]]
        axes.bar(centres, means, 0.9 * width, yerr=errors, capsize=3, label=system)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set(ylabel="mean of +1 and -1", ylim=(-1, 1))
    axes.set_xticks(range(len(QUESTIONS)), [LABELS[question] for question in QUESTIONS])
    axes.legend(fontsize="small", ncols=len(analysis.systems), loc="upper center")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _mean(analysis: Analysis, system: str, question: str) -> str:
    each = analysis.means[system, question]
    return f"{each.mean:+.2f} ({each.low:+.2f} to {each.high:+.2f})"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines]
