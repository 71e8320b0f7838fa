"""The learning rate as a function of the share of the run that is done (0 at the start, 1 at the end).

The paper counts in steps (10,000 of warm-up, ...); shares of the run say the same and stretch with its length.
"""

import math

from parasketch.config import TrainConfig


def learning_rate_factor(share: float, config: TrainConfig) -> float:
    """Linear rise to 1 during the warm-up, then a cosine to 0, or Noam's inverse square root."""
    if share < config.warmup:
        return share / config.warmup
    if config.decay == "inverse_sqrt":
        return math.sqrt(config.warmup / share)
    rest = (share - config.warmup) / max(1e-12, 1 - config.warmup)
    return 0.5 * (1 + math.cos(math.pi * min(1.0, rest)))
