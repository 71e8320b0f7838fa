"""What `parasketch reproduce` does, from its options to the report."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parasketch.errors import UsageError
from parasketch.files import write_text
from parasketch.reproduce.build import ANALYSES, build, choose
from parasketch.reproduce.page import page
from parasketch.reproduce.plan import Plan, load_plan, quickened
from parasketch.reproduce.report import Found, write_report
from parasketch.reproduce.runner import Outcome, cores, run_steps
from parasketch.reproduce.sources import check, shorten, with_samples
from parasketch.reproduce.steps import Space, Step
from parasketch.reproduce.summary import summarise

NUMBERS, PUBLISHED = "numbers", "results"
"""Where the JSON is: of a reproduction, and of the documents."""
REPORT, PAGE = "report.md", "index.html"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The options of the command."""

    out: Path
    data: Path | None = None
    only: Sequence[str] = ()
    minutes: float | None = None
    quick: bool = False
    plan: Path | None = None


def reproduce(wanted: Wanted, *, jobs: int | None = None) -> Outcome:
    """Run what is not done yet, and write the report on all that is."""
    plan, space, steps = _set_up(wanted)
    outcome = run_steps(choose(steps, wanted.only), space, jobs=jobs or cores())
    numbers = wanted.out / NUMBERS
    for name in plan.parts:
        if any(space.note(step).exists() for step in steps if step.startswith(f"{name}/evaluate/")):
            summarise(plan, name, list(steps.values()), space, numbers / f"{name}.json")
    text = write_report(Found.read(numbers), wanted.out, REPORT)
    with write_text(wanted.out / PAGE) as stream:
        stream.write(page(text, wanted.out, title="parasketch: a reproduction"))
    return outcome


def list_steps(wanted: Wanted) -> list[tuple[str, bool]]:
    """The names of the steps, and whether each has ended."""
    _, space, steps = _set_up(wanted)
    return [(step.name, space.note(step.name).exists()) for step in choose(steps, wanted.only)]


def publish(out: Path, docs: Path) -> None:
    """Add the numbers of a reproduction, if there is one, to those of the documents, and write these anew."""
    source, target = out / NUMBERS, docs / PUBLISHED
    for path in (*source.glob("*.json"), *(source / ANALYSES).glob("*.json")):
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    if not target.is_dir():
        raise UsageError(f"there are no numbers, neither in {source} nor in {target}")
    write_report(Found.read(target), docs, "results.md")


def _set_up(wanted: Wanted) -> tuple[Plan, Space, dict[str, Step]]:
    plan, data = load_plan(wanted.plan), wanted.data
    if data is None and not wanted.quick:
        raise UsageError("--data is missing: the directory of the data (with --quick it can be left out)")
    if wanted.quick:
        plan = quickened(plan)
    if data is None:
        data = wanted.out / "samples"
        plan = with_samples(plan, data)
    check(plan, data)
    if wanted.quick:
        raw, data = data, wanted.out / "short"
        shorten(plan, raw, data)
    return plan, Space(data=data, out=wanted.out), build(plan, minutes=wanted.minutes, quick=wanted.quick)
