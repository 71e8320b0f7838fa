"""The language model for generation: its adapters merged, its matrices in 8 bits.

A quarter of the memory of the model it is made from and several times its speed. The very first token of a row is
never read here: its inner values are so large that 8 bits would lose all others, and every row begins with the same
one, so its keys and values come from the model in full precision and are stored.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from parasketch.model.int8 import Bytes, Int8Linear
from parasketch.model.language_model import AdaptedLinear, Block, LanguageModel, LanguageModelShape, Norm, rotation_of


class Int8Block(nn.Module):
    """Attention and a gated feed-forward layer, whose norms are part of the maps after them."""

    def __init__(self, qkv: Bytes, out: Bytes, gate_up: Bytes, down: Bytes, *, norm_eps: float) -> None:
        super().__init__()
        self._qkv = Int8Linear(qkv, norm_eps=norm_eps)
        self._out = Int8Linear(out)
        self._gate_up = Int8Linear(gate_up, norm_eps=norm_eps)
        self._down = Int8Linear(down)

    def project(self, x: Tensor) -> Tensor:
        """Queries, keys and values of states (..., width), side by side."""
        result: Tensor = self._qkv(x)
        return result

    def finish(self, x: Tensor, attended: Tensor) -> Tensor:
        """Add what was attended to, then the feed-forward layer, to states, all (..., width)."""
        x = x + self._out(attended)
        gate, up = self._gate_up(x).chunk(2, dim=-1)
        result: Tensor = x + self._down(F.silu(gate) * up)
        return result


class Int8LanguageModel(nn.Module):
    """What `LanguageModel` is once it was trained."""

    def __init__(self, shape: LanguageModelShape, tensors: Mapping[str, Tensor], embedding: Tensor) -> None:
        """`tensors` are those that `quantised` made; `embedding` (vocabulary, width) is the base's."""
        super().__init__()
        self.shape, self.embedding = shape, embedding
        self.first_keys = list(tensors["first_keys"])
        self.first_values = list(tensors["first_values"])

        def matrix(name: str) -> Bytes:
            return Bytes(tensors[f"{name}.values"], tensors[f"{name}.scales"])

        self.blocks = nn.ModuleList(
            Int8Block(
                *(matrix(f"{layer}.{part}") for part in ("qkv", "out", "gate_up", "down")), norm_eps=shape.norm_eps
            )
            for layer in range(shape.layers)
        )
        self.norm = Norm(shape.width, shape.norm_eps)
        self.norm.weight.copy_(tensors["norm"])
        self._output = Int8Linear(matrix("output"))

    def logits(self, states: Tensor) -> Tensor:
        """Of the next token, (..., vocabulary), given states (..., width)."""
        result: Tensor = self._output(states)
        return result

    def rotation(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines of positions (...), each (..., d)."""
        return rotation_of(self.shape, positions)


@torch.no_grad()
def quantised(model: LanguageModel) -> dict[str, Tensor]:
    """A model whose adapters were merged in 8 bits, with the gains of its norms put into the matrices."""
    tensors = {
        "norm": model.norm.weight,
        "first_keys": torch.stack(model.first_keys),
        "first_values": torch.stack(model.first_values),
    }

    def add(name: str, weight: Tensor) -> None:
        matrix = Bytes.of(weight)
        tensors[f"{name}.values"], tensors[f"{name}.scales"] = matrix.values, matrix.scales

    for layer, block in enumerate(model.blocks):
        assert isinstance(block, Block)
        gains = {"qkv": block.attention_norm.weight, "gate_up": block.ff_norm.weight}
        for part in ("qkv", "out", "gate_up", "down"):
            linear = getattr(block, part)
            assert isinstance(linear, AdaptedLinear)
            add(f"{layer}.{part}", linear.weight * gains[part] if part in gains else linear.weight)
    add("output", model.embedding)
    return tensors
