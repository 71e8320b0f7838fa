"""Plans are checked, and become steps that can be chosen."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from parasketch.config import load_config
from parasketch.errors import ConfigError, UsageError
from parasketch.reproduce.build import build, choose
from parasketch.reproduce.plan import PLAN, Budget, Plan, budget, load_plan, quickened
from parasketch.reproduce.steps import Evaluate, Train, applicable
from parasketch.systems.kinds import KINDS, task_class


@pytest.fixture(scope="module")
def plan() -> Plan:
    return load_plan()


def test_every_run_of_the_real_plan_has_a_configuration(plan: Plan) -> None:
    for part in plan.parts.values():
        for run in part.runs:
            if run.is_trained:
                kind = task_class(run.system)
                load_config(kind.config_type, kind.kind, run.preset, applicable(kind.config_type, plan.quick.settings))


def test_the_ablations_of_the_paper_are_in_it(plan: Plan) -> None:
    presets = {run.preset.rpartition("/")[2] for run in plan.parts["ablations"].runs}
    folder = PLAN.parents[1] / "configs" / "hrqvae" / "ablations"
    assert presets == {"small", *(path.stem for path in folder.glob("*.yaml"))}


@pytest.mark.parametrize("kind", KINDS)
def test_any_kind_can_be_named(plan: Plan, kind: str) -> None:
    values = yaml.safe_load(PLAN.read_text())
    part = plan.parts["comparison"]
    changed = replace(part, runs=[replace(part.runs[-1], system=kind, name="hrqvae", ways=["plain"])])
    steps = build(replace(plan, parts={"comparison": changed}))
    assert isinstance(steps["comparison/train/hrqvae/questions/1"], Train)
    assert values["parts"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"system": "hrqvea"}, "hrqvea: expected one of copy, tfidf"),
        ({"system": "hrqvae", "ways": ["oracel"]}, "ways among plain, no codes"),
        ({"system": "hrqvae", "against": "moon"}, "against: expected one of"),
        ({"system": "copy", "ways": ["oracle"]}, "no ways"),
        ({"system": "hrqvae", "sede": 1}, "unknown key .*sede"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    values = yaml.safe_load(PLAN.read_text())
    values["parts"]["comparison"]["runs"].append({"name": "new", **change})
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(values))
    with pytest.raises(ConfigError, match=message):
        load_plan(tmp_path / "plan.yaml")


def test_budgets_scale_together(plan: Plan) -> None:
    comparison, ablations = plan.parts["comparison"], plan.parts["ablations"]
    assert budget(plan, comparison, minutes=None, quick=False) == Budget(minutes=45)
    assert budget(plan, comparison, minutes=9, quick=False).minutes == pytest.approx(9)
    assert budget(plan, ablations, minutes=9, quick=False).minutes == pytest.approx(6)
    quick = budget(plan, ablations, minutes=None, quick=True)
    assert (quick.minutes, quick.steps) == (None, plan.quick.steps)


def test_a_step_brings_what_it_needs(plan: Plan) -> None:
    steps = build(plan)
    chosen = [step.name for step in choose(steps, ["comparison/evaluate/hrqvae-oracle/captions"])]
    trained = "comparison/train/hrqvae/captions/1"
    assert chosen == ["data/captions", trained, "comparison/evaluate/hrqvae-oracle/captions/1"]
    assert [step.name for step in choose(steps, [trained])] == ["data/captions", trained]
    assert len(choose(steps, [])) == len(steps)
    with pytest.raises(UsageError, match="no such step"):
        choose(steps, ["comparison/train/hrq"])


def test_what_is_fitted_or_there_already_is_not_trained(plan: Plan) -> None:
    steps = build(plan)
    assert not any(name.startswith(("shipped/train", "comparison/train/copy")) for name in steps)
    ablated = [step for step in steps.values() if isinstance(step, Evaluate) and step.part == "ablations"]
    assert {step.seed for step in ablated} == {1, 2, 3}
    assert {step.seed for step in build(quickened(plan)).values() if isinstance(step, Train)} == {1}
