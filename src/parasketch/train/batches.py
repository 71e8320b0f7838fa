"""The batch of a step: a pure function of the seed and the step, so that a run can be cut anywhere and split over
processes.
"""

from typing import Generic, TypeVar

import numpy as np
import torch

from parasketch.config import TrainConfig
from parasketch.train.task import Batch, Examples

B = TypeVar("B", bound=Batch)


class Batches(Generic[B]):
    """`batches[step]` is what one process learns from at a step; together they take each example once an epoch."""

    def __init__(
        self,
        examples: Examples[B],
        config: TrainConfig,
        *,
        rank: int,
        processes: int,
        device: torch.device | str = "cpu",
    ) -> None:
        self.examples, self.device = examples, torch.device(device)
        self.rank, self.processes = rank, processes
        self.size, self.accumulate = config.batch_size * processes, config.accumulate
        self.steps_an_epoch = max(1, len(examples) // self.size)
        self._epoch, self._order = -1, np.empty(0, np.int64)

    def __getitem__(self, step: int) -> list[B]:
        """This process's examples of a step, in `accumulate` parts of one size."""
        epoch, position = divmod(step, self.steps_an_epoch)
        chosen = self._epoch_order(epoch)[position * self.size : (position + 1) * self.size]
        mine = chosen[self.rank :: self.processes]
        return [self.examples.batch(epoch, part).to(self.device) for part in np.array_split(mine, self.accumulate)]

    def _epoch_order(self, epoch: int) -> np.ndarray:
        """The order of an epoch, kept while the epoch lasts; fewer examples than a batch are repeated."""
        if epoch != self._epoch:
            order = self.examples.order(epoch)
            self._epoch, self._order = epoch, np.resize(order, max(len(order), self.size))
        return self._order
