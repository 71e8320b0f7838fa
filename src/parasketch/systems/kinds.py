"""The systems that are trained, by the `kind` that their model directories and the command line know them by.

Every entry is one line of names: nothing of a system is imported before it is wanted, so that generation loads
no training code, and training no other system.
"""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parasketch.errors import ModelError, UsageError
from parasketch.model.storage import Sections, open_model
from parasketch.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from parasketch.train.task import Task


@dataclass(frozen=True)
class Kind:
    """Where the parts of a system are, as `module:class`."""

    description: str
    network: str
    """A class with `load(stored: StoredModel) -> (network, tokenizer)`."""
    task: str
    """A `parasketch.train.task.Task`."""


KINDS: dict[str, Kind] = {
    "hrqvae": Kind(
        "HRQ-VAE: the meaning of each token, and a form that is quantised to a path of codes, coarse to fine",
        "parasketch.systems.hrqvae.network:HRQVAE",
        "parasketch.systems.hrqvae.task:HrqVaeTask",
    ),
    "sketchlm": Kind(
        "sketches on a pretrained language model: source, codes and target in one causal sequence",
        "parasketch.systems.sketchlm.network:SketchLM",
        "parasketch.systems.sketchlm.task:SketchLMTask",
    ),
}


def task_class(kind: str) -> "type[Task[Any]]":
    """The task that trains this kind."""
    if kind not in KINDS:
        raise UsageError(f"{kind}: no system of that name can be trained (expected one of {', '.join(KINDS)})")
    found: type[Task[Any]] = _import(KINDS[kind].task)
    return found


@dataclass(frozen=True)
class LoadedModel:
    """What a model directory holds."""

    kind: str
    model: Any
    """The network: in evaluation mode, on the CPU, in full precision."""
    tokenizer: Tokenizer
    sections: Sections
    """The sections of config.json but `format`, `kind` and `model`, such as `generate` and `data`."""


def load_model(directory: Path | str) -> LoadedModel:
    """Read a model directory of any kind; one that is missing, damaged or of an unknown kind is a ModelError."""
    stored = open_model(directory)
    if stored.kind not in KINDS:
        known = ", ".join(KINDS)
        raise ModelError(f"{stored.path}: a model of the unknown kind {stored.kind!r} (known are {known})")
    network, tokenizer = _import(KINDS[stored.kind].network).load(stored)
    return LoadedModel(stored.kind, network, tokenizer, stored.sections)


def _import(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)
