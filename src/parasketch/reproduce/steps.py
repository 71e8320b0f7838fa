"""The steps of a plan: prepare, train, evaluate; each knows what decides its result, and can be run on its own.

A step that has ended leaves a note of what decided its result, under `steps/` in the directory of the reproduction. As
long as that has not changed it is not run again. A step that is killed goes on where it can, or begins anew.
"""

import hashlib
import json
import re
import shutil
import time
import typing
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from parasketch.config import DataConfig, load_config, to_dict
from parasketch.errors import UsageError
from parasketch.files import lock, sha256, write_text
from parasketch.generate.pretrained import find_model
from parasketch.reproduce.plan import PLAIN, RERANKED, WAYS, Budget, DataSet, Run

PREPARE_SECONDS, FIT_SECONDS, SHORT_SECONDS = 90.0, 20.0, 5.0
SECONDS_AN_ITEM, SECONDS_AN_ITEM_RERANKED = 0.04, 0.4
"""Rough costs on one core, for the progress bar alone."""


@dataclass(frozen=True, kw_only=True)
class Space:
    """Where things are."""

    data: Path
    """The raw data."""
    out: Path

    def prepared(self, name: str) -> Path:
        """The prepared corpus of a data set."""
        return self.out / "data" / name

    def run(self, step: str) -> Path:
        """The directory of a training run."""
        return self.out / "runs" / step

    def analysis(self, what: str, data: str) -> Path:
        """What an analysis found."""
        return self.out / "numbers" / "analyses" / f"{what}-{data}.json"

    def note(self, step: str) -> Path:
        """What a step left when it ended."""
        return self.out / "steps" / f"{step}.json"


@dataclass(frozen=True, kw_only=True)
class Step(ABC):
    """One piece of work."""

    name: str
    """Unique in a plan: PART/KIND/..."""
    needs: tuple[str, ...] = ()
    """Steps that have to end before it begins."""

    @property
    @abstractmethod
    def estimate(self) -> float:
        """About how many seconds it takes on one core."""

    @abstractmethod
    def inputs(self, space: Space) -> dict[str, Any]:
        """Whatever decides the result, as JSON; the steps it needs have ended."""

    @abstractmethod
    def outputs(self, space: Space) -> list[Path]:
        """What it leaves behind."""

    @abstractmethod
    def run(self, space: Space) -> None:
        """Do the work."""

    def is_done(self, space: Space) -> bool:
        """Whether it has ended, and nothing that decides its result has changed since."""
        try:
            note = json.loads(space.note(self.name).read_text("utf-8"))
        except (OSError, ValueError):
            return False
        return all(path.exists() for path in self.outputs(space)) and _agree(note.get("inputs"), self.inputs(space))

    def ensure(self, space: Space) -> None:
        """Run it unless it is done; where somebody else is at it, wait for them."""
        with _alone(space.note(self.name)):
            if self.is_done(space):
                return
            begun = time.monotonic()
            self.run(space)
            note = {"inputs": self.inputs(space), "seconds": round(time.monotonic() - begun, 1)}
            with write_text(space.note(self.name)) as stream:
                json.dump(note, stream, indent=1)


@dataclass(frozen=True, kw_only=True)
class Prepare(Step):
    """Make the training clusters of a data set ready."""

    source: DataSet
    data: str
    settings: tuple[str, ...] = ()

    @property
    def estimate(self) -> float:
        return SHORT_SECONDS if self.settings else PREPARE_SECONDS

    def inputs(self, space: Space) -> dict[str, Any]:
        train = [digest(space.data / file) for file in self.source.train]
        return {"train": train, "config": to_dict(self._config())}

    def outputs(self, space: Space) -> list[Path]:
        return [space.prepared(self.data)]

    def run(self, space: Space) -> None:
        from parasketch.data.prepare import prepare

        files = [space.data / file for file in self.source.train]
        prepare(files, space.prepared(self.data), self._config(), workers=1)

    def _config(self) -> DataConfig:
        from parasketch.systems.hrqvae.config import load_preset

        settings = [setting for setting in self.settings if setting.startswith("data.")]
        return replace(load_preset("small", settings).data, templates=self.source.templates)


