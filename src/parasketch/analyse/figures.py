"""Figures from the JSON of analyses and results, each as SVG and PNG, readable without colour vision.

Colours are Okabe and Ito's; where there are more things than colours, markers or dashes tell them apart as well. Every
file carries the hash of the values that it shows, so that a document can be checked against them.
"""

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from parasketch.analyse.codes import CodeReport, Crossing
from parasketch.analyse.tsne import Map
from parasketch.errors import UsageError
from parasketch.evaluate.metrics import ibleu
from parasketch.evaluate.results import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#B8A900")
MARKERS = ("o", "^", "s", "X")
DASHES = ("-", "--", ":", "-.")
ENDINGS = (".svg", ".png")
_MOST_VALUES = 12
_HASH = "Values: sha256 "


def digest(values: Any) -> str:
    """The hash of what a figure shows."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def save(figure: "Figure", path: Path, values: Any) -> None:
    """Write a figure; SVG or PNG by the ending, both if there is none."""
    import matplotlib

    ending = path.suffix.lower()
    if ending not in ("", *ENDINGS):
        raise UsageError(f"a figure is written as .png or .svg, not as {path.suffix}")
    endings = (ending,) if ending else ENDINGS
    for ending in endings:
        # The same values give the same file: no date, no random ids.
        about = {"Description": _HASH + digest(values)} | ({"Date": None} if ending == ".svg" else {})
        stream = io.BytesIO()
        with matplotlib.rc_context({"svg.hashsalt": "parasketch", "svg.fonttype": "none"}):
            figure.savefig(stream, format=ending[1:], metadata=about, dpi=110)
        target = path if path.suffix else path.with_name(path.name + ending)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(stream.getvalue())


def shows(path: Path, values: Any) -> bool:
    """Whether a figure was made from these values."""
    return path.is_file() and (_HASH + digest(values)).encode() in path.read_bytes()


def alpha_values(records: Sequence[Record]) -> dict[str, Any]:
    """What `draw_alpha` shows."""
    return {
        "alpha": records[0].alpha,
        "lines": [
            [one.system, one.data, one.scores["bleu"].value, one.scores["self_bleu"].value, one.uses_references]
            for one in records
        ],
    }


def draw_alpha(values: Mapping[str, Any]) -> "Figure":
    """iBLEU over alpha from 0.5 to 1, a panel for each data set, a line for each system."""
    names = list(dict.fromkeys(line[1] for line in values["lines"]))
    systems = list(dict.fromkeys(line[0] for line in values["lines"]))
    figure = _figure(5.0 * len(names) + 1.6, 4.2)
    alphas = np.linspace(0.5, 1.0, 51)
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    for axes, data in zip(panels, names, strict=True):
        for system, _, bleu, self_bleu, _ in (line for line in values["lines"] if line[1] == data):
            number = systems.index(system)
            style = DASHES[number // len(COLOURS) % len(DASHES)]
            values_of = [ibleu(bleu, self_bleu, alpha) for alpha in alphas]
            axes.plot(alphas, values_of, color=_colour(number), linestyle=style, label=system)
        axes.axvline(values["alpha"], color="grey", linewidth=0.8)
        axes.set(title=data, xlabel="alpha (weight of BLEU)", ylabel="iBLEU", xlim=(0.5, 1.0))
    _legend_beside(figure, panels)
    return figure


def draw_map(found: Map) -> "Figure":
    """One panel for each level, from all forms to those of one group."""
    figure = _figure(5.6 * len(found.panels), 5.6)
    for level, (axes, panel) in enumerate(zip(_row(figure, len(found.panels)), found.panels, strict=True), start=1):
        points, codes = np.array(panel.points), np.array(panel.codes)
        size = 7.0 if len(points) > 500 else 18.0
        for code in sorted(set(panel.codes)):
            mine = points[codes == code]
            marker = MARKERS[code // len(COLOURS) % len(MARKERS)]
            axes.scatter(
                mine[:, 0],
                mine[:, 1],
                s=size,
                color=_colour(code),
                marker=marker,
                linewidths=0,
                alpha=0.75,
                label=str(code),
            )
        shared = "".join(f", q{at} = {code}" for at, code in enumerate(panel.prefix, start=1))
        axes.set(title=f"{len(points):,} sentences{shared}", xticks=[], yticks=[])
        axes.legend(
            title=f"q{level}",
            ncols=8,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.01),
            fontsize=8,
            markerscale=1.8,
            handletextpad=0.1,
            columnspacing=0.9,
        )
    return figure


def draw_crossings(report: CodeReport, property: str) -> "Figure":
    """For each level, the share of every value of a property among the sentences of a code."""
    crossings = [one for one in report.crossings if one.property == property]
    rows = min(_MOST_VALUES, len(crossings[0].values))
    figure = _figure(4.9 * len(crossings) + 1.0, 1.6 + 0.32 * rows)
    panels = _row(figure, len(crossings))
    image: Any = None
    for axes, crossing in zip(panels, crossings, strict=True):
        image = _heat(axes, crossing, property, first=axes is panels[0], report=report)
    figure.colorbar(image, ax=list(panels), label="share of the code's sentences", pad=0.01)
    return figure


def _heat(axes: "Axes", crossing: Crossing, property: str, *, first: bool, report: CodeReport) -> Any:
    counts = np.array(crossing.counts, dtype=float)[:_MOST_VALUES]
    shares = counts / np.maximum(1.0, np.array(crossing.counts, dtype=float).sum(axis=0))
    # Codes that prefer the same value stand side by side.
    order = np.lexsort((-shares.max(axis=0), shares.argmax(axis=0)))
    image = axes.imshow(shares[:, order], cmap="cividis", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(order)), [str(code) for code in order], fontsize=7)
    labels = crossing.values[:_MOST_VALUES] if first else []
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    known = next(one for one in report.information if (one.level, one.property) == (crossing.level, property))
    axes.set(
        title=f"level {crossing.level}: {known.bits - known.chance:.2f} bits of {known.entropy:.2f} "
        f"(p {_p(known.p, report)})",
        xlabel="code",
        ylabel=property if first else "",
    )
    axes.title.set_fontsize(9)
    return image


def draw_differences(rows: Sequence[tuple[str, str, float, float, float]], *, title: str) -> "Figure":
    """Differences with intervals: (row, data set, difference, low, high), data sets side by side."""
    names = list(dict.fromkeys(row[1] for row in rows))
    labels = list(dict.fromkeys(row[0] for row in rows))
    figure = _figure(4.2 * len(names) + 2.4, 1.4 + 0.34 * len(labels))
    panels = _row(figure, len(names))
    for axes, data in zip(panels, names, strict=True):
        for label, _, difference, low, high in (row for row in rows if row[1] == data):
            place = labels.index(label)
            axes.plot([low, high], [place, place], color=COLOURS[0], linewidth=2)
            axes.plot([difference], [place], "o", color=COLOURS[3])
        axes.axvline(0, color="grey", linewidth=0.8)
        axes.set(title=data, xlabel=title, ylim=(len(labels) - 0.5, -0.5))
        shown = labels if axes is panels[0] else [""] * len(labels)
        axes.set_yticks(range(len(labels)), shown, fontsize=8)
    return figure


def draw_curves(curves: Mapping[str, Sequence[tuple[float, float]]], *, ylabel: str) -> "Figure":
    """Figures over the minutes of a run: (minutes, value) by the name of the line."""
    figure = _figure(7.2, 4.0)
    [axes] = _row(figure, 1)
    for number, (name, points) in enumerate(curves.items()):
        minutes, values = zip(*points, strict=True)
        axes.plot(minutes, values, color=_colour(number), linestyle=DASHES[number // len(COLOURS)], label=name)
    axes.set(xlabel="minutes of training", ylabel=ylabel)
    _legend_beside(figure, [axes])
    return figure


def crossing_values(report: CodeReport, property: str) -> list[Any]:
    """What `draw_crossings` shows."""
    crossings = [asdict(one) for one in report.crossings if one.property == property]
    return [*crossings, *(asdict(one) for one in report.information if one.property == property)]


def _figure(width: float, height: float) -> "Figure":
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError("figures need: pip install 'parasketch[plots]'") from error
    return Figure(figsize=(width, height), layout="constrained")


def _row(figure: "Figure", number: int) -> "Sequence[Axes]":
    panels: Sequence[Axes] = figure.subplots(1, number, squeeze=False)[0]
    return panels


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _legend_beside(figure: "Figure", panels: "Sequence[Axes]") -> None:
    """One legend for all panels, outside of them."""
    known: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    figure.legend(known.values(), known.keys(), loc="outside right upper", fontsize=8)


def _p(p: float, report: CodeReport) -> str:
    least = 1 / (1 + report.permutations)
    return f"< {2 * least:.2g}" if p <= least else f"= {p:.2g}"
