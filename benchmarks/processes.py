"""How many examples a second one and two processes train, side by side, and what of a step is waiting for the other.

    python benchmarks/processes.py --data PREPARED --preset small --steps 30

Each process has one thread and the preset's batch, as on two machines of one core each. They take turns (one process,
two, one, two), each in a launch of its own; `alone` is a step of two processes that do not exchange gradients, so the
difference to `two` is what the exchange costs, and that of `alone` to `one` what sharing the machine costs.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from parasketch.config import load_config
from parasketch.data.prepared import Prepared
from parasketch.experiment import make_fabric
from parasketch.systems.kinds import task_class
from parasketch.systems.settings import CorpusConfig
from parasketch.train.batches import Batches
from parasketch.train.machine import fast_machine
from parasketch.train.optimizer import make_optimizer, set_learning_rates


def run(arguments: argparse.Namespace) -> None:
    """Train some steps as one of the processes; the first writes the seconds of each step."""
    torch.set_num_threads(1)
    fabric = make_fabric(accelerator="cpu", devices=str(arguments.processes), precision="32-true")
    kind = task_class("hrqvae")
    config: CorpusConfig = load_config(kind.config_type, "hrqvae", arguments.preset, ["train.kmeans_at=none"])
    task = kind(config, Prepared(arguments.data))  # type: ignore[call-arg]
    torch.manual_seed(0)
    model = task.build()
    optimizer = make_optimizer(task.parameter_groups(), config.train)
    network, stepper = fabric.setup(model, optimizer)
    set_learning_rates(optimizer, 0.1, config.train)
    batches = Batches(task.examples(), config.train, rank=fabric.global_rank, processes=fabric.world_size)
    seconds = []
    with fast_machine():
        network.train()
        for step in range(arguments.steps + 2):
            start = time.perf_counter()
            for part in batches[step]:
                with fabric.no_backward_sync(network, enabled=arguments.no_exchange):
                    fabric.backward(task.loss(network, part, 0.5).value)
            fabric.clip_gradients(network, stepper, max_norm=config.train.clip, error_if_nonfinite=False)
            stepper.step()
            stepper.zero_grad(set_to_none=True)
            seconds.append(time.perf_counter() - start)
    if fabric.is_global_zero:
        result = {"examples": batches.size, "seconds": statistics.median(seconds[2:])}
        arguments.out.write_text(json.dumps(result))


def measure(arguments: argparse.Namespace, processes: int, *, exchange: bool = True) -> float:
    """Examples a second of all processes together."""
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "result.json"
        command = [sys.executable, __file__, "--data", str(arguments.data), "--preset", arguments.preset]
        command += ["--steps", str(arguments.steps), "--processes", str(processes), "--out", str(out)]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        subprocess.run(command + ([] if exchange else ["--no-exchange"]), env=environment, check=True)
        found = json.loads(out.read_text())
    return float(found["examples"] / found["seconds"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a prepared corpus")
    parser.add_argument("--preset", default="small")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processes", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--no-exchange", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.processes is not None:
        run(arguments)
        return
    rounds = [
        (measure(arguments, 1), measure(arguments, 2), measure(arguments, 2, exchange=False))
        for _ in range(arguments.rounds)
    ]
    one, two, alone = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"one process: {one:,.1f} examples/s; two: {two:,.1f}, {two / one:.2f} times as many")
    print(f"two that exchange nothing: {alone:,.1f}; the exchange takes {1 - two / alone:.1%} of a step")


if __name__ == "__main__":
    main()
