"""Checkpoints from which a run goes on bit for bit: weights, optimiser, random states, and where it stood.

A checkpoint is a directory of safetensors and JSON (loading one can never run code). It is written beside its
place, synced and renamed, so a killed writer leaves the last whole one. Only this module writes checkpoints.
"""

import json
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from parasketch.errors import DataError, ModelError
from parasketch.files import write_directory
from parasketch.train.task import Task

PREFIX = "step-"


@dataclass
class Progress:
    """Where a run stands."""

    step: int = 0
    seconds: float = 0.0
    """Time spent on training and evaluation so far."""
    saved_at: float = 0.0
    """Those seconds at the last checkpoint."""
    evaluations: int = 0
    evaluation_seconds: float = 0.0
    """Time spent on evaluations."""
    best: float | None = None
    """The best dev score so far; higher is better."""
    since_best: int = 0
    """Evaluations since then."""
    task: dict[str, Any] = field(default_factory=dict)
    """What the task remembers."""


def save_checkpoint(
    directory: Path, *, task: Task[Any], optimizer: Optimizer, random_states: Tensor, progress: Progress, keep: int
) -> Path:
    """Write the state of a run; `random_states` is (processes, bytes). Older checkpoints beyond `keep` go."""
    path = directory / f"{PREFIX}{progress.step:09d}"
    progress.task = task.state()
    weights = {name: value.contiguous() for name, value in task.tensors().items()}
    with write_directory(path) as temporary:
        try:
            save_file(weights, temporary / "model.safetensors")
            save_file(_optimizer_tensors(task.network, optimizer), temporary / "optimizer.safetensors")
            save_file({"random_states": random_states.cpu().contiguous()}, temporary / "random.safetensors")
        except SafetensorError as error:  # a full disk is reported so
            raise DataError(f"cannot be written: {error}", path=path) from error
        (temporary / "progress.json").write_text(json.dumps(asdict(progress)), encoding="utf-8")
    for old in checkpoints(directory)[: -max(1, keep)]:
        shutil.rmtree(old, ignore_errors=True)
    return path


def load_checkpoint(path: Path, *, task: Task[Any], optimizer: Optimizer, rank: int, processes: int) -> Progress:
    """Bring task, optimiser and this process's random state back to where the checkpoint was written."""
    try:
        task.load_tensors(load_file(path / "model.safetensors"))
        tensors = load_file(path / "optimizer.safetensors")
        states = load_file(path / "random.safetensors")["random_states"]
        progress = Progress(**json.loads((path / "progress.json").read_text(encoding="utf-8")))
        task.load_state(progress.task)
        _restore_optimizer(task.network, optimizer, tensors)
    except (OSError, SafetensorError, RuntimeError, ValueError, TypeError, KeyError) as error:
        raise ModelError(f"{path}: not a checkpoint of this model: {error}") from error
    if processes != len(states):
        raise ModelError(f"{path}: written by {len(states)} processes (expected {processes}): resume with as many")
    set_random_state(states[rank], next(task.network.parameters()).device)
    return progress


def checkpoints(directory: Path) -> list[Path]:
    """The whole checkpoints of a run, oldest first."""
    return sorted(path for path in directory.glob(f"{PREFIX}*") if path.is_dir())


def resumable(directory: Path) -> Path | None:
    """The checkpoint to go on from, if there is one."""
    found = checkpoints(directory)
    return found[-1] if found else None


def remove_unfinished(path: Path) -> None:
    """Remove what killed writers of the directory `path` (or of names that begin so) left beside it."""
    for partial in path.parent.glob(f".{path.name}*.partial"):
        shutil.rmtree(partial, ignore_errors=True)


def random_state(device: torch.device) -> Tensor:
    """The state of this process's random numbers, (bytes,)."""
    state = torch.get_rng_state()
    return torch.cat([state, torch.cuda.get_rng_state(device)]).to(device) if device.type == "cuda" else state


def set_random_state(state: Tensor, device: torch.device) -> None:
    """Take up the random numbers where `random_state` was called."""
    size = len(torch.get_rng_state())
    torch.set_rng_state(state[:size].clone())
    if device.type == "cuda":
        torch.cuda.set_rng_state(state[size:].clone(), device)


def _optimizer_tensors(model: nn.Module, optimizer: Optimizer) -> dict[str, Tensor]:
    """The optimiser's state by parameter name: `NAME/exp_avg`, ..."""
    tensors = {}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"{name}/{key}"] = value.detach().cpu().contiguous()
    return tensors


def _restore_optimizer(model: nn.Module, optimizer: Optimizer, tensors: dict[str, Tensor]) -> None:
    parameters = dict(model.named_parameters())
    optimizer.state.clear()
    for key, value in tensors.items():
        name, _, part = key.rpartition("/")
        # A copy of its own: what was loaded is a view of the file.
        optimizer.state.setdefault(parameters[name], {})[part] = value.to(parameters[name].device, copy=True)
