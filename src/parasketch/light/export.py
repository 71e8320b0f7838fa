"""`parasketch export`: a model directory that runs without torch, and in any other ONNX runtime.

The weights are copied as they are, or, for the 8-bit variant, every matrix becomes integers with one scale a row; the
graphs beside them point into that file.
"""

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from parasketch.config import from_dict
from parasketch.errors import ConfigError, ModelError, UsageError
from parasketch.files import sha256, write_directory
from parasketch.light.graphs import OPSET
from parasketch.light.hrqvae_graphs import write_graphs
from parasketch.light.names import GRAPHS, VERIFIER
from parasketch.light.verifier_graph import write_verifier
from parasketch.model.cross_encoder_config import CrossEncoderConfig
from parasketch.model.directory import CONFIG, FIRST_KIND, HASHES, TOKENIZER, WEIGHTS, Sections, read_config
from parasketch.systems.hrqvae.config import KIND, ModelConfig
from parasketch.verify.description import KIND as VERIFIER_KIND

_LARGEST = 127


def export_model(source: Path, out: Path | str, *, int8: bool = False) -> list[str]:
    """Write the model of a directory with its graphs to another one; returns the names of the graphs."""
    sections = read_config(source)
    kind = sections.get("kind", FIRST_KIND)
    if kind not in (KIND, VERIFIER_KIND):
        raise UsageError(
            f"{source}: a model of the kind {kind} cannot be exported (expected {KIND} or {VERIFIER_KIND})"
        )
    with write_directory(out) as temporary:
        for path in source.iterdir():  # the tokenizer, the card, and whatever else belongs to the model
            if path.is_file() and path.name not in (CONFIG, WEIGHTS) and path.suffix != ".onnx":
                (temporary / path.name).write_bytes(path.read_bytes())
        if int8:
            _write_int8(source / WEIGHTS, temporary / WEIGHTS)
        else:
            (temporary / WEIGHTS).write_bytes((source / WEIGHTS).read_bytes())
        names = write_all_graphs(temporary, kind, sections, int8=int8)
        content = json.loads((source / CONFIG).read_text(encoding="utf-8"))
        content["onnx"] = {"opset": OPSET, "int8": int8}
        content[HASHES] = {name: sha256(temporary / name) for name in (WEIGHTS, TOKENIZER, *names)}
        (temporary / CONFIG).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return names


def write_all_graphs(directory: Path, kind: str, sections: Sections, *, int8: bool) -> list[str]:
    """Write the graphs of a model beside its weights; returns their names."""
    try:
        if kind == VERIFIER_KIND:
            shape = from_dict(CrossEncoderConfig, sections["model"], "model.")
            write_verifier(directory, directory / WEIGHTS, shape, int8=int8)
            return [VERIFIER]
        config = from_dict(ModelConfig, sections["model"], "model.")
        write_graphs(directory, directory / WEIGHTS, config, int8=int8)
    except ConfigError as error:
        raise ModelError(f"{directory / CONFIG}: {error}") from error
    except KeyError as error:
        raise ModelError(f"{directory / WEIGHTS}: does not fit {CONFIG}: no weights {error.args[0]}") from error
    return list(GRAPHS)


def _write_int8(source: Path, path: Path) -> None:
    stored: dict[str, NDArray[np.generic]] = {}
    for name, weight in load_file(source).items():
        if weight.ndim != 2 or weight.dtype.kind != "f":
            stored[name] = weight
            continue
        wide = weight.astype(np.float32)
        scale = np.maximum(np.abs(wide).max(axis=1) / _LARGEST, np.finfo(np.float32).tiny)
        stored[name] = np.round(wide / scale[:, None]).astype(np.int8)
        stored[f"{name}.scale"] = scale.astype(np.float32)
    save_file(stored, path)
