"""A verifier as a directory: config.json, model.safetensors, tokenizer.json and its README.md.

Matrices are stored as 8-bit integers with one scale a row, a quarter of their size in memory; vectors stay as they are.
Loading gives full-precision weights again. Nothing in it is a pickle, and a directory that is damaged or of another
kind is refused with a message that says what is wrong with it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor

from parasketch.errors import ModelError
from parasketch.files import write_directory
from parasketch.model.cross_encoder import CrossEncoder
from parasketch.model.directory import CARD, CONFIG, FORMAT, TOKENIZER, WEIGHTS
from parasketch.model.storage import shapes_only
from parasketch.verify.description import KIND, Decision, describe_verifier
from parasketch.verify.inputs import EncodedPair, PairTokenizer, collate

_SCALE = ".scale"
_LARGEST = 127


@dataclass(frozen=True)
class LoadedVerifier:
    """What a verifier's directory holds."""

    model: CrossEncoder
    """In evaluation mode, on the CPU, in full precision."""
    tokenizer: PairTokenizer
    decision: Decision


def save_verifier(
    directory: Path | str,
    model: CrossEncoder,
    tokenizer: PairTokenizer,
    decision: Decision,
    *,
    sections: Mapping[str, Any] | None = None,
    card: str | None = None,
) -> None:
    """Write a verifier's directory; `sections` are further parts of config.json, such as how it was trained."""
    content = {"format": FORMAT, "kind": KIND, "model": asdict(model.config), "decision": asdict(decision)}
    with write_directory(directory) as temporary:
        text = json.dumps({**content, **(sections or {})}, indent=1)
        (temporary / CONFIG).write_text(text + "\n", encoding="utf-8")
        save_file(quantise(model.state_dict()), temporary / WEIGHTS)
        tokenizer.save(temporary / TOKENIZER)
        if card is not None:
            (temporary / CARD).write_text(card, encoding="utf-8")


def load_verifier(directory: Path | str) -> LoadedVerifier:
    """Read a verifier's directory; one that is missing, damaged or of another kind is a ModelError."""
    described = describe_verifier(directory)
    path, config = described.path, described.config
    with shapes_only():
        model = CrossEncoder(config)
    try:
        weights = dequantise(load_file(path / WEIGHTS))
        model.load_state_dict(weights, assign=True)
    except (OSError, KeyError, RuntimeError, safetensors.SafetensorError) as error:
        raise ModelError(f"{path / WEIGHTS}: damaged, or does not fit {CONFIG}: {error}") from error
    return LoadedVerifier(model.eval().requires_grad_(False), described.tokenizer, described.decision)


class TorchScorer:
    """Scores batches of pairs with a network in memory."""

    def __init__(self, model: CrossEncoder) -> None:
        self._model = model

    @torch.inference_mode()
    def __call__(self, pairs: Sequence[EncodedPair], /) -> NDArray[np.float32]:
        self._model.eval()
        batch = collate(pairs)
        logits: NDArray[np.float32] = self._model(batch.tokens, batch.segments, batch.matches, batch.mask).numpy()
        return logits


def quantise(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Every matrix as 8-bit integers (rows, columns) and scales (rows,); vectors unchanged."""
    stored: dict[str, Tensor] = {}
    for name, weight in weights.items():
        weight = weight.detach().float().contiguous()
        if weight.dim() != 2:
            stored[name] = weight
            continue
        scale = (weight.abs().amax(dim=1) / _LARGEST).clamp(min=torch.finfo(torch.float32).tiny)
        stored[name] = (weight / scale[:, None]).round().to(torch.int8)
        stored[name + _SCALE] = scale
    return stored


def dequantise(stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The matrices in full precision; each value is off by half a scale of its row at most."""
    return {
        name: tensor.float() * stored[name + _SCALE][:, None] if tensor.dtype == torch.int8 else tensor
        for name, tensor in stored.items()
        if not name.endswith(_SCALE)
    }
