"""The batch of a step: a pure function of the seed and the step, so that a run can be cut anywhere and split over
processes.
"""

import numpy as np
import torch

from parasketch.config import Config
from parasketch.data.prepared import Prepared
from parasketch.data.triples import Triples
from parasketch.model.inputs import TrainingBatch


class Batches:
    """`batches[step]` is what one process learns from at a step; together they take each triple once an epoch."""

    def __init__(
        self, prepared: Prepared, config: Config, *, rank: int, processes: int, device: torch.device | str = "cpu"
    ) -> None:
        self.tokenizer, self.device = prepared.tokenizer, torch.device(device)
        self.rank, self.processes = rank, processes
        self.size, self.accumulate = config.train.batch_size * processes, config.train.accumulate
        self.triples = Triples(
            prepared,
            seed=config.train.seed,
            template_dropout=config.data.template_dropout,
            max_pairs=config.data.max_pairs,
        )
        self.steps_an_epoch = max(1, len(self.triples) // self.size)
        self._epoch, self._order = -1, np.empty(0, np.int64)

    def __getitem__(self, step: int) -> list[TrainingBatch]:
        """This process's triples of a step, in `accumulate` parts of one size."""
        epoch, position = divmod(step, self.steps_an_epoch)
        chosen = self._epoch_order(epoch)[position * self.size : (position + 1) * self.size]
        mine = chosen[self.rank :: self.processes]
        return [self._part(epoch, part) for part in np.array_split(mine, self.accumulate)]

    def _part(self, epoch: int, indices: np.ndarray) -> TrainingBatch:
        triples = self.triples.batch(epoch, indices)
        batch = TrainingBatch.from_triples(triples, bos=self.tokenizer.bos_id, eos=self.tokenizer.eos_id)
        return batch.to(self.device)

    def _epoch_order(self, epoch: int) -> np.ndarray:
        """The order of an epoch, kept while the epoch lasts; a corpus smaller than a batch is repeated."""
        if epoch != self._epoch:
            order = self.triples.order(epoch)
            self._epoch, self._order = epoch, np.resize(order, max(len(order), self.size))
        return self._order
