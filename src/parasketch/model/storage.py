"""A model as a directory: config.json, model.safetensors, tokenizer.json and, where there is one, its README.md.

Nothing in it is a pickle, so loading a model can never run code. The directory appears whole or not at all, and one
that is damaged or of another kind is refused with a message that says what is wrong with it. Whatever else belongs to a
model (how to generate with it, how it was trained) is a section of config.json that other modules understand.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from parasketch.config import ModelConfig, from_dict, to_dict
from parasketch.errors import ConfigError, ModelError
from parasketch.files import write_directory
from parasketch.model.hrqvae import HRQVAE
from parasketch.text.tokenizer import Tokenizer

FORMAT = 1
CONFIG, WEIGHTS, TOKENIZER, CARD = "config.json", "model.safetensors", "tokenizer.json", "README.md"

Sections = dict[str, Any]


@dataclass(frozen=True)
class LoadedModel:
    """What a model directory holds."""

    model: HRQVAE
    """In evaluation mode, on the CPU, in full precision."""
    tokenizer: Tokenizer
    sections: Sections
    """The sections of config.json but `format` and `model`, such as `generate` and `data`."""


def save_model(
    directory: Path | str,
    model: HRQVAE,
    tokenizer: Tokenizer,
    *,
    sections: Mapping[str, Any] | None = None,
    half: bool = False,
    card: str | None = None,
) -> None:
    """Write a model directory; with `half` the weights take 16 bits each on the disk."""
    weights = {name: _stored(name, tensor, half) for name, tensor in model.state_dict().items()}
    content = {"format": FORMAT, "model": to_dict(model.config), **(sections or {})}
    with write_directory(directory) as temporary:
        (temporary / CONFIG).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        save_file(weights, temporary / WEIGHTS)
        tokenizer.save(temporary / TOKENIZER)
        if card is not None:
            (temporary / CARD).write_text(card, encoding="utf-8")


def load_model(directory: Path | str) -> LoadedModel:
    """Read a model directory; one that is missing, damaged or of another kind is a ModelError."""
    path = Path(directory)
    if not path.is_dir():
        raise ModelError(f"{path}: no such model directory")
    missing = [name for name in (CONFIG, WEIGHTS, TOKENIZER) if not (path / name).is_file()]
    if missing:
        raise ModelError(f"{path}: not a model directory: {', '.join(missing)} missing")
    sections = read_config(path)
    try:
        config = from_dict(ModelConfig, sections.pop("model"), "model.")
    except ConfigError as error:
        raise ModelError(f"{path / CONFIG}: {error}") from error
    tokenizer = Tokenizer.load(path / TOKENIZER)
    if tokenizer.vocab_size != config.vocab_size:
        raise ModelError(
            f"{path}: {TOKENIZER} has {tokenizer.vocab_size} entries and {CONFIG} says {config.vocab_size}: "
            "they do not belong together"
        )
    with torch.random.fork_rng(devices=[]):  # random numbers are drawn and overwritten: nobody else may notice
        model = HRQVAE(config, mask_id=tokenizer.mask_id)
    _fill(model, path / WEIGHTS)
    return LoadedModel(model.eval(), tokenizer, sections)


def read_config(directory: Path) -> Sections:
    """The sections of config.json, checked to be those of a model; without `format`."""
    path = directory / CONFIG
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        raise ModelError(f"{path}: not the configuration of a parasketch model (no section `model`)")
    if content.pop("format", None) != FORMAT:
        raise ModelError(f"{path}: written by another version (expected format {FORMAT})")
    return content


def _fill(model: HRQVAE, path: Path) -> None:
    try:
        weights = load_file(path)
    except (OSError, safetensors.SafetensorError) as error:
        raise ModelError(f"{path}: damaged, or not a file of weights: {error}") from error
    wanted = model.state_dict()
    for name, tensor in wanted.items():
        if name not in weights:
            raise ModelError(f"{path}: does not fit {CONFIG}: no weights {name}")
        if weights[name].shape != tensor.shape:
            shapes = f"{tuple(weights[name].shape)}, expected {tuple(tensor.shape)}"
            raise ModelError(f"{path}: does not fit {CONFIG}: {name} is {shapes}")
    if unknown := sorted(set(weights) - set(wanted)):
        raise ModelError(f"{path}: does not fit {CONFIG}: unknown weights {unknown[0]}")
    model.load_state_dict(weights)  # copies into the model's own, full-precision tensors


def _stored(name: str, tensor: Tensor, half: bool) -> Tensor:
    tensor = tensor.detach().cpu().contiguous()
    if not half or not tensor.is_floating_point():
        return tensor
    short = tensor.half()
    if not short.isfinite().all():
        raise ModelError(f"{name} has values that 16 bits cannot hold: save it in full precision")
    return short
