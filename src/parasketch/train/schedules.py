"""What changes during a run, as functions of its progress (0 at the start, 1 at the end).

The paper counts in steps (10,000 of warm-up, ...); shares of the run say the same and stretch with its length.
"""

import math

from parasketch.config import TrainConfig


def learning_rate_factor(progress: float, config: TrainConfig) -> float:
    """Linear rise to 1 during the warm-up, then a cosine to 0, or Noam's inverse square root."""
    if progress < config.warmup:
        return progress / config.warmup
    if config.decay == "inverse_sqrt":
        return math.sqrt(config.warmup / progress)
    rest = (progress - config.warmup) / max(1e-12, 1 - config.warmup)
    return 0.5 * (1 + math.cos(math.pi * min(1.0, rest)))


def temperature(progress: float, config: TrainConfig) -> float:
    """Gumbel temperature: start * max(2 - 2 / (1 + exp(-t / scale)), floor / start)."""
    decay = 2 - 2 / (1 + math.exp(-min(700.0, progress / config.temperature_scale)))
    return config.temperature * max(decay, config.temperature_floor / config.temperature)


def kl_weight(progress: float, config: TrainConfig) -> float:
    """0 until `kl_start`, then a straight line to the full weight at `kl_end`."""
    if progress < config.kl_start:
        return 0.0
    if progress >= config.kl_end:
        return config.kl_weight
    return config.kl_weight * (progress - config.kl_start) / (config.kl_end - config.kl_start)


def is_quantised(progress: float, config: TrainConfig) -> bool:
    """Before the codebooks are set by k-means, the decoder reads the form itself."""
    return config.kmeans_at is None or progress >= config.kmeans_at
