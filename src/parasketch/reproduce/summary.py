"""What a part of the plan found, as one JSON: every number of its tables, with what made it.

Tables, figures and documents are written from these files alone, so that committed ones are enough to write them again.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from parasketch.errors import DataError
from parasketch.evaluate.bootstrap import PairedTest
from parasketch.evaluate.compare import Verdict, paired_tests
from parasketch.evaluate.results import Record, Results
from parasketch.evaluate.statistics import Interval
from parasketch.files import write_text
from parasketch.reproduce.plan import Part, Plan
from parasketch.reproduce.steps import Evaluate, Space, Step, Train, digest_of

FORMAT = "parasketch-part-1"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One result: a run, used in one way, on one data set, with one seed."""

    run: str
    way: str
    paper: str | None
    """The data set of the paper that belongs to it."""
    seed: int
    training: dict[str, float] | None
    """`steps` and `minutes` of the training run."""
    record: Record


@dataclass(frozen=True, kw_only=True)
class SeededVerdict:
    """A paired test of the results with one seed."""

    seed: int
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A part, as far as it is done."""

    part: str
    title: str
    against: str
    minutes: float | None
    """Of one core for each run; None for a number of steps."""
    rows: list[Row]
    tests: list[SeededVerdict]
    missing: list[str]
    """Steps that are not done yet."""
    inputs: str
    """A hash of all results: nothing is tested again while they stay the same."""

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        values = {"format": FORMAT, **asdict(self)}
        values["rows"] = [{**asdict(row), "record": row.record.to_dict()} for row in self.rows]
        with write_text(path) as stream:
            json.dump(values, stream, indent=1, ensure_ascii=False)
            stream.write("\n")

    @classmethod
    def load(cls, path: Path) -> "Summary":
        """Read what `save` wrote."""
        try:
            values: dict[str, Any] = json.loads(path.read_text("utf-8"))
            if values.pop("format", None) != FORMAT:
                raise KeyError("format")
            rows = [Row(**{**row, "record": Record.from_dict(row["record"])}) for row in values.pop("rows")]
            tests = [
                SeededVerdict(seed=test["seed"], verdict=_verdict(test["verdict"])) for test in values.pop("tests")
            ]
            return cls(rows=rows, tests=tests, **values)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"is no summary of a part: {error!r}", path=path, expected="what `parasketch reproduce` wrote"
            ) from error


def summarise(plan: Plan, name: str, steps: Sequence[Step], space: Space, path: Path) -> Summary:
    """Gather the results of a part and test them; what is in `path` already and has not changed is left alone."""
    part = plan.parts[name]
    mine = [step for step in steps if step.name.startswith(f"{name}/")]
    done = [step for step in mine if isinstance(step, Evaluate) and space.note(step.name).exists()]
    runs = {step.name: step for step in mine if isinstance(step, Train)}
    loaded = [(step, Results.load(step.results(space))) for step in done if step.results(space).exists()]
    missing = [step.name for step in mine if not space.note(step.name).exists()]
    notes = [space.note(step.name).read_text("utf-8") for step, _ in loaded]
    inputs = digest_of([notes, missing, plan.resamples, part.against])
    if path.exists() and (known := Summary.load(path)).inputs == inputs:
        return known
    rows = [
        Row(
            run=step.spec.label,
            way=step.way,
            paper=step.source.paper,
            seed=step.seed,
            training=_training(space.run(step.needs[0])) if step.needs else None,
            record=Record.from_dict(result.to_dict()),
        )
        for step, result in loaded
    ]
    summary = Summary(
        part=name,
        title=part.title,
        against=part.against,
        minutes=next((run.budget.minutes for run in runs.values()), None),
        rows=rows,
        tests=_tests(part, loaded, plan.resamples),
        missing=missing,
        inputs=inputs,
    )
    summary.save(path)
    return summary


def _tests(part: Part, loaded: Sequence[tuple[Evaluate, Results]], resamples: int) -> list[SeededVerdict]:
    """The plain outputs of one run against all others; those without a seed take part with every seed."""
    found = []
    for seed in part.seeds:
        group = [result for step, result in loaded if step.seed == seed or not step.spec.is_trained]
        if any(result.system == part.against for result in group):
            verdicts = paired_tests(group, part.against, resamples=resamples)
            found += [SeededVerdict(seed=seed, verdict=verdict) for verdict in verdicts]
    return found


def _training(run: Path) -> dict[str, float]:
    last = json.loads((run / "metrics.jsonl").read_text("utf-8").splitlines()[-1])
    return {"steps": last["step"], "minutes": round(last["seconds"] / 60, 2)}


def _verdict(values: dict[str, Any]) -> Verdict:
    result = values["result"]
    return Verdict(**{**values, "result": PairedTest(**{**result, "interval": Interval(**result["interval"])})})
