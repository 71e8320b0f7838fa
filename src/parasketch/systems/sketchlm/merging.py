"""From what was trained and its base to what generation reads: adapters merged, matrices in 8 bits, all in NumPy.

The very first token of a row is never read in 8 bits: its inner values are so large that all others would be lost, and
every row begins with the same one. So its keys and values are computed here, in full precision, and stored.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parasketch.errors import ModelError
from parasketch.systems.sketchlm.config import SketchLMShape
from parasketch.systems.sketchlm.form import HASHES
from parasketch.systems.sketchlm.ids import START, SketchIds

Floats = NDArray[np.float32]
Arrays = dict[str, NDArray[Any]]

PARTS = ("qkv", "out", "gate_up", "down")
"""The matrices of a layer."""
OWN = ("code_embedding", "form_embedding", "code_output", "grade_output", "form.projection", "form.quantizer.codebooks")
"""What a model has besides its language model."""
_GAINS = {"qkv": "attention_norm", "gate_up": "ff_norm"}
_LARGEST = 127


def merged(shape: SketchLMShape, trained: Mapping[str, NDArray[Any]], base: Mapping[str, NDArray[Any]]) -> Arrays:
    """The tensors of the graphs and of all that stands around them."""
    layers = _Layers(shape, trained, base)
    first = base["embedding"][START].astype(np.float32)
    keys, values = [], []
    arrays: Arrays = {name: trained[name].astype(np.float32) for name in OWN if name in trained}
    arrays.setdefault("grade_output", np.zeros((2, shape.base.width + 1), dtype=np.float32))  # of models older than it
    for layer in range(shape.base.layers):
        matrices = {part: layers.matrix(layer, part) for part in PARTS}
        first, key, value = _read_first(first, matrices, shape)
        keys.append(key)
        values.append(value)
        for part, matrix in matrices.items():
            arrays |= in_bytes(f"{layer}.{part}", matrix)
    arrays |= in_bytes("output", base["embedding"].astype(np.float32))
    arrays |= {"norm": base["norm.weight"].astype(np.float32), "first": np.stack([keys, values])}
    return arrays


def in_bytes(name: str, matrix: Floats) -> Arrays:
    """A matrix (outputs, inputs) as it is stored: 8 bits (inputs, outputs), and the scale (outputs,) of each output."""
    scales = np.maximum(np.abs(matrix).max(axis=1) / _LARGEST, 1e-12)
    values = np.round(matrix / scales[:, None]).astype(np.int8)
    return {f"{name}.values": np.ascontiguousarray(values.T), f"{name}.scales": scales}


def check_shapes(shape: SketchLMShape, trained: Mapping[str, NDArray[Any]], where: str) -> None:
    """Refuse weights that do not fit what config.json says of them."""
    width, ids = shape.base.width, SketchIds(shape.base.vocabulary, shape.levels, shape.codes)
    wanted: dict[str, tuple[int, ...]] = {
        "code_embedding": (ids.count, width),
        "form_embedding": (ids.count, width),
        "code_output": (shape.levels, shape.codes, width),
        "form.projection": (HASHES, shape.form_width),
        "form.quantizer.codebooks": (shape.levels, shape.codes, shape.form_width),
    }
    for name, (outputs, inputs) in matrix_shapes(shape).items():
        wanted[f"language_model.{name}.down"] = (shape.rank, inputs)
        wanted[f"language_model.{name}.up"] = (outputs, shape.rank)
    if "grade_output" in trained:
        wanted["grade_output"] = (2, width + 1)
    for name, expected in wanted.items():
        if name not in trained:
            raise ModelError(f"{where}: does not fit config.json: no weights {name}")
        if trained[name].shape != expected:
            raise ModelError(f"{where}: does not fit config.json: {name} is {trained[name].shape}, expected {expected}")
        if not np.isfinite(trained[name]).all():
            raise ModelError(f"{where}: damaged, or of a training that diverged: {name} has values that are no numbers")


def base_shapes(shape: SketchLMShape) -> dict[str, tuple[int, ...]]:
    """What the base has to have."""
    width = shape.base.width
    norms = [f"blocks.{layer}.{name}.weight" for layer in range(shape.base.layers) for name in _GAINS.values()]
    return {
        "embedding": (shape.base.vocabulary, width),
        **dict.fromkeys(["norm.weight", *norms], (width,)),
        **{f"{name}.weight": sizes for name, sizes in matrix_shapes(shape).items()},
    }


def matrix_shapes(shape: SketchLMShape) -> dict[str, tuple[int, int]]:
    """The sizes (outputs, inputs) of all matrices of the layers."""
    base = shape.base
    qkv = base.width + 2 * base.kv_heads * base.head_width
    sizes = [(qkv, base.width), (base.width, base.width), (2 * base.ff, base.width), (base.width, base.ff)]
    return {
        f"blocks.{layer}.{part}": size for layer in range(base.layers) for part, size in zip(PARTS, sizes, strict=True)
    }


class _Layers:
    def __init__(self, shape: SketchLMShape, trained: Mapping[str, Any], base: Mapping[str, Any]) -> None:
        self._scale, self._trained, self._base = np.float32(shape.scale), trained, base

    def matrix(self, layer: int, part: str) -> Floats:
        """A matrix (outputs, inputs) with its adapter, and with the gain of the norm before it."""
        name = f"blocks.{layer}.{part}"
        down, up = (self._trained[f"language_model.{name}.{way}"].astype(np.float32) for way in ("down", "up"))
        matrix: Floats = self._base[f"{name}.weight"].astype(np.float32) + self._scale * (up @ down)
        if part in _GAINS:
            matrix *= self._base[f"blocks.{layer}.{_GAINS[part]}.weight"].astype(np.float32)
        return matrix


def _read_first(x: Floats, matrices: Mapping[str, Floats], shape: SketchLMShape) -> tuple[Floats, Floats, Floats]:
    """The state (width,) of the first token after a layer, and its keys and values (kv_heads, 1, d).

    It sees itself alone, so what it attends to are its own values; and the first place is not turned.
    """
    base = shape.base
    kv = base.kv_heads * base.head_width
    _, key, value = np.split(matrices["qkv"] @ _normed(x, base.norm_eps), [base.width, base.width + kv])
    key, value = (each.reshape(base.kv_heads, 1, base.head_width) for each in (key, value))
    attended = np.repeat(value, base.heads // base.kv_heads, axis=0).ravel()
    x = x + matrices["out"] @ attended
    gate, up = np.split(matrices["gate_up"] @ _normed(x, base.norm_eps), 2)
    with np.errstate(over="ignore"):  # of a large negative gate nothing is left
        x = x + matrices["down"] @ (gate / (1 + np.exp(-gate)) * up)
    return x, key, value


def _normed(x: Floats, eps: float) -> Floats:
    result: Floats = x / np.sqrt(np.square(x).mean() + np.float32(eps))
    return result
