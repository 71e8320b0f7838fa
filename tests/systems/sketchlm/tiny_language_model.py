"""A language model of a few thousand weights with the architecture of the real one, for tests."""

import torch

from parasketch.model.language_model import LanguageModelShape
from parasketch.systems.sketchlm.config import SketchLMShape
from parasketch.systems.sketchlm.network import SketchLM

SHAPE = LanguageModelShape(vocabulary=60, width=24, layers=2, heads=4, kv_heads=2, ff=32)


def tiny_network(*, seed: int = 0, rank: int = 4, levels: int = 3, codes: int = 4) -> SketchLM:
    """A network with random weights, the frozen ones among them, and adapters that do something."""
    generator = torch.Generator().manual_seed(seed)
    network = SketchLM(SketchLMShape(base=SHAPE, rank=rank, levels=levels, codes=codes))
    with torch.no_grad():
        for name, tensor in [*network.named_buffers(), *network.named_parameters()]:
            if "norm" not in name:
                tensor.copy_(torch.randn(tensor.shape, generator=generator) * 0.3)
    return network
