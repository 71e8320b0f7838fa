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
        return F.linear(x, self.weight) + F.linear(F.linear(x, self.down), self.scale * self.up)


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

    def forward(self, x: Tensor, rotation: tuple[Tensor, Tensor], mask: Tensor | None = None) -> Tensor:
        """States (B, T, width) after this block.

        Each token sees itself and its left, or what `mask` (B, 1, T, T) lets it see.
        """
        q, k, v = _heads_of(self.qkv(self.attention_norm(x)), self.shape, rotation)
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None, enable_gqa=True)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        gate, up = self.gate_up(self.ff_norm(x)).chunk(2, dim=-1)
        result: Tensor = x + self.down(F.silu(gate) * up)
        return result


class LanguageModel(nn.Module):
    """Embeddings, blocks and the tied output layer."""

    embedding: Tensor

    def __init__(self, shape: LanguageModelShape, *, rank: int, scale: float = 2.0) -> None:
        super().__init__()
        self.shape = shape
        self.register_buffer("embedding", torch.empty(shape.vocabulary, shape.width), persistent=False)
        self.blocks = nn.ModuleList(Block(shape, rank=rank, scale=scale) for _ in range(shape.layers))
        self.norm = Norm(shape.width, shape.norm_eps)

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
        cos, sin = _rotation_of(self.shape, positions)
        mask = None if sees is None else sees[:, None]
        for block in self.blocks:
            x = block(x, (cos[:, None], sin[:, None]), mask)
        return cast(Tensor, self.norm(x))


def _rotation_of(shape: LanguageModelShape, positions: Tensor) -> tuple[Tensor, Tensor]:
    """Cosines and sines of positions (...), each (..., d)."""
    d = shape.head_width
    frequencies = shape.rope_base ** (-torch.arange(0, d, 2, device=positions.device) / d)
    angles = positions[..., None] * frequencies
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos(), angles.sin()


def _heads_of(
    projected: Tensor, shape: LanguageModelShape, rotation: tuple[Tensor, Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries (B, heads, T, d), keys and values (B, kv_heads, T, d) that are side by side, (B, T, ...).

    Queries and keys are turned by their positions, halves paired.
    """
    every = projected.view(*projected.shape[:2], -1, shape.head_width).transpose(1, 2)
    turning, v = every.tensor_split([shape.heads + shape.kv_heads], dim=1)
    cos, sin = rotation
    first, second = turning.chunk(2, dim=-1)
    turned = turning * cos + torch.cat([-second, first], dim=-1) * sin
    q, k = turned.tensor_split([shape.heads], dim=1)
    return q, k, v
