import numpy as np
import pytest
import torch

from parasketch.generate import judging
from parasketch.generate.judging import cycle_log_likelihood
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.text.tokenizer import Tokenizer

from .slow_search import log_likelihoods

INPUTS = ["how heavy is a moose?", "a horse", "where do whales live?", "a horse"]
CANDIDATES = ["what is the weight of a moose?", "a camel sleeps at night", "where", "the horse"]


def test_it_is_the_likelihood_of_the_input_given_the_candidate(
    model: HRQVAE, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs, candidates = (
        [[tokenizer.bos_id, *tokenizer.encode(text), tokenizer.eos_id] for text in texts]
        for texts in (INPUTS, CANDIDATES)
    )
    with torch.inference_mode():
        forms = model.quantizer.decode(torch.tensor([[0, 1, 2], [3, 3, 3], [1, 0, 1], [2, 2, 2]]))
        found = cycle_log_likelihood(model, candidates, inputs, forms)
        expected = [
            float(log_likelihoods(model, candidate, form, [tokens])[0]) / (len(tokens) - 1)
            for candidate, form, tokens in zip(candidates, forms, inputs, strict=True)
        ]
        np.testing.assert_allclose(found, expected, atol=1e-4)
        monkeypatch.setattr(judging, "_BLOCK_ELEMENTS", 1)  # one candidate at a time
        np.testing.assert_allclose(cycle_log_likelihood(model, candidates, inputs, forms), expected, atol=1e-4)
