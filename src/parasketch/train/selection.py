"""Which model of a run is the best, by a look at dev now and then, and when more training is not worth it."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from lightning_fabric import Fabric

from parasketch.config import TrainConfig
from parasketch.model.hrqvae import HRQVAE
from parasketch.train.checkpoint import Progress

LONGEST_SHARE = 0.1
"""In a run by the clock, evaluations take at most about this share of the time."""


@dataclass(frozen=True)
class DevResult:
    """What an evaluation found; `score` (higher is better) selects the best model."""

    score: float
    metrics: dict[str, float]
    samples: list[tuple[str, str]] = field(default_factory=list)
    """Some inputs and their paraphrases, to look at."""


Evaluate = Callable[[HRQVAE], DevResult]
SaveBest = Callable[[HRQVAE, DevResult], None]


class Selection:
    """Evaluates on the first process and keeps the best model."""

    def __init__(
        self, config: TrainConfig, evaluate: Evaluate | None, save_best: SaveBest | None, *, fabric: Fabric
    ) -> None:
        self.config, self.evaluate, self.save_best, self.fabric = config, evaluate, save_best, fabric

    def is_due(self, progress: Progress, share: float) -> bool:
        """Whether it is time for the next of the evaluations, spread evenly over the run; the end is always one."""
        if share >= 1:
            return True
        if self.config.minutes is not None and progress.evaluation_seconds > LONGEST_SHARE * progress.seconds:
            return False
        return share * self.config.evaluations >= progress.evaluations + 1

    def look(self, model: HRQVAE, progress: Progress, share: float) -> DevResult | None:
        """Evaluate, save the model if it is the best so far, and take note; the result is the first process's."""
        start = time.monotonic()
        progress.evaluations = max(progress.evaluations + 1, int(share * self.config.evaluations))
        if self.evaluate is None:
            return None
        result = None
        if self.fabric.is_global_zero:
            with torch.random.fork_rng(devices=[]), torch.inference_mode():
                result = self.evaluate(model.eval())
            if self.save_best is not None and _is_better(result.score, progress.best):
                self.save_best(model, result)
        outcome = (0.0 if result is None else result.score, time.monotonic() - start)
        score, seconds = self.fabric.broadcast(outcome)  # all processes go by the first one's
        progress.evaluation_seconds += seconds
        progress.since_best += 1
        if _is_better(score, progress.best):
            progress.best, progress.since_best = score, 0
        return result

    def is_over(self, progress: Progress) -> bool:
        """Whether patience is at an end."""
        return 0 < self.config.patience <= progress.since_best


def _is_better(score: float, best: float | None) -> bool:
    return best is None or math.isnan(best) or score > best
