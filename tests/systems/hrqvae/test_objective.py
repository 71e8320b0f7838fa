import math

import numpy as np
import pytest
import torch
from tiny import make_batch, make_model

from parasketch.model.likelihood import mean_by_sentence
from parasketch.model.outputs import TrainingOutput
from parasketch.model.ragged import Layout
from parasketch.systems.hrqvae.config import HrqVaeTrainConfig
from parasketch.systems.hrqvae.objective import objective


def test_a_long_sentence_counts_as_much_as_a_short_one() -> None:
    values = torch.tensor([4.0, 1.0, 2.0, 3.0])
    assert mean_by_sentence(values, Layout(np.array([1, 3]))).item() == pytest.approx((4 + 2) / 2)


def test_the_terms_by_hand() -> None:
    batch, model = make_batch(2), make_model()
    tokens = batch.decoder_input.layout.num_tokens
    output = TrainingOutput(
        log_likelihood=torch.full((tokens,), -2.0),
        divergence=torch.tensor([1.0, 3.0]),
        sketch_logits=torch.zeros(2, 3, 4),
        codes=torch.tensor([[0, 1, 2], [3, 0, 1]]),
        form=torch.zeros(2, 8),
        form_scores=torch.zeros(2, 3, 4),
    )
    config = HrqVaeTrainConfig(kl_weight=0.5, kl_start=0.0, kl_end=0.5, imbalance_weight=0.0)
    result = objective(output, batch, model, config, 0.25)
    assert {name: term.item() for name, term in result.terms.items()} == pytest.approx(
        {"nll": 2, "kl": 2, "sketch_1": math.log(4), "sketch_2": math.log(4), "sketch_3": math.log(4)}
    )
    assert result.value.item() == pytest.approx(2 + 0.25 * 2 + math.log(4))

    helped = HrqVaeTrainConfig(kl_weight=0.0, imbalance_weight=2.0)
    output.form_scores[:, 0, 3] = -1e9  # three codes of the first level are chosen, all of the others
    result = objective(output, batch, model, helped, 1.0)
    imbalance = math.log(4 / 3) / 3
    assert result.terms["imbalance"].item() == pytest.approx(imbalance)
    assert result.value.item() == pytest.approx(2 + math.log(4) + 2 * imbalance)
