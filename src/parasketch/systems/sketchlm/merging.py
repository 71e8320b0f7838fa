"""From what was trained and its base to what generation reads: adapters merged, matrices in 8 bits, all in NumPy.

The very first token of a row is never read in 8 bits: its inner values are so large that all others would be lost, and
every row begins with the same one. So its keys and values, computed in full precision, are stored.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parasketch.errors import ModelError
from parasketch.systems.sketchlm.base import BaseTokenizer
from parasketch.systems.sketchlm.calibration import PAIRS, Reading, divisors
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


def merged(
    shape: SketchLMShape,
    trained: Mapping[str, NDArray[Any]],
    base: Mapping[str, NDArray[Any]],
    samples: Sequence[Sequence[int]],
    store: Callable[[str, Floats], Arrays] | None = None,
) -> Arrays:
    """The tensors of the graphs and of all that stands around them.

    `samples` are rows of ids such as those in use. `store` says how a matrix (outputs, inputs) is stored under its
    name: in 8 bits, if it does not say otherwise.
    """
    store = store or in_bytes
    ids = SketchIds(shape.base.vocabulary, shape.levels, shape.codes)
    rows = [ids.vectors(np.array(sample), base["embedding"], trained["code_embedding"]) for sample in samples]
    reading = Reading(shape.base, rows)
    arrays: Arrays = {name: trained[name].astype(np.float32) for name in OWN if name in trained}
    arrays.setdefault("grade_output", np.zeros((2, shape.base.width + 1), dtype=np.float32))  # of models older than it
    firsts = []
    for layer in range(shape.base.layers):
        matrices = {part: _matrix(shape, trained, base, layer, part) for part in PARTS}
        first, inputs = reading.layer(matrices)
        firsts.append(first)
        for part in _GAINS:
            by = divisors(inputs[part], matrices[part])
            matrices[part] = matrices[part] * by
            arrays[f"{layer}.{part}.gain"] = 1 / by
        by = divisors(inputs["down"], matrices["down"])
        matrices["down"] = matrices["down"] * by
        matrices["gate_up"][shape.base.ff :] /= by[:, None]
        for part, matrix in matrices.items():
            arrays |= store(f"{layer}.{part}", matrix)
    arrays |= store("output", base["embedding"].astype(np.float32))
    arrays |= {"norm": base["norm.weight"].astype(np.float32), "first": np.stack(firsts, axis=1)}
    return arrays


def sample_ids(tokenizer: BaseTokenizer, ids: SketchIds) -> list[list[int]]:
    """Rows of ids such as those that are read in use."""
    rows = []
    for number, pair in enumerate(PAIRS):
        source, target = tokenizer.encode_batch(pair)
        codes = ids.of((number % ids.codes,) * (number % (ids.levels + 1)))
        rows.append([START, *source, ids.sketch, *codes, *target])
    return rows


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


def _matrix(shape: SketchLMShape, trained: Mapping[str, Any], base: Mapping[str, Any], layer: int, part: str) -> Floats:
    """A matrix (outputs, inputs) with its adapter, and with the gain of the norm before it."""
    name = f"blocks.{layer}.{part}"
    down, up = (trained[f"language_model.{name}.{way}"].astype(np.float32) for way in ("down", "up"))
    matrix: Floats = base[f"{name}.weight"].astype(np.float32) + np.float32(shape.scale) * (up @ down)
    if part in _GAINS:
        matrix *= base[f"blocks.{layer}.{_GAINS[part]}.weight"].astype(np.float32)
    return matrix
