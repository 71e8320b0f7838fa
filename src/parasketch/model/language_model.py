"""A pretrained causal language model of Llama's architecture with low-rank adapters: it knows English already.

The weights of the base stay as they are; training changes only the adapters, so a trained model is a few megabytes
beside its base. Queries, keys and values are one matrix here, and so are the two inner ones of the feed-forward layer:
an adapter then has one side path where four would cost more time than the matrices they stand beside.
"""

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from parasketch.model.language_model_shape import LanguageModelShape


class AdaptedLinear(nn.Module):
    """A frozen matrix W and, beside it, a trained one of low rank: y = x Wᵀ + scale · (x Aᵀ) Bᵀ."""

    weight: Tensor

    def __init__(self, inputs: int, outputs: int, *, rank: int, scale: float) -> None:
        super().__init__()
        self.register_buffer("weight", torch.empty(outputs, inputs), persistent=False)
        self.scale = scale
        self.down = nn.Parameter(torch.empty(rank, inputs).normal_(std=1 / math.sqrt(inputs)))
        self.up = nn.Parameter(torch.zeros(outputs, rank))

    def forward(self, x: Tensor) -> Tensor:
        result = F.linear(x, self.weight)
        if self.up.shape[1] == 0:
            return result
        return result + F.linear(F.linear(x, self.down), self.scale * self.up)

    @torch.no_grad()
    def merge(self) -> None:
        """Add the adapter to the matrix, for generation without side paths; there is no way back."""
        self.weight += self.scale * (self.up @ self.down)
        self.down, self.up = nn.Parameter(self.down[:0]), nn.Parameter(self.up[:, :0])


class Norm(nn.Module):
    """Root-mean-square normalisation with a frozen gain."""

    weight: Tensor

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.register_buffer("weight", torch.ones(width), persistent=False)
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), self.weight, self.eps)


class Block(nn.Module):
    """Attention and a gated feed-forward layer, each normalised before and added after."""

    def __init__(self, shape: LanguageModelShape, *, rank: int, scale: float) -> None:
        super().__init__()
        self.shape = shape
        kv_width = shape.kv_heads * shape.head_width
        self.attention_norm = Norm(shape.width, shape.norm_eps)
        self.qkv = AdaptedLinear(shape.width, shape.width + 2 * kv_width, rank=rank, scale=scale)
        self.out = AdaptedLinear(shape.width, shape.width, rank=rank, scale=scale)
        self.ff_norm = Norm(shape.width, shape.norm_eps)
        self.gate_up = AdaptedLinear(shape.width, 2 * shape.ff, rank=rank, scale=scale)
        self.down = AdaptedLinear(shape.ff, shape.width, rank=rank, scale=scale)

    def project(self, x: Tensor) -> Tensor:
        """Queries, keys and values of states (..., width), side by side."""
        result: Tensor = self.qkv(self.attention_norm(x))
        return result

    def finish(self, x: Tensor, attended: Tensor) -> Tensor:
        """Add what was attended to, then the feed-forward layer, to states, all (..., width)."""
        x = x + self.out(attended)
        gate, up = self.gate_up(self.ff_norm(x)).chunk(2, dim=-1)
        result: Tensor = x + self.down(F.silu(gate) * up)
        return result

    def forward(
        self, x: Tensor, rotation: tuple[Tensor, Tensor], mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """States (B, T, width) after this block, with its keys and values.

        Each token sees itself and its left, or what `mask` (B, 1, T, T) lets it see.
        """
        q, k, v = heads_of(self.project(x), self.shape, rotation)
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None, enable_gqa=True)
        return self.finish(x, attended.transpose(1, 2).flatten(2)), k, v


class LanguageModel(nn.Module):
    """Embeddings, blocks and the tied output layer."""

    embedding: Tensor

    def __init__(self, shape: LanguageModelShape, *, rank: int, scale: float = 2.0) -> None:
        super().__init__()
        self.shape = shape
        self.register_buffer("embedding", torch.empty(shape.vocabulary, shape.width), persistent=False)
        self.blocks = nn.ModuleList(Block(shape, rank=rank, scale=scale) for _ in range(shape.layers))
        self.norm = Norm(shape.width, shape.norm_eps)
        self.first_keys: list[Tensor] = []
        self.first_values: list[Tensor] = []

    def logits(self, states: Tensor) -> Tensor:
        """Of the next token, (..., vocabulary), given states (..., width)."""
        return F.linear(states, self.embedding)

    def forward(self, x: Tensor, positions: Tensor | None = None, sees: Tensor | None = None) -> Tensor:
        """Final states (B, T, width) of input vectors (B, T, width) whose rows are padded on the right.

        Padding needs no mask: a causal model never looks to the right. Rows that branch have positions (B, T)
        of their own and say what each place sees (B, T, T).
        """
        if positions is None:
            positions = torch.arange(x.shape[1], device=x.device)[None]
        cos, sin = self.rotation(positions)
        mask = None if sees is None else sees[:, None]
        for block in self.blocks:
            x, _, _ = block(x, (cos[:, None], sin[:, None]), mask)
        return cast(Tensor, self.norm(x))

    def rotation(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines of positions (...), each (..., d)."""
        return rotation_of(self.shape, positions)

    @torch.no_grad()
    def merge(self, first: int) -> None:
        """Put all adapters into the matrices they stand beside, for generation.

        The token that begins every row is read, too: its keys and values, by layer (kv_heads, 1, d), are kept.
        """
        for module in self.modules():
            if isinstance(module, AdaptedLinear):
                module.merge()
        x = self.embedding[first].view(1, 1, -1)
        rotation = self.rotation(torch.zeros(1))
        for block in self.blocks:
            x, k, v = block(x, rotation)
            self.first_keys.append(k[0])
            self.first_values.append(v[0])


def rotation_of(shape: LanguageModelShape, positions: Tensor) -> tuple[Tensor, Tensor]:
    """Cosines and sines of positions (...), each (..., d)."""
    d = shape.head_width
    frequencies = shape.rope_base ** (-torch.arange(0, d, 2, device=positions.device) / d)
    angles = positions[..., None] * frequencies
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos(), angles.sin()


def heads_of(
    projected: Tensor, shape: LanguageModelShape, rotation: tuple[Tensor, Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries (B, heads, T, d), keys and values (B, kv_heads, T, d) of what a block projects, (B, T, ...)."""
    return split_heads(
        projected.view(*projected.shape[:2], -1, shape.head_width).transpose(1, 2), shape, rotation, dim=1
    )


def split_heads(
    every: Tensor, shape: LanguageModelShape, rotation: tuple[Tensor, Tensor], *, dim: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values that are side by side in a dimension, queries and keys turned by their positions."""
    turned = rotate(every.narrow(dim, 0, shape.heads + shape.kv_heads), rotation)
    q, k = turned.narrow(dim, 0, shape.heads), turned.narrow(dim, shape.heads, shape.kv_heads)
    return q, k, every.narrow(dim, shape.heads + shape.kv_heads, shape.kv_heads)


def rotate(x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    """Turn heads (..., T, d) by their positions, halves paired."""
    cos, sin = rotation
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-second, first], dim=-1) * sin
