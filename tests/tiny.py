"""Configurations and batches small enough for tests."""

from dataclasses import replace

import numpy as np
import torch

from parasketch.config import Config, ModelConfig, TrainConfig
from parasketch.data.prepared import Prepared, Ragged
from parasketch.data.triples import TripleBatch
from parasketch.model.hrqvae import HRQVAE
from parasketch.model.inputs import TrainingBatch

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


def config_for(prepared: Prepared, *, train: TrainConfig | None = None, model: ModelConfig = MODEL) -> Config:
    """A tiny configuration that fits a corpus."""
    short = train or TrainConfig(steps=12, batch_size=8, evaluations=3, checkpoint_minutes=0)
    size = {"vocab_size": prepared.tokenizer.vocab_size, "max_length": prepared.max_tokens + 2}
    return Config(model=replace(model, **size), train=short)


def _ragged(rng: np.random.Generator, lengths: np.ndarray) -> Ragged:
    tokens = rng.integers(4, 14, int(lengths.sum()))
    return Ragged(tokens.astype(np.int32), lengths.astype(np.int32))
