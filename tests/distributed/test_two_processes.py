"""Two processes on one machine (gloo): equal on all ranks, and resumed bit for bit."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from parasketch.data.prepared import Prepared
from parasketch.train.checkpoint import checkpoints

PROGRAM = Path(__file__).parents[1] / "run_tiny.py"


def run(prepared: Prepared, out: Path) -> list[dict[str, torch.Tensor]]:
    """Train with two processes; the weights that each of them ended with."""
    path = os.pathsep.join(filter(None, [str(PROGRAM.parent), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    command = [sys.executable, str(PROGRAM), str(prepared.path), str(out), "2"]
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=600)
    return [load_file(out / f"final-{rank}.safetensors") for rank in range(2)]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("two")


@pytest.fixture(scope="module")
def straight(language_corpus: Prepared, out: Path) -> list[dict[str, torch.Tensor]]:
    return run(language_corpus, out)


def test_all_processes_end_with_the_same_weights(straight: list[dict[str, torch.Tensor]]) -> None:
    first, second = straight
    different = [name for name, value in first.items() if not torch.equal(value, second[name])]
    assert different in ([], ["quantizer.usage"]), "only the count of the last batch is each process's own"
    assert torch.equal(first["quantizer.codebooks"], second["quantizer.codebooks"])


@pytest.mark.usefixtures("straight")
def test_their_noise_differs(out: Path) -> None:
    states = load_file(checkpoints(out / "checkpoints")[-1] / "random.safetensors")["random_states"]
    assert len(states) == 2
    assert not torch.equal(states[0], states[1])


def test_a_resumed_run_equals_one_that_was_not_cut(
    language_corpus: Prepared, out: Path, straight: list[dict[str, torch.Tensor]]
) -> None:
    last, before = checkpoints(out / "checkpoints")[::-1]
    assert json.loads((before / "progress.json").read_text())["step"] == 15
    for entry in last.iterdir():
        entry.unlink()
    last.rmdir()
    resumed = run(language_corpus, out)
    for rank in range(2):
        different = [name for name, value in straight[rank].items() if not torch.equal(value, resumed[rank][name])]
        assert different == []
