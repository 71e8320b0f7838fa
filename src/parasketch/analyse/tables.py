"""Tables of sentences: one input in many sketches, an exemplar's form code by code, one item in all systems."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from parasketch.errors import DataError, UsageError

if TYPE_CHECKING:
    from parasketch.generate.paraphraser import Paraphraser

SKETCHES = 14


@dataclass(frozen=True, kw_only=True)
class Said:
    """One output and the sketch it was made with."""

    sketch: list[int]
    text: str


@dataclass(frozen=True, kw_only=True)
class SketchTable:
    """One input in its likeliest sketches, ordered by their codes."""

    text: str
    own: list[int]
    """The sketch of the input itself."""
    said: list[Said]


@dataclass(frozen=True, kw_only=True)
class GranularityTable:
    """One input with no code, one code, ... of an exemplar's sketch."""

    text: str
    like: str
    said: list[Said]


@dataclass(frozen=True, kw_only=True)
class ExampleTable:
    """One item of a data set in all systems."""

    data: str
    text: str
    outputs: dict[str, str]
    """By system."""


def sketch_table(paraphraser: "Paraphraser", text: str, n: int = SKETCHES) -> SketchTable:
    """The outputs of the n likeliest sketches."""
    found = paraphraser(text, n=n, rerank=False)
    said = [Said(sketch=list(one.sketch), text=one.text) for one in sorted(found, key=lambda one: one.sketch)]
    return SketchTable(text=text, own=list(paraphraser.sketch(text)), said=said)


def granularity_table(paraphraser: "Paraphraser", text: str, like: str) -> GranularityTable:
    """The outputs for no code, the first code, the first two, ... of an exemplar's sketch."""
    said = []
    for depth in range(paraphraser.depth + 1):
        [found] = paraphraser(text, like=like, depth=depth, rerank=False)
        said.append(Said(sketch=list(found.sketch), text=found.text))
    return GranularityTable(text=text, like=like, said=said)


def example_table(results: Sequence[Path], item: int = 0) -> list[ExampleTable]:
    """The first output of every system for one item of each data set, from directories of `parasketch evaluate`."""
    from parasketch.evaluate.results import OUTPUTS, Results

    tables: dict[str, ExampleTable] = {}
    for path in results:
        known = Results.load(path)
        lines = (path / OUTPUTS).read_text("utf-8").splitlines()
        if item >= len(lines):
            raise UsageError(f"{path} has {len(lines)} items: there is no item {item}")
        row = json.loads(lines[item])
        table = tables.setdefault(known.data, ExampleTable(data=known.data, text=row["input"], outputs={}))
        if table.text != row["input"]:
            raise DataError(f"item {item} is another one than elsewhere: {row['input']!r}", path=path)
        table.outputs[known.system] = row["outputs"][0]
    return list(tables.values())
