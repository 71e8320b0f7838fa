"""How long a run has worked: by the clock on the wall, or by the CPU time of its process.

Equal budgets are only equal by CPU time where other work shares the machine: a minute is then a minute of one core,
however long one has to wait for it. Threads count one by one.
"""

import time
from typing import TYPE_CHECKING, Literal, cast

import torch
from torch import Tensor

from parasketch.train.checkpoint import Progress

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Kind = Literal["wall", "cpu"]


def now(kind: Kind) -> float:
    """Seconds since some moment; only differences mean anything."""
    return time.process_time() if kind == "cpu" else time.monotonic()


class Clock:
    """Adds the time since the last tick to the run's account; processes agree on it, to stop and save together."""

    def __init__(self, kind: Kind, progress: Progress, fabric: "Fabric") -> None:
        self.kind, self.progress, self.fabric, self.last = kind, progress, fabric, now(kind)

    def tick(self) -> None:
        """Look at the clock."""
        moment = now(self.kind)
        passed = torch.tensor(moment - self.last, dtype=torch.float64)
        self.last = moment
        self.progress.seconds += float(cast(Tensor, self.fabric.all_reduce(passed, reduce_op="mean")))
