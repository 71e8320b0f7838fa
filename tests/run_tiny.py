"""A tiny run as a program of its own, for tests that kill it or run it in several processes.

run_tiny.py PREPARED RUN PROCESSES [KIND ...]: trains for a few steps, or goes on where it was; the weights at the end
are in RUN/final-RANK.safetensors. With kinds, it trains one after the other, each in RUN/KIND.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from grammar import use_grammar_parser
from lightning_fabric import Fabric
from safetensors.torch import save_file
from tiny import TinyTask, tiny_task

from parasketch.console import set_quiet
from parasketch.data.prepared import Prepared
from parasketch.systems.corpus import CorpusTask
from parasketch.systems.hrqvae import task as hrqvae_task
from parasketch.systems.hrqvae.config import HrqVaeTrainConfig
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.train import loop
from parasketch.train.task import DevResult

SETTINGS = HrqVaeTrainConfig(
    steps=16, batch_size=8, accumulate=2, evaluations=6, warmup=0.2, kmeans_at=0.25, checkpoint_minutes=0
)


def evaluate(_: HRQVAE) -> DevResult:
    """Draws random numbers, as an evaluation may."""
    return DevResult(score=torch.rand(1).item(), metrics={})


def run_tiny(corpus: str, out: str, processes: int = 1, kinds: Sequence[str] = ()) -> None:
    prepared, run = Prepared(Path(corpus)), Path(out)
    set_quiet(True)
    torch.set_num_threads(1)
    hrqvae_task.REVIVE_EVERY = 5
    use_grammar_parser()
    fabric = Fabric(accelerator="cpu", devices=processes)
    fabric.launch()
    tasks: dict[Path, CorpusTask[Any]] = {run / kind: tiny_task(kind, prepared, "train.accumulate=2") for kind in kinds}
    for directory, task in (tasks or {run: TinyTask(prepared, SETTINGS, evaluate=evaluate)}).items():
        loop.train(task, directory, fabric=fabric, resume=True)
        save_file(task.network.state_dict(), directory / f"final-{fabric.global_rank}.safetensors")


if __name__ == "__main__":
    run_tiny(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:])
