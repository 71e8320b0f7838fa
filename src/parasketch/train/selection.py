"""Which model of a run is the best, by a look at dev now and then, and when more training is not worth it."""

import math
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric

from parasketch.train.checkpoint import Progress
from parasketch.train.clock import now
from parasketch.train.task import DevResult, Task

LONGEST_SHARE = 0.1
"""In a run by the clock, evaluations take at most about this share of the time."""


class Selection:
    """Evaluates on the first process and keeps the best model in the directory `best`."""

    def __init__(self, task: Task[Any], best: Path, *, fabric: Fabric) -> None:
        self.task, self.best, self.fabric = task, best, fabric
        self.config = task.config.train

    def is_due(self, progress: Progress, share: float) -> bool:
        """Whether it is time for the next of the evaluations, spread evenly over the run; the end is always one."""
        if share >= 1:
            return True
        if self.config.minutes is not None and progress.evaluation_seconds > LONGEST_SHARE * progress.seconds:
            return False
        return share * self.config.evaluations >= progress.evaluations + 1

    def look(self, progress: Progress, share: float) -> DevResult | None:
        """Evaluate, save the model if it is the best so far, and take note; the result is the first process's."""
        start = now(self.config.clock)
        progress.evaluations = max(progress.evaluations + 1, int(share * self.config.evaluations))
        result = None
        if self.fabric.is_global_zero:
            self.task.network.eval()
            with torch.random.fork_rng(devices=[]), torch.inference_mode():
                result = self.task.evaluate()
            if result is not None and _is_better(result.score, progress.best):
                self.task.save(self.best, result.metrics)
        outcome = (None if result is None else result.score, now(self.config.clock) - start)
        score, seconds = self.fabric.broadcast(outcome)  # all processes go by the first one's
        if score is None:
            return None
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
