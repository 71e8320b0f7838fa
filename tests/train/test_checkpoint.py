import contextlib
import errno
import json
import resource
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tiny import BareTask, make_batch, make_model

from parasketch.errors import DataError, ModelError
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


def learn(task: BareTask, optimizer: torch.optim.Optimizer, steps: int) -> None:
    set_learning_rates(optimizer, 0.04, task.config.train)
    for step in range(steps):
        output = task.network.train()(make_batch(seed=step))
        (-output.log_likelihood.mean() + output.sketch_logits.square().mean()).backward()
        optimizer.step()
        optimizer.zero_grad()


def save(directory: Path, task: BareTask, optimizer: torch.optim.Optimizer, step: int = 1, keep: int = 2) -> Path:
    states = random_state(CPU)[None]
    progress = Progress(step=step, best=1.5)
    return save_checkpoint(
        directory, task=task, optimizer=optimizer, random_states=states, progress=progress, keep=keep
    )


def make(seed: int = 0) -> tuple[BareTask, torch.optim.Optimizer]:
    task = BareTask(make_model(seed=seed))
    return task, make_optimizer(task.parameter_groups(), task.config.train)


def test_what_was_saved_goes_on_bit_for_bit(tmp_path: Path) -> None:
    task, optimizer = make()
    torch.manual_seed(7)
    learn(task, optimizer, 3)
    path = save(tmp_path, task, optimizer, step=3)
    learn(task, optimizer, 2)

    other, its_optimizer = make(seed=1)
    torch.manual_seed(99)
    progress = load_checkpoint(path, task=other, optimizer=its_optimizer, rank=0, processes=1)
    assert progress == Progress(step=3, best=1.5)
    learn(other, its_optimizer, 2)
    for name, value in task.network.state_dict().items():
        assert torch.equal(value, other.network.state_dict()[name]), name


def test_nothing_in_it_is_a_pickle(tmp_path: Path) -> None:
    task, optimizer = make()
    learn(task, optimizer, 1)
    path = save(tmp_path, task, optimizer)
    names = {"model.safetensors", "optimizer.safetensors", "random.safetensors", "progress.json"}
    assert {entry.name for entry in path.iterdir()} == names
    for entry in path.glob("*.safetensors"):
        content = entry.read_bytes()
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        assert all("data_offsets" in part for part in header.values())


def test_the_oldest_go(tmp_path: Path) -> None:
    task, optimizer = make()
    assert resumable(tmp_path) is None
    for step in (5, 10, 100):
        save(tmp_path, task, optimizer, step=step)
    assert [path.name for path in checkpoints(tmp_path)] == ["step-000000010", "step-000000100"]
    assert resumable(tmp_path) == tmp_path / "step-000000100"
    save(tmp_path, task, optimizer, step=200, keep=0)
    assert [path.name for path in checkpoints(tmp_path)] == ["step-000000200"], "the newest always stays"


def test_unfinished_ones_do_not_count_and_are_removed(tmp_path: Path) -> None:
    task, optimizer = make()
    save(tmp_path, task, optimizer, step=5)
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
    task, optimizer = make()
    learn(task, optimizer, 1)
    last = save(tmp_path, task, optimizer, step=5)
    with little_room(), pytest.raises(DataError, match=r"step-000000010: cannot be written: .*File too large"):
        save(tmp_path, task, optimizer, step=10)
    assert [entry.name for entry in tmp_path.iterdir()] == [last.name]
    assert load_checkpoint(last, task=task, optimizer=optimizer, rank=0, processes=1).step == 5


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, optimizer = make()
    last = save(tmp_path, task, optimizer, step=5)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoint, "save_file", full)
    with pytest.raises(DataError, match="step-000000010: cannot be written: No space left on device"):
        save(tmp_path, task, optimizer, step=10)
    assert [entry.name for entry in tmp_path.iterdir()] == [last.name]


def test_a_place_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    with pytest.raises(DataError, match="cannot be written"):
        save(tmp_path / "run" / "checkpoints", *make())


@pytest.mark.parametrize("damage", ["truncate", "remove", "other", "progress"])
def test_a_damaged_checkpoint_is_named(tmp_path: Path, damage: str) -> None:
    task, optimizer = make()
    learn(task, optimizer, 1)
    path = save(tmp_path, task, optimizer)
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
        load_checkpoint(path, task=task, optimizer=optimizer, rank=0, processes=1)


def test_as_many_processes_as_before(tmp_path: Path) -> None:
    task, optimizer = make()
    path = save(tmp_path, task, optimizer)
    with pytest.raises(ModelError, match=r"written by 1 processes \(expected 2\)"):
        load_checkpoint(path, task=task, optimizer=optimizer, rank=1, processes=2)


class Remembers(BareTask):
    """Has frozen weights that need not be saved, and something to remember."""

    memory = 0

    def tensors(self) -> dict[str, torch.Tensor]:
        return {name: value for name, value in super().tensors().items() if name != "embedding.weight"}

    def load_tensors(self, tensors: dict[str, torch.Tensor]) -> None:
        assert not self.network.load_state_dict(tensors, strict=False).unexpected_keys

    def state(self) -> dict[str, int]:
        return {"memory": self.memory}

    def load_state(self, state: Mapping[str, int]) -> None:
        self.memory = state["memory"]


def test_a_task_says_what_is_state(tmp_path: Path) -> None:
    task, other = Remembers(make_model()), Remembers(make_model(seed=1))
    optimizers = [make_optimizer(each.parameter_groups(), each.config.train) for each in (task, other)]
    task.memory, frozen = 7, other.network.embedding.weight.clone()
    path = save(tmp_path, task, optimizers[0])
    assert "embedding.weight" not in load_file(path / "model.safetensors")
    load_checkpoint(path, task=other, optimizer=optimizers[1], rank=0, processes=1)
    assert other.memory == 7
    assert torch.equal(other.network.embedding.weight, frozen)
    assert torch.equal(other.network.quantizer.codebooks, task.network.quantizer.codebooks)
