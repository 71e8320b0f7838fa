"""One experiment from what the user names to a saved model: set the task up, train it, keep the best.

A run directory holds: config.json, checkpoints/, metrics.jsonl, best/, a model directory that everything else in the
package loads, and last/, the model of the end of the run. What else is in it depends on the task; a run that starts
from clusters has prepared/ and split/ in it, and corpus.json (which corpus it was).
"""

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric

from parasketch.config import load_config, preset_names, to_dict
from parasketch.console import set_quiet
from parasketch.errors import UsageError
from parasketch.files import lock, write_text
from parasketch.generate.pretrained import find_model
from parasketch.model.storage import open_model
from parasketch.systems.kinds import KINDS, task_class
from parasketch.train.checkpoint import checkpoints, remove_unfinished
from parasketch.train.loop import BEST, CHECKPOINTS, train
from parasketch.train.task import Sources, Task

DEFAULT_SYSTEM, DEFAULT_PRESET, FINE_PRESET = "hrqvae", "small", "fine"
CONFIG, LAST = "config.json", "last"


@dataclass(frozen=True, kw_only=True)
class Order:
    """What to train: words of the command line, understood."""

    system: str
    preset: str
    """A preset of the system, or a YAML file."""
    data: Path | None
    start: Path | None = None
    """A model to go on with."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What to train, and where the result goes."""

    task: Task[Any]
    run: Path


def understand(words: Sequence[str], *, preset: str | None, data: Path | None, start: str | None = None) -> Order:
    """Tell apart what may be named without an option: `[SYSTEM] [PRESET | CONFIG | DATA]`.

    With a model to go on with, its name or directory in `start`, the system is the model's.
    """
    rest = list(words)
    model = None if start is None else find_model(start)
    default = DEFAULT_SYSTEM if model is None else open_model(model).kind
    system = rest.pop(0) if rest and rest[0] in KINDS else default
    if system != default and model is not None:
        raise UsageError(f"{model} is a model of the kind {default}, not {system}")
    if len(rest) > 1:
        raise UsageError(f"{' '.join(words)}: expected a system ({', '.join(KINDS)}) and one preset or file")
    if rest:
        is_config = rest[0] in preset_names(system) or rest[0].endswith((".yaml", ".yml"))
        if is_config and preset is not None:
            raise UsageError(f"{rest[0]} and --preset {preset}: give one of them")
        if not is_config and data is not None:
            names = ", ".join(preset_names(system))
            raise UsageError(f"{rest[0]}: with --data, expected a preset ({names}) or a YAML file in front of it")
        preset, data = (rest[0], data) if is_config else (preset, Path(rest[0]))
    preset = preset or (DEFAULT_PRESET if model is None else FINE_PRESET)
    return Order(system=system, preset=preset, data=data, start=model)


def set_up(
    order: Order, *, dev: Path | None, run: Path, overrides: Sequence[str] = (), minutes: float | None = None
) -> Experiment:
    """Read the configuration and let the task open its data."""
    kind = task_class(order.system)
    config = load_config(kind.config_type, kind.kind, order.preset, overrides)
    if order.start is not None:
        config = kind.going_on(config, order.start)
    if minutes is not None:
        config = replace(config, train=replace(config.train, minutes=minutes))
    begun = has_checkpoint(run)
    if begun and (other := _kind_of(run)) != kind.kind:
        raise UsageError(f"{run} holds a run of {other}, not of {kind.kind}: choose another --out")
    sources = Sources(data=order.data, dev=dev, run=run, begun=begun, start=order.start)
    return Experiment(task=kind.set_up(config, sources), run=run)


def run_experiment(experiment: Experiment, *, fabric: Fabric, resume: bool) -> Path:
    """Train, and return the directory of the best model; that of the end of the run is beside it."""
    task, run = experiment.task, experiment.run
    if not resume and has_checkpoint(run):
        raise UsageError(f"{run} holds a run already: choose another --out, or --resume auto")
    if fabric.is_global_zero:
        remove_unfinished(run / LAST)
        with write_text(run / CONFIG) as stream:
            json.dump({"kind": task.kind, **to_dict(task.config)}, stream, indent=1)
    progress = train(task, run, fabric=fabric, resume=resume)
    if fabric.is_global_zero:
        task.save(run / LAST, {})
        if progress.best is None:  # without dev items none is better than another
            task.save(run / BEST, {})
    return run / BEST


def has_checkpoint(run: Path) -> bool:
    """Whether there is something to go on from."""
    return bool(checkpoints(run / CHECKPOINTS))


@contextlib.contextmanager
def alone_in(run: Path) -> Iterator[None]:
    """Let no other training into the directory of a run; processes of one training are let in by the first of them."""
    if int(os.environ.get("RANK", os.environ.get("LOCAL_RANK", "0"))) > 0:
        yield
        return
    try:
        run.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{run}: cannot be made: {error.strerror or error}") from error
    try:
        with lock(run):
            yield
    finally:
        with contextlib.suppress(OSError):
            run.rmdir()  # where nothing came of it; a directory with anything in it stays


def make_fabric(*, accelerator: str, devices: str, precision: str) -> Fabric:
    """One code path for a CPU, a GPU and many of them, on one machine or several; only the first process talks.

    Where `torchrun` or `fabric run` has started this process, they have decided how many there are, and on how many
    machines.
    """
    nodes, here = 1, os.environ.get("LOCAL_WORLD_SIZE")
    if here is not None:
        everywhere = os.environ["WORLD_SIZE"]
        nodes, rest = divmod(int(everywhere), int(here))
        if rest:
            raise UsageError(f"{here} processes here and {everywhere} in all: start as many on every machine")
        devices = here
    if accelerator == "auto" and not torch.cuda.is_available():
        accelerator, devices = "cpu", "1" if devices == "auto" else devices
    try:
        fabric = Fabric(accelerator=accelerator, devices=devices, num_nodes=nodes, precision=precision)  # type: ignore[arg-type]
    except Exception as error:  # Fabric has no one class for what it cannot use
        raise UsageError(f"--accelerator {accelerator} --devices {devices}: {error}") from error
    fabric.launch()
    if not fabric.is_global_zero:
        set_quiet(True)
    return fabric


def _kind_of(run: Path) -> str:
    """The system that a run trains; one that does not say is of the time when there was one."""
    try:
        return str(json.loads((run / CONFIG).read_text("utf-8")).get("kind", DEFAULT_SYSTEM))
    except (OSError, ValueError):
        return DEFAULT_SYSTEM
