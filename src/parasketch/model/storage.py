"""A model as a directory: config.json, model.safetensors, tokenizer.json and, where there is one, its README.md.

Nothing in it is a pickle, so loading a model can never run code. The directory appears whole or not at all, and one
that is damaged is refused with a message that says what is wrong with it. Which system it belongs to is the `kind` in
config.json, and the section `model` is the shape of its network; `parasketch.systems.kinds` knows who reads them.
Whatever else belongs to a model (how to generate with it, how it was trained) is another section.

A directory from anywhere may claim anything. What config.json says about sizes is compared with the header of the
weights before anything of that size is allocated, and the files with the hashes that were stored with them.
"""

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from parasketch.config import C, from_dict, to_dict
from parasketch.errors import ConfigError, DataError, ModelError
from parasketch.files import sha256, write_directory
from parasketch.text.tokenizer import Tokenizer

FORMAT = 1
CONFIG, WEIGHTS, TOKENIZER, CARD = "config.json", "model.safetensors", "tokenizer.json", "README.md"
HASHES = "sha256"
"""The section of config.json with the hashes of the other files; models that are older have none."""
FIRST_KIND = "hrqvae"
"""The kind of models that do not say theirs: they were written when there was one."""

_FLOATS = ("F16", "BF16", "F32", "F64")

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
    hashes: Sections
    """The hashes of the other files, by their names."""

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
        """All tensors, as they are on the disk; none of them has values that are no numbers."""
        path = self.path / WEIGHTS
        with _reading(path):
            weights = load_file(path)
        for name, tensor in weights.items():
            if tensor.is_floating_point() and not tensor.isfinite().all():
                raise ModelError(
                    f"{path}: damaged, or of a training that diverged: {name} has values that are no numbers"
                )
        self._check_hash(WEIGHTS)
        return weights

    def weights_hash(self) -> str:
        """The hash of the file of weights."""
        return sha256(self.path / WEIGHTS)

    def build(self, make: Callable[[], N], *, newer: tuple[str, ...] = ()) -> N:
        """The network that `make` makes, with its weights; it is not made unless they fit it.

        Random numbers that are drawn on the way are overwritten: nobody else's change by it.
        """
        with torch.random.fork_rng(devices=[]):
            with shapes_only():
                self._check_shapes(make(), newer)
            network = make()
        return self.fill(network, newer=newer)

    def fill(self, network: N, *, newer: tuple[str, ...] = ()) -> N:
        """Give a network all its weights, which have to be the ones it wants; in evaluation mode afterwards.

        Weights whose names end in one of `newer` may be missing in models that are older than they; they stay as is.
        """
        self._check_shapes(network, newer)
        own = {name: tensor for name, tensor in network.state_dict().items() if name.endswith(newer)}
        weights = self.read_weights()
        self._check_hash(TOKENIZER)
        network.load_state_dict(own | weights)  # copies into the network's own, full-precision tensors
        return network.eval()

    def _check_shapes(self, network: nn.Module, newer: tuple[str, ...]) -> None:
        """Compare the header of the weights, alone, with what the network wants."""
        path, wanted = self.path / WEIGHTS, network.state_dict()
        with _reading(path), safe_open(path, "pt") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118  # it is no mapping
            found = {name: (tuple(each.get_shape()), each.get_dtype()) for name, each in slices.items()}
        for name, tensor in wanted.items():
            if name not in found:
                if name.endswith(newer):
                    continue
                raise ModelError(f"{path}: does not fit {CONFIG}: no weights {name}")
            shape, kind = found[name]
            if shape != tuple(tensor.shape):
                raise ModelError(f"{path}: does not fit {CONFIG}: {name} is {shape}, expected {tuple(tensor.shape)}")
            if tensor.is_floating_point() and kind not in _FLOATS:
                raise ModelError(f"{path}: does not fit {CONFIG}: {name} is of type {kind}, expected a floating point")
        if unknown := sorted(set(found) - set(wanted)):
            raise ModelError(f"{path}: does not fit {CONFIG}: unknown weights {unknown[0]}")

    def _check_hash(self, name: str) -> None:
        if name in self.hashes and self.hashes[name] != sha256(self.path / name):
            raise ModelError(f"{self.path / name}: damaged, or not the file that {CONFIG} was written with")


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
        try:
            save_file(stored, temporary / WEIGHTS)
        except SafetensorError as error:  # a full disk is reported so
            raise DataError(f"cannot be written: {error}", path=directory) from error
        tokenizer.save(temporary / TOKENIZER)
        content[HASHES] = {name: sha256(temporary / name) for name in (WEIGHTS, TOKENIZER)}
        (temporary / CONFIG).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
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
    config, hashes = sections.pop("model"), sections.pop(HASHES, {})
    if not isinstance(hashes, dict):
        raise ModelError(f"{path / CONFIG}: {HASHES}: expected the hashes of files by their names")
    return StoredModel(path, str(sections.pop("kind", FIRST_KIND)), config, sections, hashes)


def read_config(directory: Path) -> Sections:
    """The sections of config.json, checked to be those of a model; without `format`."""
    path = directory / CONFIG
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: cannot be read: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        raise ModelError(f"{path}: not the configuration of a parasketch model (no section `model`)")
    if content.pop("format", None) != FORMAT:
        raise ModelError(f"{path}: written by another version (expected format {FORMAT})")
    return content


@contextlib.contextmanager
def shapes_only() -> Iterator[None]:
    """Networks that are made meanwhile have shapes but no memory, and nothing is drawn at random for them."""
    with torch.device("meta"), _Undrawn():
        yield


class _Undrawn(TorchFunctionMode):
    """Draws no random numbers: torch would import its compiler, two seconds' work, to fill tensors without memory."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        del types
        if getattr(func, "__name__", "") in ("normal_", "uniform_"):
            return args[0] if args else (kwargs or {})["tensor"]
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, SafetensorError) as error:
        raise ModelError(f"{path}: damaged, or not a file of weights: {error}") from error


def _stored(name: str, tensor: Tensor, half: bool) -> Tensor:
    tensor = tensor.detach().cpu().contiguous()
    if not half or not tensor.is_floating_point():
        return tensor
    short = tensor.half()
    if not short.isfinite().all():
        raise ModelError(f"{name} has values that 16 bits cannot hold: save it in full precision")
    return short
