"""The reference's schedules in steps, from the shares of the `paper` preset."""

from dataclasses import replace

import pytest

from parasketch.config import TrainConfig
from parasketch.errors import ConfigError
from parasketch.systems.hrqvae.config import HrqVaeTrainConfig, load_preset
from parasketch.systems.hrqvae.schedules import is_quantised, temperature
from parasketch.systems.settings import kl_weight
from parasketch.train.schedules import learning_rate_factor

PAPER = load_preset("paper").train


def at(step: int) -> float:
    return step / PAPER.steps


@pytest.mark.parametrize(
    ("step", "expected"), [(0, 2.0), (5_000, 1.5102), (10_000, 1.0758), (10_987, 1.0), (50_000, 1.0), (200_000, 1.0)]
)
def test_temperature(step: int, expected: float) -> None:
    assert temperature(at(step), PAPER) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("step", "main", "predictor"),
    [
        (0, 0.0, 0.0),
        (5_000, 5e-5, 1e-5),
        (10_000, 1e-4, 2e-5),
        (20_000, 7.0711e-5, 1.41421e-5),
        (50_000, 4.4721e-5, 8.9443e-6),
        (100_000, 3.1623e-5, 6.3246e-6),
    ],
)
def test_learning_rates(step: int, main: float, predictor: float) -> None:
    factor = learning_rate_factor(at(step), PAPER)
    assert factor * PAPER.learning_rate == pytest.approx(main, rel=1e-4)
    assert factor * PAPER.predictor_learning_rate == pytest.approx(predictor, rel=1e-4)


@pytest.mark.parametrize(("step", "expected"), [(0, 0.0), (9_999, 0.0), (15_000, 0.5), (20_000, 1.0), (150_000, 1.0)])
def test_kl_weight(step: int, expected: float) -> None:
    assert kl_weight(at(step), PAPER) == pytest.approx(expected)


def test_cosine_ends_at_zero() -> None:
    config = TrainConfig(warmup=0.2, decay="cosine")
    factors = [learning_rate_factor(share, config) for share in (0.1, 0.2, 0.6, 1.0, 1.3)]
    assert factors == pytest.approx([0.5, 1.0, 0.5, 0.0, 0.0])


def test_no_warmup() -> None:
    assert learning_rate_factor(0.0, replace(PAPER, warmup=0.0, decay="cosine")) == 1.0
    with pytest.raises(ConfigError, match=r"train.warmup: expected more than 0, for decay: inverse_sqrt"):
        replace(PAPER, warmup=0.0)


def test_form_begins_with_k_means() -> None:
    assert not is_quantised(0.01, HrqVaeTrainConfig(kmeans_at=0.02))
    assert is_quantised(0.02, HrqVaeTrainConfig(kmeans_at=0.02))
    assert is_quantised(0.0, PAPER)
