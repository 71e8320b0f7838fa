"""What changes for the codes during a run, as functions of the share of it that is done."""

import math

from parasketch.systems.hrqvae.config import HrqVaeTrainConfig


def temperature(share: float, config: HrqVaeTrainConfig) -> float:
    """Gumbel temperature: start * max(2 - 2 / (1 + exp(-t / scale)), floor / start)."""
    decay = 2 - 2 / (1 + math.exp(-min(700.0, share / config.temperature_scale)))
    return config.temperature * max(decay, config.temperature_floor / config.temperature)


def is_quantised(share: float, config: HrqVaeTrainConfig) -> bool:
    """Before the codebooks are set by k-means, the decoder reads the form itself."""
    return config.kmeans_at is None or share >= config.kmeans_at
