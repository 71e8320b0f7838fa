"""The experiment plan: what is trained on what, for how long, and how it is judged; one YAML file, checked.

`plan.yaml` beside this file is the plan of the paper's tables; another one can be given.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from parasketch.config import load_file, require
from parasketch.systems.kinds import KINDS

PLAN = Path(__file__).with_name("plan.yaml")
FITTED = ("copy", "tfidf")
"""Systems that need no training run."""
WAYS = ("plain", "no codes", "oracle", "reranked")
"""How a trained model is used: `reranked` as the package does it, the others as the paper does: the best sentence of
the predicted sketch, of no sketch, or of the sketch of the first reference."""


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """Where the sentences are, as paths below the directory of the data."""

    train: list[str]
    dev: str
    test: str
    templates: Literal["chunk", "pos"] = "chunk"
    paper: str | None = None
    """The data set of the paper whose figures stand beside ours."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One system with one configuration."""

    system: str
    """copy, tfidf, or a kind that can be trained."""
    name: str = ""
    """What tables call it; the system unless told."""
    preset: str = "small"
    """A preset of the system, or a YAML file."""
    ways: list[str] = field(default_factory=lambda: ["plain"])

    @property
    def label(self) -> str:
        """What tables call it."""
        return self.name or self.system

    @property
    def is_trained(self) -> bool:
        """Whether it needs a training run."""
        return self.system not in FITTED

    def row(self, way: str) -> str:
        """The name of the row for one way to use it."""
        return self.label if way == WAYS[0] else f"{self.label}, {way}"


@dataclass(frozen=True, kw_only=True)
class Part:
    """Runs that are compared with each other at the same budget."""

    title: str
    data: list[str]
    minutes: float
    """Of one core, for each run."""
    against: str
    """The run that all others are tested against."""
    runs: list[Run]
    seeds: list[int] = field(default_factory=lambda: [1])
    top: int = 1


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The whole of it."""

    data: dict[str, DataSet]
    parts: dict[str, Part]
    semantic: str | None = None
    resamples: int = 10_000

    def __post_init__(self) -> None:
        for name, part in self.parts.items():
            where = f"parts.{name}"
            require(part.minutes > 0, f"{where}.minutes", "more than 0")
            require(bool(part.seeds), f"{where}.seeds", "at least one")
            require(part.top >= 1, f"{where}.top", "at least 1")
            require(set(part.data) <= set(self.data), f"{where}.data", f"some of {', '.join(self.data)}")
            labels = [run.label for run in part.runs]
            require(len(set(labels)) == len(labels), f"{where}.runs", "names that differ")
            require(part.against in labels, f"{where}.against", f"one of {', '.join(labels)}")
            for run in part.runs:
                known = (*FITTED, *KINDS)
                require(run.system in known, f"{where}.runs: {run.system}", f"one of {', '.join(known)}")
                require(set(run.ways) <= set(WAYS), f"{where}.runs: {run.label}", f"ways among {', '.join(WAYS)}")
                require(run.is_trained or run.ways == ["plain"], f"{where}.runs: {run.label}", "no ways")


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How long each run learns: minutes of one core, or, to be the same every time, steps."""

    minutes: float | None
    steps: int | None = None


def load_plan(path: Path | None = None) -> Plan:
    """Read the plan of the package, or another one."""
    return load_file(Plan, path or PLAN)


def budget(plan: Plan, part: Part, minutes: float | None) -> Budget:
    """The budget of a part; with `minutes` the longest of the plan is that long, the others in proportion."""
    scale = 1.0 if minutes is None else minutes / max(one.minutes for one in plan.parts.values())
    return Budget(minutes=part.minutes * scale)
