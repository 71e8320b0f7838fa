import math
from typing import Literal

import numpy as np
import pytest
import torch

from parasketch.model.predictor import SketchPredictor
from parasketch.model.ragged import Layout
from parasketch.systems.hrqvae.config import load_preset


def make(conditioning: Literal["previous", "cumulative"] = "cumulative") -> SketchPredictor:
    torch.manual_seed(0)
    return SketchPredictor(
        input_width=6,
        width=8,
        heads=2,
        hidden=16,
        form_width=5,
        levels=3,
        codes=4,
        dropout=0.0,
        conditioning=conditioning,
    )


def test_cross_entropy_at_the_start_of_the_paper_preset() -> None:
    shape = load_preset("paper").model
    torch.manual_seed(0)
    predictor = SketchPredictor(
        input_width=shape.meaning_width,
        width=shape.predictor_width,
        heads=shape.predictor_heads,
        hidden=shape.predictor_hidden,
        form_width=shape.form_width,
        levels=shape.levels,
        codes=shape.codes,
        dropout=shape.predictor_dropout,
        conditioning=shape.predictor_conditioning,
    ).eval()
    codebooks = torch.randn(3, 16, 576) * 8.37 / math.sqrt(576)
    with torch.no_grad():
        pooled = predictor.pool(torch.randn(60, 192), Layout(np.full(20, 3)))
        codes = torch.randint(16, (20, 3))
        scores = predictor(pooled, codes, codebooks)
    for level in range(3):
        loss = torch.nn.functional.cross_entropy(scores[:, level], codes[:, level])
        assert loss.item() == pytest.approx(math.log(16), abs=0.1)


@pytest.mark.parametrize("conditioning", ["previous", "cumulative"])
def test_what_a_level_sees_of_the_path(conditioning: Literal["previous", "cumulative"]) -> None:
    predictor, codebooks = make(conditioning), torch.randn(3, 4, 5)
    pooled, prefix = torch.randn(2, 8), torch.tensor([[1, 3], [0, 2]])
    path = codebooks[1][prefix[:, 1]]
    if conditioning == "cumulative":
        path = path + codebooks[0][prefix[:, 0]]
    torch.testing.assert_close(
        predictor.logits(pooled, prefix, codebooks), predictor.mlps[2](torch.cat([pooled, path], dim=1))
    )
    first = predictor.logits(pooled, prefix[:, :0], codebooks)
    torch.testing.assert_close(first, predictor.mlps[0](torch.cat([pooled, torch.zeros(2, 5)], dim=1)))


def test_teacher_forcing_equals_level_by_level() -> None:
    predictor, codebooks = make(), torch.randn(3, 4, 5)
    pooled, codes = torch.randn(6, 8), torch.randint(4, (6, 3))
    scores = predictor(pooled, codes, codebooks)
    for level in range(3):
        torch.testing.assert_close(scores[:, level], predictor.logits(pooled, codes[:, :level], codebooks))


def test_nothing_flows_back_to_its_inputs() -> None:
    predictor = make()
    states, codebooks = torch.randn(4, 6, requires_grad=True), torch.randn(3, 4, 5, requires_grad=True)
    pooled = predictor.pool(states, Layout(np.array([1, 3])))
    predictor(pooled, torch.zeros(2, 3, dtype=torch.int64), codebooks).sum().backward()
    assert states.grad is None
    assert codebooks.grad is None
    assert all(parameter.grad is not None for parameter in predictor.parameters())
