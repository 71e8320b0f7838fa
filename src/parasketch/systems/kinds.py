"""The systems that are trained, by the `kind` that their model directories and the command line know them by.

Every entry is one line of names: nothing of a system is imported before it is wanted, so that generation loads
no training code, and training no other system.
"""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parasketch.errors import ModelError, UsageError
from parasketch.model.directory import CONFIG, FIRST_KIND, ModelDirectory, Sections, open_directory, read_config
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
    engine: str
    """A module with `load_engine(directory, device, semantic)`, which gives a `parasketch.generate.engine.Engine`."""
    backends: tuple[str, ...] = ("torch",)
    """What it runs on; where there is more than one, its `load_engine` takes the name of a backend as well."""


_POOLED = "parasketch.systems.pooled.engine"

KINDS: dict[str, Kind] = {
    "ae": Kind(
        "autoencoder: a Transformer whose decoder sees one vector of the source",
        "parasketch.systems.ae.network:AE",
        "parasketch.systems.ae.task:AeTask",
        _POOLED,
    ),
    "vae": Kind(
        "variational autoencoder: the vector is a Gaussian; several paraphrases are samples",
        "parasketch.systems.vae.network:VAE",
        "parasketch.systems.vae.task:VaeTask",
        "parasketch.systems.vae.engine",
    ),
    "vqvae": Kind(
        "VQ-VAE: the vector is cut into heads, each quantised with a codebook of its own",
        "parasketch.systems.vqvae.network:VQVAE",
        "parasketch.systems.vqvae.task:VqVaeTask",
        _POOLED,
    ),
    "separator": Kind(
        "Separator: a Gaussian meaning, and a form of four independent codes taken from an exemplar",
        "parasketch.systems.separator.network:Separator",
        "parasketch.systems.separator.task:SeparatorTask",
        "parasketch.systems.separator.engine",
    ),
    "sowreap": Kind(
        "SOW/REAP: learnt reorderings of phrases (SOW) become word orders that a decoder follows (REAP)",
        "parasketch.systems.sowreap.network:SowReap",
        "parasketch.systems.sowreap.task:SowReapTask",
        "parasketch.systems.sowreap.engine",
    ),
    "hrqvae": Kind(
        "HRQ-VAE: the meaning of each token, and a form that is quantised to a path of codes, coarse to fine",
        "parasketch.systems.hrqvae.network:HRQVAE",
        "parasketch.systems.hrqvae.task:HrqVaeTask",
        "parasketch.generate.hrqvae",
        backends=("light", "torch"),
    ),
    "lbow": Kind(
        "latent bag of words: LSTMs around a predicted bag of words that paraphrases may have",
        "parasketch.systems.lbow.network:LBoW",
        "parasketch.systems.lbow.task:LbowTask",
        "parasketch.systems.lbow.engine",
    ),
    "btmpg": Kind(
        "BTmPG: a recurrent VAE that paraphrases its own output, round by round, held back by translating back",
        "parasketch.systems.btmpg.network:BTmPG",
        "parasketch.systems.btmpg.task:BtmpgTask",
        "parasketch.systems.btmpg.engine",
    ),
    "sketchlm": Kind(
        "sketches on a pretrained language model: source, codes and target in one causal sequence",
        "parasketch.systems.sketchlm.network:SketchLM",
        "parasketch.systems.sketchlm.task:SketchLMTask",
        "parasketch.systems.sketchlm.engine",
        backends=("light",),
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
    from parasketch.model.storage import open_model

    kind, stored = kind_of(directory), open_model(directory)
    network, tokenizer = _import(kind.network).load(stored)
    return LoadedModel(stored.kind, network, tokenizer, stored.sections)


def kind_of(directory: Path | str) -> Kind:
    """The kind of a model directory, by its config.json alone; one that is none, or unknown, is a ModelError."""
    path = Path(directory)
    name = (
        read_config(path).get("kind", FIRST_KIND)
        if (path / CONFIG).is_file()
        else open_directory(path, ModelDirectory).kind
    )
    if not isinstance(name, str) or name not in KINDS:
        known = ", ".join(KINDS)
        raise ModelError(f"{path / CONFIG}: a model of the kind {name!r} is not known here (known: {known})")
    return KINDS[name]


def _import(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)
