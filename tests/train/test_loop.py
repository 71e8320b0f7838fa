"""Whole runs in one process: reproducible, resumable, and stopped for good reasons."""

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning_fabric import Fabric
from tiny import MODEL, TinyTask

from parasketch.data.prepared import Prepared
from parasketch.errors import ModelError
from parasketch.systems.hrqvae import task as hrqvae_task
from parasketch.systems.hrqvae.config import HrqVaeTrainConfig
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.train import loop
from parasketch.train.checkpoint import checkpoints
from parasketch.train.loop import train
from parasketch.train.task import DevResult

SHORT = HrqVaeTrainConfig(
    steps=12, batch_size=8, evaluations=4, warmup=0.2, kmeans_at=0.3, checkpoint_minutes=0, keep_checkpoints=99
)


def run(
    corpus: Prepared,
    out: Path,
    settings: HrqVaeTrainConfig = SHORT,
    *,
    evaluate: Callable[[HRQVAE], DevResult] | None = None,
    resume: bool = False,
) -> HRQVAE:
    task = TinyTask(corpus, settings, evaluate=evaluate)
    train(task, out, fabric=Fabric(accelerator="cpu", devices=1), resume=resume)
    return task.network


def weights(model: HRQVAE) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def records(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module", autouse=True)
def often() -> Any:
    """Revive and log often enough for a run of twelve steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hrqvae_task, "REVIVE_EVERY", 5)
        patch.setattr(loop, "LOG_EVERY", 2)
        yield


@pytest.fixture(scope="module")
def straight(
    language_corpus: Prepared, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, torch.Tensor], Path]:
    out = tmp_path_factory.mktemp("straight")
    return weights(run(language_corpus, out)), out


def test_two_runs_are_equal(straight: Any, language_corpus: Prepared, tmp_path: Path) -> None:
    again = weights(run(language_corpus, tmp_path))
    assert all(torch.equal(value, again[name]) for name, value in straight[0].items())


@pytest.mark.parametrize("cut", [1, 4, 11])
def test_a_resumed_run_equals_one_that_was_not_cut(
    straight: Any, language_corpus: Prepared, tmp_path: Path, cut: int
) -> None:
    """Before k-means, after it, and at the last step; with evaluations, which must leave no trace."""

    class Cut(Exception):
        pass

    def kill(batches: Any, step: int) -> Any:
        if step == cut:
            raise Cut
        return get(batches, step)

    get = loop.Batches.__getitem__

    def evaluate(_: HRQVAE) -> DevResult:
        return DevResult(score=torch.rand(1).item(), metrics={})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop.Batches, "__getitem__", kill)
        with pytest.raises(Cut):
            run(language_corpus, tmp_path, evaluate=evaluate)
    assert [path.name for path in checkpoints(tmp_path / "checkpoints")][-1] == f"step-{cut:09d}"
    resumed = weights(run(language_corpus, tmp_path, resume=True))
    assert [name for name, value in straight[0].items() if not torch.equal(value, resumed[name])] == []
    assert [part["step"] for part in records(tmp_path) if "train" in part] == [
        part["step"] for part in records(straight[1])
    ]


def test_what_is_logged(straight: Any) -> None:
    found = records(straight[1])
    assert [record["step"] for record in found] == [2, 3, 4, 6, 8, 9, 10, 12]
    terms = {
        "imbalance",
        "nll",
        "kl",
        "sketch_1",
        "sketch_2",
        "sketch_3",
        "perplexity_1",
        "perplexity_2",
        "perplexity_3",
    }
    more = {"gradient_norm", "temperature", "kl_weight", "learning_rate_factor", "examples_per_second"}
    assert all(set(record["train"]) == terms | more for record in found)


def test_a_finished_run_is_left_alone(language_corpus: Prepared, straight: Any) -> None:
    before = (straight[1] / "metrics.jsonl").read_text()
    again = weights(run(language_corpus, straight[1], resume=True))
    assert all(torch.equal(value, again[name]) for name, value in straight[0].items())
    assert (straight[1] / "metrics.jsonl").read_text() == before


def test_forms_are_continuous_until_k_means(
    language_corpus: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quantised = []
    forward = HRQVAE.forward

    def watch(self: HRQVAE, *rest: Any, quantise: bool = True) -> Any:
        quantised.append(quantise)
        return forward(self, *rest, quantise=quantise)

    monkeypatch.setattr(HRQVAE, "forward", watch)
    run(language_corpus, tmp_path, replace(SHORT, steps=10))
    assert quantised == [False] * 3 + [True] * 7


def test_patience_stops_a_run_and_keeps_it_stopped(language_corpus: Prepared, tmp_path: Path) -> None:
    scores = iter([1.0, 3.0, 2.0, 1.0, 9.0])
    settings = replace(SHORT, steps=40, evaluations=10, patience=2, checkpoint_minutes=9)

    def evaluate(_: HRQVAE) -> DevResult:
        score = next(scores)
        return DevResult(score=score, metrics={"ibleu": score})

    task, fabric = TinyTask(language_corpus, settings, evaluate=evaluate), Fabric(accelerator="cpu", devices=1)
    train(task, tmp_path, fabric=fabric)
    assert task.saved == [{"ibleu": 1.0}, {"ibleu": 3.0}]
    assert checkpoints(tmp_path / "checkpoints")[-1].name == "step-000000016"
    train(task, tmp_path, fabric=fabric, resume=True)
    assert task.saved == [{"ibleu": 1.0}, {"ibleu": 3.0}]


def test_parts_of_a_batch_add_up_to_its_gradient(language_corpus: Prepared, tmp_path: Path) -> None:
    """Without noise, two steps with and without accumulation end at the same weights."""
    settings = replace(SHORT, steps=2, kmeans_at=None, revive_below=0.0, imbalance_weight=0.0)
    quiet = replace(MODEL, token_dropout=0.0, depth_dropout=0.0, predictor_dropout=0.0)
    ends = []
    for accumulate in (1, 4):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch, "randn_like", torch.zeros_like)
            patch.setattr(
                "parasketch.model.quantizer.HierarchicalQuantizer._sample", lambda _, scores, *__: scores.softmax(-1)
            )
            task = TinyTask(language_corpus, replace(settings, accumulate=accumulate), model=quiet)
            train(task, tmp_path / str(accumulate), fabric=Fabric(accelerator="cpu", devices=1))
            ends.append(weights(task.network))
    for name, value in ends[0].items():
        # The bias of pooling scores has no effect: its gradient is rounding noise, which Adam makes large.
        if name != "quantizer.usage" and not name.endswith("scores.bias"):
            torch.testing.assert_close(value, ends[1][name], rtol=0, atol=2e-5)


def test_a_run_by_the_clock_ends(language_corpus: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()  # every look at the clock is a minute later
    monkeypatch.setattr("parasketch.train.clock.time.monotonic", lambda: 60 * next(ticks))
    run(language_corpus, tmp_path, replace(SHORT, minutes=40, steps=1))
    last = records(tmp_path)[-1]
    assert last["seconds"] >= 1800
    assert 1 < last["step"] <= 40
    assert last["train"]["learning_rate_factor"] < 0.5, "the schedule followed the clock"


def test_minutes_of_a_core_are_the_work_of_the_process(
    language_corpus: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waiting costs nothing, and a run that was cut goes on with what it has used."""
    walls, work = itertools.count(), itertools.count()
    monkeypatch.setattr("parasketch.train.clock.time.monotonic", lambda: 3600 * next(walls))
    monkeypatch.setattr("parasketch.train.clock.time.process_time", lambda: 60.0 * next(work))
    for minutes in (10, 20):  # the longer one goes on with the shorter
        run(language_corpus, tmp_path, replace(SHORT, minutes=minutes, clock="cpu", steps=1), resume=True)
    ends = [record for record in records(tmp_path) if record["seconds"] >= 600]
    assert ends[0]["seconds"] < 900, "an hour on the wall is a minute of work"
    assert 1200 <= ends[-1]["seconds"] < 1500
    assert ends[-1]["step"] > ends[0]["step"]


def test_a_diverged_run_says_so(language_corpus: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parasketch.config.MOST_RATE", 10**40)  # what is beyond reason is refused otherwise
    with pytest.raises(ModelError, match=r"training diverged at step \d+: .* lower train.learning_rate"):
        run(language_corpus, tmp_path, replace(SHORT, learning_rate=1e30, kmeans_at=None))


def test_another_number_of_processes_is_refused(language_corpus: Prepared, straight: Any) -> None:
    fabric = Fabric(accelerator="cpu", devices=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Fabric, "world_size", 2)
        with pytest.raises(ModelError, match="written by 1 processes"):
            train(TinyTask(language_corpus, SHORT), straight[1], fabric=fabric, resume=True)
