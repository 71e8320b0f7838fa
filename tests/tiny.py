"""Configurations and batches small enough for tests."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from parasketch.config import load_config
from parasketch.data.prepared import Prepared, Ragged
from parasketch.data.triples import TripleBatch
from parasketch.systems.corpus import CorpusTask
from parasketch.systems.hrqvae.config import HrqVaeConfig, HrqVaeTrainConfig, ModelConfig
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.systems.hrqvae.task import HrqVaeTask
from parasketch.systems.kinds import task_class
from parasketch.systems.triples import TrainingBatch
from parasketch.train.task import DevResult, Examples, Loss, Sources, Task

BOS, EOS, MASK, VOCABULARY = 1, 2, 3, 40

MODEL = ModelConfig(
    vocab_size=VOCABULARY,
    max_length=24,
    width=16,
    heads=2,
    ff=32,
    encoder_layers=2,
    decoder_layers=2,
    meaning_width=16,
    form_width=8,
    form_heads=2,
    codes=4,
    predictor_width=16,
    predictor_heads=2,
    predictor_hidden=16,
    copy_width=8,
)
POST_NORM = replace(
    MODEL,
    pre_norm=False,
    causal_encoder=True,
    bias=True,
    split_encoding=True,
    meaning_width=8,
    predictor_conditioning="previous",
    copy_head=False,
)
"""The kind of the `paper` preset."""


def make_model(config: ModelConfig = MODEL, seed: int = 0) -> HRQVAE:
    """A model in evaluation mode, with codes and copying that matter already."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = HRQVAE(config, mask_id=MASK)
    return model.eval()


def make_triples(size: int = 6, seed: int = 0, longest: int = 9) -> TripleBatch:
    """Random sentences; sources and targets share tokens, so that there is something to copy."""
    rng = np.random.default_rng(seed)
    parts = [_ragged(rng, rng.integers(1, longest, size)) for _ in range(3)]
    places = np.arange(size)
    return TripleBatch(*parts, source_sentence=places, target_sentence=places, real_exemplar=np.ones(size, bool))


def make_batch(size: int = 6, seed: int = 0, longest: int = 9) -> TrainingBatch:
    return TrainingBatch.from_triples(make_triples(size, seed, longest), bos=BOS, eos=EOS)


def config_for(
    prepared: Prepared, *, train: HrqVaeTrainConfig | None = None, model: ModelConfig = MODEL
) -> HrqVaeConfig:
    """A tiny configuration that fits a corpus."""
    short = train or HrqVaeTrainConfig(steps=12, batch_size=8, evaluations=3, checkpoint_minutes=0)
    size = {"vocab_size": prepared.tokenizer.vocab_size, "max_length": prepared.max_tokens + 2}
    return HrqVaeConfig(model=replace(model, **size), train=short)


TINY_SETTINGS = {
    "all": """model.width=16 model.heads=2 model.ff=32 model.encoder_layers=1 model.decoder_layers=1 data.vocab_size=300
              train.batch_size=8 train.steps=30 train.evaluations=3 train.warmup=0.1 train.keep_checkpoints=3""",
    "recurrent": """model.width=16 data.vocab_size=300 train.batch_size=8 train.steps=30 train.evaluations=3
                    train.warmup=0.1 train.keep_checkpoints=3""",
    "ae": "model.pool_heads=2",
    "vae": "model.pool_heads=2",
    "vqvae": "model.pool_heads=2 model.code_heads=4 model.codes=8",
    "separator": """model.pool_heads=2 model.meaning_width=8 model.codes=8 model.predictor_hidden=16
                    train.predictor_at=0.5""",
    "sowreap": "model.sow_layers=1",
    "hrqvae": """model.meaning_width=16 model.form_width=8 model.codes=4 model.predictor_width=16
                 model.predictor_hidden=16 model.copy_width=8""",
    "lbow": "model.slots=4",
    "btmpg": """model.lstm_width=16 model.latent=4 model.back_heads=2 model.back_ff=32 model.back_layers=1
                model.copy_width=8 model.rounds=3 train.second_round_at=0.5""",
}
"""Overrides of `small` for every kind on the Transformer, for recurrent ones, and those of each."""
RECURRENT = ("lbow", "btmpg")


def tiny_overrides(kind: str, *more: str) -> list[str]:
    shared = TINY_SETTINGS["recurrent" if kind in RECURRENT else "all"]
    return [*shared.split(), *TINY_SETTINGS[kind].split(), *more]


def tiny_task(kind: str, prepared: Prepared, *more: str) -> CorpusTask[Any]:
    """A task of any kind on a corpus, of a tiny shape."""
    task: Any = task_class(kind)
    return task(load_config(task.config_type, kind, "small", tiny_overrides(kind, *more)), prepared)  # type: ignore[no-any-return]


class BareTask(Task[TrainingBatch]):
    """A network and nothing to learn from, for what needs no more."""

    kind = "bare"
    config_type = HrqVaeConfig

    def __init__(
        self,
        network: HRQVAE,
        train: HrqVaeTrainConfig | None = None,
        *,
        evaluate: Callable[[HRQVAE], DevResult] | None = None,
    ) -> None:
        self.config, self.network, self.evaluation = HrqVaeConfig(train=train or HrqVaeTrainConfig()), network, evaluate
        self.saved: list[dict[str, float]] = []

    @classmethod
    def set_up(cls, config: Any, sources: Sources) -> Self:
        raise NotImplementedError

    def build(self) -> HRQVAE:
        return self.network

    def examples(self) -> Examples[TrainingBatch]:
        raise NotImplementedError

    def loss(self, forward: Callable[..., Any], batch: TrainingBatch, share: float) -> Loss:
        raise NotImplementedError

    def evaluate(self) -> DevResult | None:
        return None if self.evaluation is None else self.evaluation(self.network)

    def save(self, directory: Path, dev: Mapping[str, float]) -> None:
        del directory
        self.saved.append(dict(dev))


class TinyTask(HrqVaeTask):
    """HRQ-VAE of a tiny shape, with an evaluation of the test's own, and no models on the disk."""

    def __init__(
        self,
        prepared: Prepared,
        train: HrqVaeTrainConfig | None = None,
        *,
        model: ModelConfig = MODEL,
        evaluate: Callable[[HRQVAE], DevResult] | None = None,
    ) -> None:
        super().__init__(config_for(prepared, train=train, model=model), prepared)
        self.evaluation = evaluate
        self.saved: list[dict[str, float]] = []

    def evaluate(self) -> DevResult | None:
        return None if self.evaluation is None else self.evaluation(self.network)

    def save(self, directory: Path, dev: Mapping[str, float]) -> None:
        del directory
        self.saved.append(dict(dev))


def _ragged(rng: np.random.Generator, lengths: np.ndarray) -> Ragged:
    tokens = rng.integers(4, 14, int(lengths.sum()))
    return Ragged(tokens.astype(np.int32), lengths.astype(np.int32))
