"""From a plan to its steps: every run of every part on every data set with every seed, in the order they need."""

from collections.abc import Iterable, Sequence

from parasketch.errors import UsageError
from parasketch.reproduce.analyses import Codes, Plane, Tables
from parasketch.reproduce.plan import Budget, Part, Plan, budget
from parasketch.reproduce.steps import Evaluate, Judging, Prepare, Step, Train, slug

ANALYSES = "analyses"


def build(plan: Plan, *, minutes: float | None = None, quick: bool = False) -> dict[str, Step]:
    """All steps of a plan by name; what a step needs comes before it."""
    settings = tuple(plan.quick.settings) if quick else ()
    used = dict.fromkeys(data for part in plan.parts.values() for data in part.data)
    steps: list[Step] = [
        Prepare(name=f"data/{data}", source=plan.data[data], data=data, settings=settings) for data in used
    ]
    judging = Judging(semantic=plan.semantic, resamples=plan.resamples)
    for name, part in plan.parts.items():
        length = budget(plan, part, minutes=minutes, quick=quick)
        for seed in part.seeds:
            for data in part.data:
                steps += _runs(plan, name, part, data, seed, judging, length)
    for data, analysis in plan.analyses.items():
        for kind in (Codes, Plane, Tables):
            name = f"{ANALYSES}/{kind.what}/{data}"
            steps.append(kind(name=name, data=data, source=plan.data[data], analysis=analysis))
    return {step.name: step for step in steps}


def _runs(plan: Plan, name: str, part: Part, data: str, seed: int, judging: Judging, length: Budget) -> Iterable[Step]:
    source = plan.data[data]
    for run in part.runs:
        if run.data is not None and data not in run.data:
            continue
        trains = run.is_trained and run.model is None
        trained = f"{name}/train/{slug(run.label)}/{data}/{seed}"
        if trains:
            yield Train(
                name=trained, needs=(f"data/{data}",), source=source, data=data, spec=run, seed=seed, budget=length
            )
        elif seed != part.seeds[0]:
            continue  # nothing in it is left to chance
        for way in run.ways:
            yield Evaluate(
                name=f"{name}/evaluate/{slug(run.row(way))}/{data}/{seed}",
                needs=(trained,) if trains else (),
                source=source,
                spec=run,
                way=way,
                seed=seed,
                top=part.top,
                part=name,
                judging=judging,
            )


def choose(steps: dict[str, Step], only: Sequence[str]) -> list[Step]:
    """The steps whose names begin with one of these, part by part of the name, and all that they need."""
    wanted = set(steps) if not only else set()
    for prefix in only:
        found = {name for name in steps if f"{name}/".startswith(f"{prefix.rstrip('/')}/")}
        if not found:
            parts = ", ".join(dict.fromkeys(name.partition("/")[0] for name in steps))
            raise UsageError(f"--only {prefix}: there is no such step (parts: {parts}; --list shows all steps)")
        wanted |= found
    for name in reversed(list(steps)):
        if name in wanted:
            wanted |= set(steps[name].needs)
    return [step for name, step in steps.items() if name in wanted]
