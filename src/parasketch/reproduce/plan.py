"""The experiment plan: what is trained on what, for how long, and how it is judged; one YAML file, checked.

`plan.yaml` beside this file is the plan of the paper's tables; another one can be given.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from parasketch.config import load_file, require
from parasketch.systems.kinds import KINDS

PLAN = Path(__file__).with_name("plan.yaml")
FITTED = ("copy", "tfidf")
"""Systems that need no training run."""
PLAIN, RERANKED = "plain", "reranked"
WAYS: dict[str, int | None] = {
    PLAIN: None,
    "no codes": 0,
    "oracle": None,
    "oracle of 2 codes": 2,
    "oracle of 1 code": 1,
    RERANKED: None,
}
"""How a trained model is used, and how many codes of a sketch are kept: `reranked` as the package does it, the rest as
the paper does: the best sentence of the predicted sketch, or (oracle) of the sketch of the first reference."""


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
    model: str | None = None
    """A model that is there already, by name or path, in place of a training run."""
    data: list[str] | None = None
    """The data sets it is for, if not for all of the part's."""
    ways: list[str] = field(default_factory=lambda: [PLAIN])
    against: str | None = None
    """The run it is tested against, if that is another than the part's."""

    @property
    def label(self) -> str:
        """What tables call it."""
        return self.name or self.system

    @property
    def is_trained(self) -> bool:
        """Whether it is a trained model."""
        return self.system not in FITTED

    def row(self, way: str) -> str:
        """The name of the row for one way to use it."""
        return self.label if way == PLAIN else f"{self.label}, {way}"


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
    same_way: bool = False
    """Each way of a run is tested against the same way of the other; else all are against its plain outputs."""


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """A look inside one model."""

    model: str
    sentences: int
    points: int
    texts: list[str]
    like: list[str]


@dataclass(frozen=True, kw_only=True)
class Quick:
    """What a quick reproduction changes."""

    steps: int
    clusters: int
    items: int
    sentences: int
    points: int
    resamples: int
    seeds: int
    settings: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The whole of it."""

    data: dict[str, DataSet]
    parts: dict[str, Part]
    quick: Quick
    analyses: dict[str, Analysis] = field(default_factory=dict)
    semantic: str | None = None
    resamples: int = 10_000

    def __post_init__(self) -> None:
        names = ", ".join(self.data)
        require(set(self.analyses) <= set(self.data), "analyses", f"some of {names}")
        for name, part in self.parts.items():
            where = f"parts.{name}"
            require(part.minutes > 0, f"{where}.minutes", "more than 0")
            require(bool(part.seeds), f"{where}.seeds", "at least one")
            require(part.top >= 1, f"{where}.top", "at least 1")
            require(set(part.data) <= set(self.data), f"{where}.data", f"some of {names}")
            labels = [run.label for run in part.runs]
            require(len(set(labels)) == len(labels), f"{where}.runs", "names that differ")
            for run in part.runs:
                known = (*FITTED, *KINDS)
                here = f"{where}.runs: {run.label}"
                require(run.system in known, f"{where}.runs: {run.system}", f"one of {', '.join(known)}")
                require(set(run.ways) <= set(WAYS), here, f"ways among {', '.join(WAYS)}")
                require(run.is_trained or run.ways == [PLAIN], here, "no ways, for it has but one")
                require((run.against or part.against) in labels, f"{here}: against", f"one of {', '.join(labels)}")


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How long each run learns: minutes of one core, or, to be the same every time, steps; and with which settings."""

    minutes: float | None = None
    steps: int | None = None
    settings: tuple[str, ...] = ()


def load_plan(path: Path | None = None) -> Plan:
    """Read the plan of the package, or another one."""
    return load_file(Plan, path or PLAN)


def quickened(plan: Plan) -> Plan:
    """The plan with what `--quick` changes, but for the budgets."""
    quick = plan.quick
    parts = {name: replace(part, seeds=part.seeds[: quick.seeds]) for name, part in plan.parts.items()}
    analyses = {
        name: replace(one, sentences=quick.sentences, points=quick.points) for name, one in plan.analyses.items()
    }
    return replace(plan, parts=parts, analyses=analyses, resamples=quick.resamples, semantic=None)


def budget(plan: Plan, part: Part, *, minutes: float | None, quick: bool) -> Budget:
    """The budget of a part; with `minutes` the longest of the plan is that long, the others in proportion."""
    settings = tuple(plan.quick.settings) if quick else ()
    if quick and minutes is None:
        return Budget(steps=plan.quick.steps, settings=settings)
    scale = 1.0 if minutes is None else minutes / max(one.minutes for one in plan.parts.values())
    return Budget(minutes=part.minutes * scale, settings=settings)