@dataclass(frozen=True, kw_only=True)
class Train(Step):
    """Train one system."""

    source: DataSet
    data: str
    spec: Run
    seed: int
    budget: Budget

    @property
    def estimate(self) -> float:
        return SHORT_SECONDS if self.budget.minutes is None else 60.0 * self.budget.minutes

    def inputs(self, space: Space) -> dict[str, Any]:
        from parasketch.data.prepared import MANIFEST
        from parasketch.systems.kinds import task_class

        kind = task_class(self.spec.system)
        config = load_config(kind.config_type, kind.kind, self.spec.preset, self._overrides())
        corpus = digest(space.prepared(self.data) / MANIFEST)
        return {"config": to_dict(config), "corpus": corpus, "dev": digest(space.data / self.source.dev)}

    def outputs(self, space: Space) -> list[Path]:
        return [space.run(self.name) / "best"]

    def run(self, space: Space) -> None:
        from parasketch.experiment import alone_in, make_fabric, run_experiment, set_up, understand

        directory, inputs = space.run(self.name), self.inputs(space)
        begun = directory / "inputs.json"
        if begun.exists() and not _agree(json.loads(begun.read_text("utf-8")), inputs):
            shutil.rmtree(directory)  # it was begun under other circumstances
        order = understand([self.spec.system], preset=self.spec.preset, data=space.prepared(self.data))
        with alone_in(directory):
            with write_text(begun) as stream:
                json.dump(inputs, stream)
            dev = space.data / self.source.dev
            experiment = set_up(order, dev=dev, run=directory, overrides=self._overrides())
            precision = experiment.task.config.train.precision
            fabric = make_fabric(accelerator="cpu", devices="1", precision=precision)
            run_experiment(experiment, fabric=fabric, resume=True)
        shutil.rmtree(directory / "checkpoints")  # they are large, and nothing goes on from here

    def _overrides(self) -> list[str]:
        from parasketch.systems.kinds import task_class

        length = [f"train.minutes={self.budget.minutes!r}"] if self.budget.minutes else []
        length += [f"train.steps={self.budget.steps}"] if self.budget.steps else []
        settings = applicable(task_class(self.spec.system).config_type, self.budget.settings)
        return [*settings, f"train.seed={self.seed}", "train.clock=cpu", *length]


@dataclass(frozen=True, kw_only=True)
class Judging:
    """How outputs are scored."""

    semantic: str | None
    resamples: int


