"""Every kind of system in two processes: equal on both, and resumed bit for bit."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from parasketch.data.prepared import Prepared
from parasketch.systems.kinds import KINDS
from parasketch.train.checkpoint import checkpoints

PROGRAM = Path(__file__).parents[1] / "run_tiny.py"
TRAINED = tuple(kind for kind in KINDS if kind != "sketchlm")  # it has pairs, not a prepared corpus: tests of its own

Weights = dict[str, list[dict[str, torch.Tensor]]]


def run(prepared: Prepared, out: Path) -> Weights:
    """Train every kind with two processes; the weights that each process ended with."""
    path = os.pathsep.join(filter(None, [str(PROGRAM.parent), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    command = [sys.executable, str(PROGRAM), str(prepared.path), str(out), "2", *TRAINED]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return {kind: [load_file(out / kind / f"final-{rank}.safetensors") for rank in range(2)] for kind in TRAINED}


@pytest.fixture(scope="module")
def runs(language_corpus: Prepared, tmp_path_factory: pytest.TempPathFactory) -> tuple[Weights, Weights]:
    """Run straight through; and cut after two thirds and resumed."""
    out = tmp_path_factory.mktemp("kinds")
    straight = run(language_corpus, out)
    for kind in TRAINED:
        shutil.rmtree(checkpoints(out / kind / "checkpoints")[-1])
    return straight, run(language_corpus, out)


@pytest.mark.parametrize("kind", TRAINED)
def test_both_processes_end_with_the_same_weights(runs: tuple[Weights, Weights], kind: str) -> None:
    first, second = runs[0][kind]
    different = {name for name, value in first.items() if not torch.equal(value, second[name])}
    assert different <= ({"quantizer.usage"} if kind == "hrqvae" else set())


@pytest.mark.parametrize("kind", TRAINED)
def test_a_resumed_run_equals_one_that_was_not_cut(runs: tuple[Weights, Weights], kind: str) -> None:
    for straight, resumed in zip(runs[0][kind], runs[1][kind], strict=True):
        assert [name for name, value in straight.items() if not torch.equal(value, resumed[name])] == []
