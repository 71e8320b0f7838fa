"""A line is fitted to ten points in batches of four, as a program of its own: run_uneven.py OUT PROCESSES.

The last two points of each epoch make no batch. The weights at the end are in OUT/final-RANK.safetensors.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor, nn

from parasketch.console import set_quiet
from parasketch.experiment import make_fabric
from parasketch.systems.hrqvae.config import HrqVaeConfig, HrqVaeTrainConfig
from parasketch.train.loop import train
from parasketch.train.task import Loss, Sources, Task

POINTS, BATCH, STEPS = 10, 4, 7


@dataclass(frozen=True)
class Points:
    x: Tensor
    y: Tensor

    def to(self, device: torch.device) -> "Points":
        return Points(self.x.to(device), self.y.to(device))


class AllPoints:
    def __len__(self) -> int:
        return POINTS

    def order(self, epoch: int) -> NDArray[np.int64]:
        return np.random.default_rng(epoch).permutation(POINTS)

    def batch(self, epoch: int, indices: NDArray[np.int64]) -> Points:
        del epoch
        x = torch.tensor(indices, dtype=torch.float32).unsqueeze(1)
        return Points(x, x**2)  # no line fits: every point pulls differently


class Line(Task[Points]):
    kind, config_type = "line", HrqVaeConfig

    def __init__(self, processes: int) -> None:
        settings = HrqVaeTrainConfig(steps=STEPS, batch_size=BATCH // processes, learning_rate=0.1, evaluations=1)
        self.config = HrqVaeConfig(train=settings)

    @classmethod
    def set_up(cls, config: Any, sources: Sources) -> Self:
        raise NotImplementedError

    def build(self) -> nn.Module:
        self.network = nn.Linear(1, 1)
        return self.network

    def examples(self) -> AllPoints:
        return AllPoints()

    def loss(self, forward: Callable[..., Any], batch: Points, share: float) -> Loss:
        del share
        return Loss((forward(batch.x) - batch.y).square().mean(), {})

    def save(self, directory: Path, dev: Mapping[str, float]) -> None: ...


if __name__ == "__main__":
    run, processes = Path(sys.argv[1]), int(sys.argv[2])
    set_quiet(True)
    fabric = make_fabric(accelerator="cpu", devices=str(processes), precision="32-true")
    task = Line(processes)
    train(task, run, fabric=fabric)
    save_file(task.network.state_dict(), run / f"final-{fabric.global_rank}.safetensors")
