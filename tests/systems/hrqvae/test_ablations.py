"""The overlays of the ablations do what they say."""

from typing import Any

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from tiny import TINY_SETTINGS

from parasketch.config import PRESETS, load_config
from parasketch.data.prepared import Prepared
from parasketch.data.triples import Triples
from parasketch.systems.hrqvae.config import KIND, HrqVaeConfig
from parasketch.systems.hrqvae.task import HrqVaeTask
from parasketch.train.loop import train

OVERLAYS = sorted(path.stem for path in (PRESETS / KIND / "ablations").glob("*.yaml"))


def make_task(overlay: str, prepared: Prepared, *more: str) -> HrqVaeTask:
    """The overlay in a tiny shape, but for what it changes itself."""
    tiny = [setting for setting in f"{TINY_SETTINGS['all']} {TINY_SETTINGS[KIND]}".split() if "codes" not in setting]
    config = load_config(HrqVaeConfig, KIND, f"ablations/{overlay}", [*tiny, *more])
    return HrqVaeTask(config, prepared)


def run(task: HrqVaeTask, out: Any) -> None:
    train(task, out, fabric=Fabric(accelerator="cpu", devices=1))


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_overlay_trains(overlay: str, language_corpus: Prepared, tmp_path: Any) -> None:
    task = make_task(overlay, language_corpus, "train.steps=4", "train.evaluations=1")
    run(task, tmp_path)
    assert all(value.isfinite().all() for value in task.network.parameters())


def test_post_hoc_only_the_predictor_learns_after_k_means(language_corpus: Prepared, tmp_path: Any) -> None:
    task = make_task("posthoc", language_corpus, "train.steps=10", "train.kmeans_at=0.5", "train.evaluations=1")
    frozen: dict[str, torch.Tensor] = {}
    after_step = task.after_step

    def watch(step: int, fabric: Fabric) -> None:
        after_step(step, fabric)
        if step == 6:  # the first step with codes
            frozen.update({name: value.clone() for name, value in task.network.named_parameters()})

    task.after_step = watch  # type: ignore[method-assign]
    run(task, tmp_path)
    changed = {name for name, value in task.network.named_parameters() if not torch.equal(value, frozen[name])}
    assert changed
    assert all(name.startswith("predictor.") for name in changed)


def test_without_codes_the_form_changes_nothing(language_corpus: Prepared, tmp_path: Any) -> None:
    task = make_task("no-codes", language_corpus, "train.steps=3", "train.evaluations=1")
    run(task, tmp_path)
    quantizer = task.network.quantizer.train()
    assert quantizer(torch.randn(8, quantizer.width)).vector.abs().max() == 0


def test_targets_are_their_own_exemplars(language_corpus: Prepared) -> None:
    config = load_config(HrqVaeConfig, KIND, "ablations/target-codes")
    assert config.data.exemplar == "target"
    triples = Triples(language_corpus, seed=1, template_dropout=0.5, max_pairs=9, own_exemplars=True)
    batch = triples.batch(0, np.arange(8))
    assert batch.exemplar.tokens.tolist() == batch.target.tokens.tolist()
    assert batch.source.tokens.tolist() != batch.target.tokens.tolist()
