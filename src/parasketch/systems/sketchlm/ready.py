"""A model of the language-model kind made ready for generation: adapters merged, 8 bits where the CPU multiplies bytes.

That takes some seconds, so the result is kept in the user's cache, under the hash of the model and of its base;
from then on a start reads 140 MB and computes nothing.
"""

import contextlib

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from parasketch.files import cache_directory, write_directory
from parasketch.model.int8 import is_supported
from parasketch.model.int8_language_model import Int8LanguageModel, quantised
from parasketch.model.storage import StoredModel, shapes_only
from parasketch.systems.sketchlm.base import BaseTokenizer, base_embedding, base_tokenizer, origin
from parasketch.systems.sketchlm.config import SketchLMShape
from parasketch.systems.sketchlm.network import START, SketchLM

_FILE = "merged.safetensors"


def ready_network(stored: StoredModel) -> tuple[SketchLM, BaseTokenizer]:
    """The network of a model directory on the base of this machine, and its tokeniser."""
    if not is_supported():
        network, tokenizer = SketchLM.load(stored)
        network.trained().merge(START)
        return network, tokenizer
    shape = stored.read_config(SketchLMShape)
    model = Int8LanguageModel(shape.base, _tensors(stored), base_embedding())
    with shapes_only():
        network = SketchLM(shape, model)
    weights = stored.read_weights().items()
    own = {name: value.float() for name, value in weights if not name.startswith("language_model.")}
    own.setdefault("grade_output", torch.zeros(network.grade_output.shape))  # of models older than it
    network.load_state_dict(own, assign=True)
    return network.eval(), base_tokenizer()


def _tensors(stored: StoredModel) -> dict[str, Tensor]:
    """The merged model in 8 bits, from the cache if it is there; a cache that cannot be written is done without."""
    directory = cache_directory() / f"merged-{stored.weights_hash()[:16]}-{origin()[:16]}"
    with contextlib.suppress(OSError, SafetensorError):
        return load_file(directory / _FILE)
    network, _ = SketchLM.load(stored)
    model = network.trained()
    model.merge(START)
    tensors = quantised(model)
    with contextlib.suppress(OSError), write_directory(directory) as temporary:
        save_file(tensors, temporary / _FILE)
    return tensors
