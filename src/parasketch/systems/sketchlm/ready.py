"""A model of this kind made ready for generation: adapters merged, matrices in 8 bits, graphs that read them.

That takes some seconds, so the result is kept in the user's cache, under the hash of the model and of its base; from
then on a start computes nothing.
"""

import contextlib
import tempfile
from pathlib import Path

from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from parasketch.errors import DataError, ModelError
from parasketch.files import cache_directory, sha256, write_directory
from parasketch.light.language_model_graph import write_body, write_head
from parasketch.light.stored import mapped
from parasketch.model.directory import TOKENIZER, WEIGHTS, ModelDirectory
from parasketch.systems.sketchlm.base import base_tokenizer, origin, read_base
from parasketch.systems.sketchlm.config import SketchLMShape
from parasketch.systems.sketchlm.ids import SketchIds
from parasketch.systems.sketchlm.merging import Arrays, base_shapes, check_shapes, merged, sample_ids
from parasketch.systems.sketchlm.model import READY, SketchModel
from parasketch.systems.sketchlm.place import WEIGHTS as BASE_WEIGHTS
from parasketch.systems.sketchlm.place import base_directory

_FORMAT = 3
"""Of what is kept: another one is another directory."""


def ready_model(stored: ModelDirectory) -> SketchModel:
    """The model of a directory on the base of this machine, from the cache if it is there."""
    weights_hash = str(stored.hashes.get(WEIGHTS) or sha256(stored.path / WEIGHTS))
    directory = cache_directory() / f"ready-{_FORMAT}-{weights_hash[:16]}-{origin()[:16]}"
    shape = stored.read_config(SketchLMShape)
    if directory.is_dir():
        with contextlib.suppress(OSError, KeyError, ValueError, SafetensorError, ModelError):  # then it is made again
            return _load(directory, shape)
    arrays = _merged(stored, shape)
    try:
        with write_directory(directory) as temporary:
            write_ready(temporary, arrays, shape)
    except (OSError, DataError):  # a cache that cannot be written is done without
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            write_ready(Path(folder), arrays, shape)
            return _load(Path(folder), shape)
    return _load(directory, shape)


def write_ready(directory: Path, arrays: Arrays, shape: SketchLMShape) -> None:
    """Write the weights and the graphs of a model."""
    save_file(arrays, directory / READY)
    write_body(directory / READY, shape.base)
    write_head(directory / READY, shape.base)


def _load(directory: Path, shape: SketchLMShape) -> SketchModel:
    return SketchModel(directory, shape, mapped(base_directory() / BASE_WEIGHTS, "embedding"))


def _merged(stored: ModelDirectory, shape: SketchLMShape) -> Arrays:
    path = stored.path / WEIGHTS
    try:
        trained = load_file(path)
    except (OSError, ValueError, SafetensorError) as error:
        raise ModelError(f"{path}: damaged, or not a file of weights: {error}") from error
    check_shapes(shape, trained, str(path))
    for name in (WEIGHTS, TOKENIZER):
        stored.check_hash(name)
    base = read_base(base_shapes(shape))
    ids = SketchIds(shape.base.vocabulary, shape.levels, shape.codes)
    return merged(shape, trained, base, sample_ids(base_tokenizer(), ids))
