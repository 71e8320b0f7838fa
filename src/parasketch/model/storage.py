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
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from parasketch.config import to_dict
from parasketch.errors import DataError, ModelError
from parasketch.files import sha256, write_directory
from parasketch.model.directory import (
    CARD,
    CONFIG,
    FORMAT,
    HASHES,
    TOKENIZER,
    WEIGHTS,
    ModelDirectory,
    open_directory,
)

_FLOATS = ("F16", "BF16", "F32", "F64")


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


class StoredModel(ModelDirectory):
    """A model directory whose weights can be read into a network."""

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
        self.check_hash(WEIGHTS)
        return weights

    def weights_hash(self) -> str:
        """The hash of the file of weights, as written beside it; whoever reads the weights finds out if it is wrong."""
        return str(self.hashes.get(WEIGHTS) or sha256(self.path / WEIGHTS))

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
        self.check_hash(TOKENIZER)
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
    return open_directory(directory, StoredModel)


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
