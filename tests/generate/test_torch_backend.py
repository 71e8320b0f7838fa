import numpy as np
import pytest
import torch

from parasketch.generate import torch_backend
from parasketch.generate.torch_backend import TorchBackend
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
        backend = TorchBackend(model)
        found = backend.log_likelihood(candidates, inputs, forms.numpy())
        expected = [
            float(log_likelihoods(model, candidate, form, [tokens])[0])
            for candidate, form, tokens in zip(candidates, forms, inputs, strict=True)
        ]
        np.testing.assert_allclose(found, expected, atol=1e-4)
        monkeypatch.setattr(torch_backend, "_BLOCK_ELEMENTS", 1)  # one candidate at a time
        np.testing.assert_allclose(backend.log_likelihood(candidates, inputs, forms.numpy()), expected, atol=1e-4)
