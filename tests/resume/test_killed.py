"""A run that is killed again and again, at any moment, ends with the same bits as one that was left alone."""

import multiprocessing
import random
import time
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest
import torch
from run_tiny import SETTINGS, run_tiny
from safetensors.torch import load_file

from parasketch.data.prepared import Prepared
from parasketch.train.checkpoint import checkpoints

SERVER = multiprocessing.get_context("forkserver")  # it imports torch once, and has computed nothing when it forks
SERVER.set_forkserver_preload(["run_tiny", "sklearn.cluster"])


def start(prepared: Prepared, run: Path) -> ForkServerProcess:
    process = SERVER.Process(target=run_tiny, args=(str(prepared.path), str(run)))
    process.start()
    return process


def finish(prepared: Prepared, run: Path) -> dict[str, torch.Tensor]:
    process = start(prepared, run)
    process.join()
    assert process.exitcode == 0
    return load_file(run / "final-0.safetensors")


@pytest.fixture(scope="module")
def straight(language_corpus: Prepared, tmp_path_factory: pytest.TempPathFactory) -> dict[str, torch.Tensor]:
    return finish(language_corpus, tmp_path_factory.mktemp("straight"))


def kill_when(process: ForkServerProcess, run: Path, *, saves: int, mid_save: bool) -> bool:
    """Kill it after some more checkpoints, within the next save or a moment later; False if it ended before."""
    folder, rng = run / "checkpoints", random.Random(saves)
    last = newest(folder)
    while process.is_alive():
        if newest(folder) >= last + saves and (not mid_save or any(folder.glob(".*.partial"))):
            time.sleep(0 if mid_save else rng.random() * 0.05)
            process.kill()
            process.join()
            return True
        time.sleep(0.001)
    return False


def newest(folder: Path) -> int:
    """The step of the last checkpoint; there is one a step."""
    return max((int(path.name.rpartition("-")[2]) for path in checkpoints(folder)), default=0)


def test_killed_and_resumed_until_it_is_done(
    language_corpus: Prepared, straight: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    """Within the first save of all, between two saves, within one after k-means, and once more."""
    for saves, mid_save in ((0, True), (2, False), (4, True), (1, False)):
        assert kill_when(start(language_corpus, tmp_path), tmp_path, saves=saves, mid_save=mid_save)
    assert 0 < newest(tmp_path / "checkpoints") < SETTINGS.steps
    resumed = finish(language_corpus, tmp_path)
    assert [name for name, value in straight.items() if not torch.equal(value, resumed[name])] == []
    assert not list((tmp_path / "checkpoints").glob(".*.partial")), "what was half written is cleared away"
