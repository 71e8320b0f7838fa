from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric
from tiny import BareTask, make_model

from parasketch.systems.hrqvae.config import HrqVaeTrainConfig
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.train.checkpoint import Progress
from parasketch.train.selection import Selection
from parasketch.train.task import DevResult

FABRIC = Fabric(accelerator="cpu", devices=1)
BEST = Path("best")


def select(config: HrqVaeTrainConfig, evaluate: Callable[[HRQVAE], DevResult] | None = None) -> Selection:
    return Selection(BareTask(make_model(), config, evaluate=evaluate), BEST, fabric=FABRIC)


def due(config: HrqVaeTrainConfig, progress: Progress, shares: list[float]) -> list[float]:
    selection = select(config)
    found = []
    for share in shares:
        if selection.is_due(progress, share):
            found.append(share)
            selection.look(progress, share)
    return found


def test_evaluations_are_spread_over_the_run_and_the_end_is_one() -> None:
    shares = [step / 10 for step in range(1, 11)]
    assert due(HrqVaeTrainConfig(evaluations=5), Progress(), shares) == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert due(HrqVaeTrainConfig(evaluations=3), Progress(), shares) == [0.4, 0.7, 1.0]
    assert due(HrqVaeTrainConfig(evaluations=100), Progress(), shares) == shares


def test_what_was_missed_is_not_made_up_for() -> None:
    assert due(HrqVaeTrainConfig(evaluations=10), Progress(), [0.55, 0.56, 0.57, 0.61]) == [0.55, 0.61]


def test_slow_evaluations_do_not_eat_up_a_run_by_the_clock() -> None:
    config = HrqVaeTrainConfig(evaluations=10, minutes=1.0)
    selection = select(config)
    assert selection.is_due(Progress(seconds=30, evaluations=2, evaluation_seconds=2.9), 0.5)
    assert not selection.is_due(Progress(seconds=30, evaluations=2, evaluation_seconds=3.1), 0.5)
    assert selection.is_due(Progress(seconds=61, evaluations=2, evaluation_seconds=30), 1.02), "the end always"


def run(scores: list[float], *, patience: int = 0) -> tuple[list[float], Progress, list[bool]]:
    """The scores whose models were saved, where the run stands, and whether patience was at an end each time."""
    results = iter(scores)

    def evaluate(model: HRQVAE) -> DevResult:
        assert not model.training
        torch.rand(3)  # must not disturb the run
        score = next(results)
        return DevResult(score=score, metrics={"score": score})

    task = BareTask(make_model().train(), HrqVaeTrainConfig(patience=patience), evaluate=evaluate)
    selection = Selection(task, BEST, fabric=FABRIC)
    progress, ends, state = Progress(), [], torch.get_rng_state()
    for number in range(len(scores)):
        selection.look(progress, number / 20)
        ends.append(selection.is_over(progress))
    assert torch.equal(torch.get_rng_state(), state)
    return [metrics["score"] for metrics in task.saved], progress, ends


def test_only_better_models_are_kept() -> None:
    saved, progress, ends = run([1.0, 3.0, 2.0, 3.0, 4.0])
    assert saved == [1.0, 3.0, 4.0]
    assert (progress.best, progress.since_best, progress.evaluations) == (4.0, 0, 5)
    assert not any(ends)


def test_patience() -> None:
    saved, progress, ends = run([5.0, 4.0, 3.0, 6.0, 1.0, 1.0, 1.0], patience=3)
    assert saved == [5.0, 6.0]
    assert ends == [False] * 6 + [True]
    assert progress.since_best == 3


def test_a_score_that_is_no_number_is_beaten_by_any() -> None:
    assert run([float("nan"), -7.0, float("nan")])[0][1:] == [-7.0]


def test_nothing_to_evaluate() -> None:
    progress = Progress()
    assert select(HrqVaeTrainConfig(patience=1)).look(progress, 0.5) is None
    assert progress.since_best == 0


@pytest.mark.parametrize("score", [0.0, -3.5])
def test_the_result_comes_back(score: float) -> None:
    result = DevResult(score=score, metrics={"nll": -score})
    selection = select(HrqVaeTrainConfig(), lambda _: result)
    assert selection.look(Progress(), 0.5) is result
