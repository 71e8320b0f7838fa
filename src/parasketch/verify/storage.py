"""A verifier as a directory: config.json, model.safetensors, tokenizer.json and its README.md.

Matrices are stored as 8-bit integers with one scale a row, a quarter of their size in memory; vectors stay as they are.
Loading gives full-precision weights again. Nothing in it is a pickle, and a directory that is damaged or of another
kind is refused with a message that says what is wrong with it.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import safetensors
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from parasketch.config import from_dict
from parasketch.errors import ConfigError, ModelError
from parasketch.files import write_directory
from parasketch.model.cross_encoder import CrossEncoder, CrossEncoderConfig
from parasketch.model.storage import CARD, CONFIG, FORMAT, TOKENIZER, WEIGHTS, shapes_only
from parasketch.verify.inputs import PairTokenizer

KIND = "verifier"
_SCALE = ".scale"
_LARGEST = 127


@dataclass(frozen=True, kw_only=True)
class Decision:
    """How logits become probabilities, and from which probability on a pair is accepted; both fitted on dev pairs."""

    temperature: float = 1.0
    threshold: float = 0.5
    both_directions: bool = False
    """Whether (A, B) and (B, A) are averaged, which takes twice the time."""


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
    path = Path(directory)
    missing = [name for name in (CONFIG, WEIGHTS, TOKENIZER) if not (path / name).is_file()]
    if missing:
        raise ModelError(f"{path}: not the directory of a verifier: {', '.join(missing)} missing")
    content = _read_config(path / CONFIG)
    try:
        config = from_dict(CrossEncoderConfig, content.get("model", {}), "model.")
        decision = from_dict(Decision, content.get("decision", {}), "decision.")
    except ConfigError as error:
        raise ModelError(f"{path / CONFIG}: {error}") from error
    tokenizer = PairTokenizer(path / TOKENIZER, max_length=config.max_length)
    if tokenizer.vocab_size != config.vocab_size:
        raise ModelError(
            f"{path}: {TOKENIZER} has {tokenizer.vocab_size} entries and {CONFIG} says {config.vocab_size}: "
            "they do not belong together"
        )
    with shapes_only():
        model = CrossEncoder(config)
    try:
        weights = dequantise(load_file(path / WEIGHTS))
        model.load_state_dict(weights, assign=True)
    except (OSError, KeyError, RuntimeError, safetensors.SafetensorError) as error:
        raise ModelError(f"{path / WEIGHTS}: damaged, or does not fit {CONFIG}: {error}") from error
    return LoadedVerifier(model.eval().requires_grad_(False), tokenizer, decision)


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


def _read_config(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: cannot be read: {error}") from error
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise ModelError(f"{path}: not the configuration of a verifier (expected kind {KIND!r})")
    if content.get("format") != FORMAT:
        raise ModelError(f"{path}: written by another version (expected format {FORMAT})")
    return content
