"""A language model of a few thousand weights with the architecture of the real one, its tokeniser, and pairs for it."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from parasketch.model.language_model import LanguageModel
from parasketch.model.language_model_shape import LanguageModelShape
from parasketch.systems.sketchlm.config import SketchLMShape
from parasketch.systems.sketchlm.ids import START
from parasketch.systems.sketchlm.merging import in_bytes, merged
from parasketch.systems.sketchlm.model import SketchModel
from parasketch.systems.sketchlm.network import SketchLM
from parasketch.systems.sketchlm.ready import write_ready

VOCABULARY = 300
SHAPE = LanguageModelShape(vocabulary=VOCABULARY, width=24, layers=2, heads=4, kv_heads=2, ff=32)

NAMES = ["Anna", "Ben", "Clara", "David"]
THINGS = ["the book", "a letter", "the old bike", "some bread"]
PAIRS = [
    pair
    for name in NAMES
    for thing in THINGS
    for pair in (
        (f"{name} bought {thing}.", f"{thing.capitalize()} was bought by {name}."),
        (f"Did {name} buy {thing}?", f"Was {thing} bought by {name}?"),
    )
]


def fill(network: torch.nn.Module, seed: int = 0) -> None:
    """Random weights, frozen ones among them, that are the same every time."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in [*network.named_buffers(), *network.named_parameters()]:
            if not any(part in name for part in ("norm", "form", "grade")):
                tensor.copy_(torch.randn(tensor.shape, generator=generator) * 0.3)


def tiny_network(*, seed: int = 0, levels: int = 3, codes: int = 4) -> SketchLM:
    """A network whose adapters do something."""
    network = SketchLM(SketchLMShape(base=SHAPE, rank=4, form_width=4, levels=levels, codes=codes))
    fill(network, seed)
    return network


def ready(network: SketchLM, *, exact: bool = True) -> SketchModel:
    """A network ready for generation, with its matrices in full precision or in 8 bits."""
    trained = {name: value.numpy() for name, value in network.state_dict().items()}
    base = {name: value.numpy() for name, value in network.language_model.named_buffers()}
    vocabulary, codes = network.ids.vocabulary, network.ids.count
    samples = [[START, *range(start, vocabulary + codes, 29)] for start in (3, 8, 17)]
    arrays = merged(network.config, trained, base, samples, _whole if exact else in_bytes)
    with tempfile.TemporaryDirectory() as folder:
        write_ready(Path(folder), arrays, network.config)
        return SketchModel(Path(folder), network.config, base["embedding"])


def _whole(name: str, matrix: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
    """A matrix (outputs, inputs) as it is stored in full precision."""
    return {f"{name}.values": np.ascontiguousarray(matrix.T)}


def tiny_tokenizer() -> Tokenizer:
    """A byte-level BPE with the special tokens of the real one in front."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([text for pair in PAIRS for text in pair], trainer)
    return tokenizer


def install_tiny_base(cache: Path) -> None:
    """What `parasketch get everyday` leaves behind, for a tiny base."""
    directory = cache / "smollm2-135m"
    directory.mkdir(parents=True)
    base = LanguageModel(SHAPE, rank=0)
    fill(base, seed=7)
    save_file({name: buffer.half() for name, buffer in base.named_buffers()}, directory / "base.safetensors")
    tiny_tokenizer().save(str(directory / "tokenizer.json"))
    (directory / "origin.json").write_text("{}", encoding="utf-8")


def write_pairs(path: Path, pairs: Sequence[tuple[str, str]] = PAIRS) -> Path:
    """Pairs as training reads them."""
    rows = [json.dumps({"source": source, "target": target}) for source, target in pairs]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path