@dataclass(frozen=True, kw_only=True)
class Evaluate(Step):
    """Let one system generate in one way, and score it."""

    source: DataSet
    spec: Run
    way: str
    seed: int
    top: int
    part: str
    judging: Judging

    @property
    def estimate(self) -> float:
        if self.judging.resamples < 1000:  # a quick one
            return SHORT_SECONDS
        each = SECONDS_AN_ITEM_RERANKED if self.way == RERANKED else SECONDS_AN_ITEM
        return 3000 * each if self.spec.is_trained else FIT_SECONDS

    @property
    def candidates(self) -> int:
        """How many outputs an item gets."""
        return self.top if self.way in (PLAIN, RERANKED) else 1

    @property
    def label(self) -> str:
        """The name of the row in tables."""
        return self.spec.row(self.way)

    def inputs(self, space: Space) -> dict[str, Any]:
        from parasketch.model.directory import WEIGHTS

        learnt = (
            [digest(self.model(space) / WEIGHTS)]
            if self.spec.is_trained
            else [digest(space.data / file) for file in self.source.train]
        )
        return {
            "learnt": learnt,
            "test": digest(space.data / self.source.test),
            "templates": self.source.templates,
            "candidates": self.candidates,
            "semantic": self.judging.semantic,
            "resamples": self.judging.resamples,
        }

    def model(self, space: Space) -> Path:
        """The trained model."""
        return find_model(self.spec.model) if self.spec.model else space.run(self.needs[0]) / "best"

    def parent(self, space: Space) -> Path:
        """Where the directory of the results is."""
        return space.out / "results" / self.part / f"seed-{self.seed}"

    def results(self, space: Space) -> Path:
        """The directory of the results."""
        from parasketch.evaluate.results import EvalData, place

        return place(self.parent(space), self.label, EvalData.name_of(space.data / self.source.test))

    def outputs(self, space: Space) -> list[Path]:
        return [self.results(space)]

    def run(self, space: Space) -> None:
        from parasketch.evaluate.results import EvalData
        from parasketch.evaluate.run import Run as EvaluationRun
        from parasketch.evaluate.run import evaluate_run
        from parasketch.evaluate.scoring import Scorer
        from parasketch.evaluate.semantic import SentenceEncoder
        from parasketch.text.tagger import load_tagger

        scorer = Scorer(
            tagger=load_tagger("crf"),
            templates=self.source.templates,
            encoder=None if self.judging.semantic is None else SentenceEncoder(self.judging.semantic),
            resamples=self.judging.resamples,
        )
        data = EvalData.read(space.data / self.source.test)
        run = EvaluationRun(name=self.label, system=self._system(space), candidates=self.candidates)
        results, outputs = evaluate_run(
            run, data, scorer, command=f"parasketch reproduce --data DATA --only {self.name}", seed=0
        )
        shutil.rmtree(self.results(space), ignore_errors=True)  # of another model
        results.save(self.parent(space), data.items, outputs)

    def _system(self, space: Space) -> Any:
        from parasketch.data.corpora import read_clusters
        from parasketch.systems.registry import new_system
        from parasketch.systems.trained import Plain, PlainOracle, Trained

        if not self.spec.is_trained:
            system = new_system(self.spec.system)
            system.fit(cluster for file in self.source.train for cluster in read_clusters(space.data / file))
            return system
        kind: type[Trained] = PlainOracle if self.way.startswith("oracle") else Plain
        kind = Trained if self.way == RERANKED else kind
        return kind.from_pretrained(str(self.model(space)), cut=WAYS[self.way])


def applicable(kind: type[Any], settings: Iterable[str]) -> list[str]:
    """Those of `section.key=value` settings that a configuration has a place for."""
    found = []
    for setting in settings:
        section, _, key = setting.partition("=")[0].partition(".")
        part = typing.get_type_hints(kind).get(section)
        if part is not None and key in typing.get_type_hints(part):
            found.append(setting)
    return found


def slug(text: str) -> str:
    """A name as a part of a path."""
    return re.sub(r"[^\w.+]+", "-", text)


@contextmanager
def _alone(note: Path) -> Iterator[None]:
    """Wait until no other process is at a step."""
    held = note.with_suffix(".lock")
    held.parent.mkdir(parents=True, exist_ok=True)
    held.touch()
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(lock(held))
                break
            except UsageError:
                time.sleep(0.5)
        yield


def _agree(known: Any, values: Any) -> bool:
    """Whether values are those of a note; a setting that is younger than the note has its default value there."""
    if isinstance(known, dict) and isinstance(values, dict):
        return all(key in values and _agree(value, values[key]) for key, value in known.items())
    return bool(known == json.loads(json.dumps(values)))


def digest(path: Path) -> str:
    """The hash of a file; one that has not changed is read once."""
    stat = path.stat() if path.exists() else None
    if stat is None:
        raise UsageError(f"{path}: no such file (is --data right?)")
    return _knowndigest(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=1000)
def _knowndigest(path: Path, size: int, changed: int) -> str:
    del size, changed  # a file that changes is read again
    return sha256(path)


def digest_of(values: Sequence[Any]) -> str:
    """One hash of plain values."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
