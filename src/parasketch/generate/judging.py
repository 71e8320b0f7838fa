"""Judgements that need a model, and so are made of the best candidates only: whether the meaning is still there.

Cycle consistency: how well the model gets the input back from a candidate's meaning and the input's own sketch. A
candidate that lost part of the meaning cannot give it back, so no other model is needed to notice. The work is done
in blocks of like length, which bound the memory that the softmax over the vocabulary takes. A sentence encoder, where
one is in use, gives a second opinion.
"""

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from parasketch.model.inputs import Sentences
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.text.sentence_encoder import SentenceModel

_BLOCK_ELEMENTS = 1 << 23  # 32 MB of fp32 log-probabilities at a time


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """No gradients and no dropout; a model in training goes on training afterwards."""
    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(training)


def cycle_log_likelihood(
    model: HRQVAE, candidates: Sequence[Sequence[int]], inputs: Sequence[Sequence[int]], own_form: Tensor
) -> np.ndarray:
    """Mean log p of the tokens of inputs[i] given the meaning of candidates[i] and own_form[i], (m,).

    Both are token lists with begin and end; own_form is (m, form_width), the form of the input's own sketch.
    """
    lengths = np.array([len(tokens) for tokens in inputs])
    order = np.argsort(lengths, kind="stable")
    size = max(1, _BLOCK_ELEMENTS // (model.config.vocab_size * int(lengths.max(initial=1))))
    result = np.zeros(len(candidates))
    device = own_form.device
    for start in range(0, len(order), size):
        block = order[start : start + size]
        encoding = model.encode(Sentences.from_lists([candidates[i] for i in block]).to(device))
        targets = Sentences.from_lists([inputs[i] for i in block]).to(device)
        sources = torch.arange(len(block), device=device)
        scores = model.log_likelihood(encoding, sources, own_form[torch.from_numpy(block).to(device)], targets)
        result[block] = scores.cpu().numpy() / (lengths[block] - 1)
    return result


def cosines(
    encoder: SentenceModel, sources: Sequence[str], candidates: Sequence[str], places: Sequence[int]
) -> list[float]:
    """The cosine of each candidate to its source, sources[places[i]]."""
    vectors = encoder.encode(sources)
    found: list[float] = (encoder.encode(candidates) * vectors[list(places)]).sum(axis=1).tolist()
    return found
