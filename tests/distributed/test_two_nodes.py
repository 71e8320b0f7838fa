"""Two machines, as two launches with addresses of their own: torchrun starts them, one is killed, and they go on."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from parasketch.data.prepared import Prepared
from parasketch.train.checkpoint import checkpoints

TESTS = Path(__file__).parents[1]
ADDRESSES = ("127.0.0.1", "127.0.0.2")
ENVIRONMENT = os.environ | {
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")])),
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((ADDRESSES[0], 0))
        return int(probe.getsockname()[1])


def launch(program: list[str], seconds: float = 0) -> list[subprocess.Popen[bytes]]:
    """The same program on two machines, each by a torchrun of its own."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1"]
    torchrun += [f"--master-addr={ADDRESSES[0]}", f"--master-port={free_port()}"]
    return [
        subprocess.Popen(
            [*torchrun, f"--node-rank={rank}", f"--local-addr={address}", *program],
            env=ENVIRONMENT | {"TINY_SECONDS": str(seconds)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for rank, address in enumerate(ADDRESSES)
    ]


def kill(node: subprocess.Popen[bytes]) -> None:
    """A machine without power: the launcher and all that it started, which have sessions of their own."""
    for pid in [*started_by(node.pid), node.pid] if node.poll() is None else []:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    node.wait()


def started_by(pid: int) -> list[int]:
    children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [each for child in children for each in (child, *started_by(child))]


def weights(run: Path, rank: int) -> dict[str, torch.Tensor]:
    return load_file(run / f"final-{rank}.safetensors")


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(value, other[name]) for name, value in one.items())


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the processes of a node are found by /proc")
def test_one_of_two_machines_is_killed_and_the_run_goes_on(language_corpus: Prepared, tmp_path: Path) -> None:
    straight, cut = tmp_path / "straight", tmp_path / "cut"
    command = [str(TESTS / "run_tiny.py"), str(language_corpus.path)]
    subprocess.run([sys.executable, *command, str(straight), "2"], env=ENVIRONMENT, check=True, capture_output=True)
    nodes = launch([*command, str(cut), "2"], seconds=0.5)
    try:
        while not checkpoints(cut / "checkpoints") and all(node.poll() is None for node in nodes):
            time.sleep(0.02)
        kill(nodes[1])
        assert nodes[0].wait(timeout=300) != 0, "the other one stops as well, and says so"
    finally:
        for node in nodes:
            kill(node)
    last = json.loads((checkpoints(cut / "checkpoints")[-1] / "progress.json").read_text())["step"]
    assert 0 < last < 16
    assert not (cut / "final-0.safetensors").exists()
    assert [node.wait(timeout=300) for node in launch([*command, str(cut), "2"])] == [0, 0]
    for rank in range(2):
        assert equal(weights(straight, rank), weights(cut, rank))


def test_gradients_are_averaged_where_an_epoch_is_no_whole_number_of_batches(tmp_path: Path) -> None:
    for count in (1, 2):
        command = [sys.executable, str(TESTS / "run_uneven.py"), str(tmp_path / str(count)), str(count)]
        subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True)
    alone = weights(tmp_path / "1", 0)
    for rank in range(2):
        together = weights(tmp_path / "2", rank)
        for name, value in alone.items():
            torch.testing.assert_close(together[name], value, rtol=1e-5, atol=1e-6)
