"""Adam over a task's groups of parameters, each with its own peak rate and its own part of the run."""

from collections.abc import Sequence

import torch

from parasketch.config import TrainConfig
from parasketch.train.schedules import learning_rate_factor
from parasketch.train.task import ParameterGroup


def make_optimizer(groups: Sequence[ParameterGroup], config: TrainConfig) -> torch.optim.Optimizer:
    """Adam; the rates are set before every step."""
    parts = [
        {
            "params": group.parameters,
            "betas": group.betas,
            "peak": group.learning_rate,
            "first": group.first,
            "last": group.last,
        }
        for group in groups
    ]
    return torch.optim.AdamW(parts, lr=0.0, eps=config.epsilon, weight_decay=0.0, fused=True)


def set_learning_rates(optimizer: torch.optim.Optimizer, share: float, config: TrainConfig) -> None:
    """The rates at this share of the run: 0 for groups that have not begun, or have ended."""
    for group in optimizer.param_groups:
        first, last = group["first"], group["last"]
        within = (share - first) / (last - first)
        learns = first <= share < last or (last == 1 and within >= 1)  # a run by the clock may be a little over time
        group["lr"] = group["peak"] * learning_rate_factor(within, config) if learns else 0.0
