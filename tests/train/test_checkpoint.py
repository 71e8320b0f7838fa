import contextlib
import errno
import json
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tiny import make_batch, make_model

from parasketch.config import TrainConfig
from parasketch.errors import DataError, ModelError
from parasketch.model.hrqvae import HRQVAE
from parasketch.train import checkpoint
from parasketch.train.checkpoint import (
    Progress,
    checkpoints,
    load_checkpoint,
    random_state,
    remove_unfinished,
    resumable,
    save_checkpoint,
)
from parasketch.train.optimizer import make_optimizer, set_learning_rates

CPU = torch.device("cpu")


def learn(model: HRQVAE, optimizer: torch.optim.Optimizer, steps: int) -> None:
    set_learning_rates(optimizer, 1.0)
    for step in range(steps):
        output = model.train()(make_batch(seed=step))
        (-output.log_likelihood.mean() + output.sketch_logits.square().mean()).backward()
        optimizer.step()
        optimizer.zero_grad()


def save(directory: Path, model: HRQVAE, optimizer: torch.optim.Optimizer, step: int = 1, keep: int = 2) -> Path:
    states = random_state(CPU)[None]
    progress = Progress(step=step, best=1.5)
    return save_checkpoint(
        directory, model=model, optimizer=optimizer, random_states=states, progress=progress, keep=keep
    )


def make(seed: int = 0) -> tuple[HRQVAE, torch.optim.Optimizer]:
    model = make_model(seed=seed)
    return model, make_optimizer(model, TrainConfig())


def test_what_was_saved_goes_on_bit_for_bit(tmp_path: Path) -> None:
    model, optimizer = make()
    torch.manual_seed(7)
    learn(model, optimizer, 3)
    path = save(tmp_path, model, optimizer, step=3)
    learn(model, optimizer, 2)

    other, its_optimizer = make(seed=1)
    torch.manual_seed(99)
    progress = load_checkpoint(path, model=other, optimizer=its_optimizer, rank=0, processes=1)
    assert progress == Progress(step=3, best=1.5)
    learn(other, its_optimizer, 2)
    for name, value in model.state_dict().items():
        assert torch.equal(value, other.state_dict()[name]), name


def test_nothing_in_it_is_a_pickle(tmp_path: Path) -> None:
    model, optimizer = make()
    learn(model, optimizer, 1)
    path = save(tmp_path, model, optimizer)
    names = {"model.safetensors", "optimizer.safetensors", "random.safetensors", "progress.json"}
    assert {entry.name for entry in path.iterdir()} == names
    for entry in path.glob("*.safetensors"):
        content = entry.read_bytes()
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        assert all("data_offsets" in part for part in header.values())


def test_the_oldest_go(tmp_path: Path) -> None:
    model, optimizer = make()
    assert resumable(tmp_path) is None
    for step in (5, 10, 100):
        save(tmp_path, model, optimizer, step=step)
    assert [path.name for path in checkpoints(tmp_path)] == ["step-000000010", "step-000000100"]
    assert resumable(tmp_path) == tmp_path / "step-000000100"
    save(tmp_path, model, optimizer, step=200, keep=0)
    assert [path.name for path in checkpoints(tmp_path)] == ["step-000000200"], "the newest always stays"


def test_unfinished_ones_do_not_count_and_are_removed(tmp_path: Path) -> None:
    model, optimizer = make()
    save(tmp_path, model, optimizer, step=5)
    left = tmp_path / ".step-000000010.0123abcd.partial"
    left.mkdir()
    (left / "model.safetensors").write_bytes(b"half")
    assert resumable(tmp_path) == tmp_path / "step-000000005"
    remove_unfinished(tmp_path / checkpoint.PREFIX)
    assert not left.exists()
    assert checkpoints(tmp_path) == [tmp_path / "step-000000005"]


@contextlib.contextmanager
def little_room() -> Iterator[None]:
    """No file of this process can become larger than 20 KB, as on a disk that is full."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_disk_without_room_is_a_clear_error_and_the_last_one_survives(tmp_path: Path) -> None:
    model, optimizer = make()
    learn(model, optimizer, 1)
    last = save(tmp_path, model, optimizer, step=5)
    with little_room(), pytest.raises(DataError, match=r"step-000000010: cannot be written: .*File too large"):
        save(tmp_path, model, optimizer, step=10)
    assert [entry.name for entry in tmp_path.iterdir()] == [last.name]
    assert load_checkpoint(last, model=model, optimizer=optimizer, rank=0, processes=1).step == 5


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, optimizer = make()
    last = save(tmp_path, model, optimizer, step=5)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoint, "save_file", full)
    with pytest.raises(DataError, match="step-000000010: cannot be written: No space left on device"):
        save(tmp_path, model, optimizer, step=10)
    assert [entry.name for entry in tmp_path.iterdir()] == [last.name]


def test_a_place_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    with pytest.raises(DataError, match="cannot be written"):
        save(tmp_path / "run" / "checkpoints", *make())


@pytest.mark.parametrize("damage", ["truncate", "remove", "other", "progress"])
def test_a_damaged_checkpoint_is_named(tmp_path: Path, damage: str) -> None:
    model, optimizer = make()
    learn(model, optimizer, 1)
    path = save(tmp_path, model, optimizer)
    weights = path / "model.safetensors"
    if damage == "truncate":
        weights.write_bytes(weights.read_bytes()[:100])
    elif damage == "remove":
        (path / "random.safetensors").unlink()
    elif damage == "other":
        weights.write_bytes((path / "random.safetensors").read_bytes())
    else:
        (path / "progress.json").write_text('{"unknown": 1}')
    with pytest.raises(ModelError, match="step-000000001: not a checkpoint of this model"):
        load_checkpoint(path, model=model, optimizer=optimizer, rank=0, processes=1)


def test_as_many_processes_as_before(tmp_path: Path) -> None:
    model, optimizer = make()
    path = save(tmp_path, model, optimizer)
    with pytest.raises(ModelError, match=r"written by 1 processes \(expected 2\)"):
        load_checkpoint(path, model=model, optimizer=optimizer, rank=1, processes=2)
