"""A model as a directory: config.json, model.safetensors, tokenizer.json and, where there is one, its README.md.

Nothing in it is a pickle, so loading a model can never run code. The directory appears whole or not at all, and one
that is damaged is refused with a message that says what is wrong with it. Which system it belongs to is the `kind` in
config.json, and the section `model` is the shape of its network; `parasketch.systems.kinds` knows who reads them.
Whatever else belongs to a model (how to generate with it, how it was trained) is another section.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from parasketch.config import C, from_dict, to_dict
from parasketch.errors import ConfigError, DataError, ModelError
from parasketch.files import write_directory
from parasketch.text.tokenizer import Tokenizer

FORMAT = 1
CONFIG, WEIGHTS, TOKENIZER, CARD = "config.json", "model.safetensors", "tokenizer.json", "README.md"
FIRST_KIND = "hrqvae"
"""The kind of models that do not say theirs: they were written when there was one."""

Sections = dict[str, Any]


class SavedTokenizer(Protocol):
    """What is needed of a tokenizer to write it."""

    def save(self, path: Path, /) -> None:
        """Write it to a file."""
        ...


class Storable(Protocol):
    """What is needed of a network to write it."""

    kind: ClassVar[str]
    """The name of the system it belongs to."""

    @property
    def config(self) -> Any:
        """Its shape: a dataclass of plain values."""
        ...

    def state_dict(self) -> Mapping[str, Tensor]:
        """Its weights."""
        ...


N = TypeVar("N", bound=nn.Module)


@dataclass(frozen=True)
class StoredModel:
    """A model directory that was found to be one; its weights and its tokenizer are not read yet."""

    path: Path
    kind: str
    config: Sections
    """The section `model`: the shape of the network."""
    sections: Sections
    """The other sections of config.json, such as `generate` and `data`."""

    def read_tokenizer(self) -> Tokenizer:
        """The tokenizer beside the weights."""
        return Tokenizer.load(self.path / TOKENIZER)

    def read_config(self, shape: type[C]) -> C:
        """The shape of the network as a dataclass."""
        try:
            return from_dict(shape, self.config, "model.")
        except ConfigError as error:
            raise ModelError(f"{self.path / CONFIG}: {error}") from error

    def read_weights(self) -> dict[str, Tensor]:
        """All tensors, as they are on the disk."""
        path = self.path / WEIGHTS
        try:
            return load_file(path)
        except (OSError, SafetensorError) as error:
            raise ModelError(f"{path}: damaged, or not a file of weights: {error}") from error

    def fill(self, network: N, *, newer: tuple[str, ...] = ()) -> N:
        """Give a network all its weights, which have to be the ones it wants; in evaluation mode afterwards.

        Weights whose names end in one of `newer` may be missing in models that are older than they; they stay as is.
        """
        path, weights, wanted = self.path / WEIGHTS, self.read_weights(), network.state_dict()
        weights = {name: tensor for name, tensor in wanted.items() if name.endswith(newer)} | weights
        for name, tensor in wanted.items():
            if name not in weights:
                raise ModelError(f"{path}: does not fit {CONFIG}: no weights {name}")
            if weights[name].shape != tensor.shape:
                shapes = f"{tuple(weights[name].shape)}, expected {tuple(tensor.shape)}"
                raise ModelError(f"{path}: does not fit {CONFIG}: {name} is {shapes}")
        if unknown := sorted(set(weights) - set(wanted)):
            raise ModelError(f"{path}: does not fit {CONFIG}: unknown weights {unknown[0]}")
        network.load_state_dict(weights)  # copies into the network's own, full-precision tensors
        return network.eval()


def save_model(
    directory: Path | str,
    model: Storable,
    tokenizer: SavedTokenizer,
    *,
    weights: Mapping[str, Tensor] | None = None,
    sections: Mapping[str, Any] | None = None,
    half: bool = False,
    card: str | None = None,
) -> None:
    """Write a model directory; with `half` the weights take 16 bits each on the disk.

    `weights` are all of the model's, unless a part of them is given (such as what was trained on a frozen base).
    """
    tensors = model.state_dict() if weights is None else weights
    stored = {name: _stored(name, tensor, half) for name, tensor in tensors.items()}
    content = {"format": FORMAT, "kind": model.kind, "model": to_dict(model.config), **(sections or {})}
    with write_directory(directory) as temporary:
        (temporary / CONFIG).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        try:
            save_file(stored, temporary / WEIGHTS)
        except SafetensorError as error:  # a full disk is reported so
            raise DataError(f"cannot be written: {error}", path=directory) from error
        tokenizer.save(temporary / TOKENIZER)
        if card is not None:
            (temporary / CARD).write_text(card, encoding="utf-8")


def open_model(directory: Path | str) -> StoredModel:
    """Look into a model directory; one that is missing or damaged is a ModelError."""
    path = Path(directory)
    if not path.is_dir():
        raise ModelError(f"{path}: no such model directory")
    missing = [name for name in (CONFIG, WEIGHTS, TOKENIZER) if not (path / name).is_file()]
    if missing:
        raise ModelError(f"{path}: not a model directory: {', '.join(missing)} missing")
    sections = read_config(path)
    config = sections.pop("model")
    return StoredModel(path, str(sections.pop("kind", FIRST_KIND)), config, sections)


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


def _stored(name: str, tensor: Tensor, half: bool) -> Tensor:
    tensor = tensor.detach().cpu().contiguous()
    if not half or not tensor.is_floating_point():
        return tensor
    short = tensor.half()
    if not short.isfinite().all():
        raise ModelError(f"{name} has values that 16 bits cannot hold: save it in full precision")
    return short
