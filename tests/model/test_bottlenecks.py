import math

import numpy as np
import pytest
import torch

from parasketch.model.bottlenecks import GaussianMeaning, PooledForm
from parasketch.model.ragged import Layout


def test_meaning_is_the_mean_in_evaluation_and_a_sample_in_training() -> None:
    torch.manual_seed(0)
    module, states = GaussianMeaning(input_width=3, width=2), torch.randn(1, 3)
    with torch.no_grad():
        mean, deviation = module.mean(states), (0.5 * module.log_variance(states)).exp()
        assert torch.equal(module.eval()(states).sample, mean)
        samples = module.train()(states.expand(20000, 3)).sample
    torch.testing.assert_close(samples.mean(dim=0, keepdim=True), mean, rtol=0, atol=0.03)
    torch.testing.assert_close(samples.std(dim=0, keepdim=True), deviation, rtol=0, atol=0.03)


def test_divergence_is_the_kl_to_the_standard_normal() -> None:
    module = GaussianMeaning(input_width=2, width=2)
    with torch.no_grad():
        module.mean.weight.copy_(torch.eye(2))
        module.log_variance.weight.copy_(torch.tensor([[0.0, math.log(4)], [0.0, 0.0]]))
        divergence = module.eval()(torch.tensor([[3.0, 1.0], [0.0, 0.0]])).divergence
    # Dimension 1: mean 3, variance 4; dimension 2: mean 1, variance 1.
    first, second = 0.5 * (9 + 4 - 1 - math.log(4)), 0.5 * (1 + 1 - 1 - 0)
    assert divergence.tolist() == pytest.approx([(first + second) / 2, 0])


def test_calibration_centres_forms_and_gives_them_a_length() -> None:
    torch.manual_seed(0)
    form, layout = PooledForm(input_width=3, width=8, heads=2, dropout=0.0).eval(), Layout(np.full(400, 2))
    states = torch.randn(800, 3) * torch.tensor([1.0, 5.0, 0.1]) + 3
    with torch.no_grad():
        raw = form(states, layout)
        assert torch.equal(raw, form.pooling(states, layout)), "until then it changes nothing"
        change = form.calibrate(raw, length=6.0)
        found = form(states, layout)
    torch.testing.assert_close(change.centre, raw.mean(dim=0), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(found, change.factor * (raw - change.centre), rtol=1e-4, atol=1e-4)
    assert found.square().sum(dim=1).mean().sqrt().item() == pytest.approx(6, rel=0.01)


def test_calibration_can_be_repeated() -> None:
    torch.manual_seed(0)
    form, layout, states = PooledForm(input_width=3, width=4, heads=2, dropout=0.0).eval(), Layout(np.full(50, 2)), None
    with torch.no_grad():
        for scale in (1.0, 7.0):
            states = torch.randn(100, 3) * scale + scale
            form.calibrate(form(states, layout), length=2.0)
        found = form(states, layout)
    torch.testing.assert_close(found.mean(dim=0), torch.zeros(4), rtol=0, atol=1e-3)
    assert found.square().sum(dim=1).mean().sqrt().item() == pytest.approx(2, rel=1e-3)
