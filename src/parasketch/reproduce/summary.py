"""What a part of the plan found, as one JSON: every number of its tables, with what made it.

Tables, figures and documents are written from these files alone, so that committed ones are enough to write them again.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from parasketch.analyse.tables import ExampleTable, example_table
from parasketch.errors import DataError
from parasketch.evaluate.bootstrap import PairedTest, paired_bootstrap_of_means
from parasketch.evaluate.compare import Verdict
from parasketch.evaluate.results import Record, Results
from parasketch.evaluate.statistics import Interval
from parasketch.files import write_text
from parasketch.reproduce.plan import PLAIN, Part, Plan, Run
from parasketch.reproduce.steps import Evaluate, Space, Step, Train, digest_of

FORMAT = "parasketch-part-1"


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a model came to be."""

    steps: int
    minutes: float
    """By the clock of the run."""
    curve: list[list[float]]
    """(minutes, iBLEU) of every look at dev."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One result: a run, used in one way, on one data set, with one seed."""

    run: str
    way: str
    seed: int
    paper: str | None
    """The data set of the paper that belongs to it."""
    training: Training | None
    record: Record


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A part, as far as it is done."""

    part: str
    title: str
    against: str
    minutes: float | None
    """Of one core for each run; None for a number of steps."""
    rows: list[Row]
    tests: list[Verdict]
    """Of the means over all seeds."""
    examples: list[ExampleTable] = field(default_factory=list)
    same_way: bool = False
    """Whether runs are tested against others in the same way, as ablations are."""
    about: str = ""
    """How the models came to be, where that is another story than the plan's."""
    missing: list[str] = field(default_factory=list)
    """Steps that are not done yet."""
    inputs: str = ""
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
            rows = [_row(row) for row in values.pop("rows")]
            tests = [_verdict(test) for test in values.pop("tests")]
            examples = [ExampleTable(**table) for table in values.pop("examples")]
            return cls(rows=rows, tests=tests, examples=examples, **values)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"is no summary of a part: {error!r}", path=path, expected="what `parasketch reproduce` wrote"
            ) from error

    def verdict(self, data: str, against: str, system: str) -> PairedTest | None:
        """The test of one row against another on a data set, if there was one."""
        wanted = (data, against, system)
        return next((one.result for one in self.tests if (one.data, one.against, one.system) == wanted), None)


def summarise(plan: Plan, name: str, steps: Sequence[Step], space: Space, path: Path) -> Summary:
    """Gather the results of a part and test them; what is in `path` already and has not changed is left alone."""
    part = plan.parts[name]
    mine = [step for step in steps if step.name.startswith(f"{name}/")]
    missing = [step.name for step in mine if not space.note(step.name).exists()]
    done = [step for step in mine if isinstance(step, Evaluate) and step.name not in missing]
    notes = [json.loads(space.note(step.name).read_text("utf-8"))["inputs"] for step in done]
    inputs = digest_of([notes, missing, plan.resamples, asdict(part)])
    if path.exists() and (known := Summary.load(path)).inputs == inputs:
        return known
    loaded = [(step, Results.load(step.results(space))) for step in done]
    first = [step.results(space) for step, _ in loaded if step.seed == part.seeds[0]]
    summary = Summary(
        part=name,
        title=part.title,
        against=part.against,
        minutes=next((step.budget.minutes for step in mine if isinstance(step, Train)), None),
        rows=[
            Row(
                run=step.spec.label,
                way=step.way,
                seed=step.seed,
                paper=step.source.paper,
                training=_training(space.run(step.needs[0])) if step.needs else None,
                record=Record.from_dict(result.to_dict()),
            )
            for step, result in loaded
        ],
        tests=_tests(part, loaded, plan.resamples),
        examples=example_table(first),
        same_way=part.same_way,
        missing=missing,
        inputs=inputs,
    )
    summary.save(path)
    return summary


def _tests(part: Part, loaded: Sequence[tuple[Evaluate, Results]], resamples: int) -> list[Verdict]:
    """Every row against that of the run it belongs to, by the means of the seeds that both have."""
    groups: dict[tuple[str, str], dict[int, Results]] = {}
    for step, result in loaded:
        groups.setdefault((result.data, step.label), {})[step.seed] = result
    runs = {run.label: run for run in part.runs}
    found = []
    for step, result in loaded:
        theirs = groups[result.data, step.label]
        if step.seed != min(theirs):
            continue  # once for all seeds
        against = _opponent(part, runs, step)
        ours = groups.get((result.data, against), {})
        seeds = sorted(ours) if not step.spec.is_trained else sorted(set(ours) & set(theirs))
        if against == step.label or not seeds:
            continue
        test = paired_bootstrap_of_means(
            [ours[seed].counts for seed in seeds],
            [theirs.get(seed, result).counts for seed in seeds],
            alpha=result.alpha,
            resamples=resamples,
        )
        found.append(Verdict(data=result.data, against=against, system=step.label, result=test))
    return found


def _opponent(part: Part, runs: dict[str, Run], step: Evaluate) -> str:
    """The row that a step's results are tested against."""
    if part.same_way and step.spec.label == part.against:
        return step.spec.row(PLAIN)  # its other ways against its plain one
    other = runs[step.spec.against or part.against]
    way = step.way if part.same_way and step.way in other.ways else PLAIN
    return other.row(way)


def _training(run: Path) -> Training:
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    curve = [[round(one["seconds"] / 60, 2), one["dev"]["ibleu"]] for one in records if "ibleu" in one.get("dev", {})]
    return Training(steps=records[-1]["step"], minutes=round(records[-1]["seconds"] / 60, 2), curve=curve)


def _row(values: dict[str, Any]) -> Row:
    training = None if values["training"] is None else Training(**values["training"])
    return Row(**{**values, "training": training, "record": Record.from_dict(values["record"])})


def _verdict(values: dict[str, Any]) -> Verdict:
    result = values["result"]
    return Verdict(**{**values, "result": PairedTest(**{**result, "interval": Interval(**result["interval"])})})
