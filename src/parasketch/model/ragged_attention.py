"""Attention on flat rows of tokens (see ragged.py), in groups of sentences of like length.

The padding inside a group is small, and this is the only place that masks anything. Batched matmuls want the vectors
of one head side by side, so attention works on *head rows*: the vector of one head of one token, in the order (group,
sentence, head, position). One gather brings flat rows into that order and one gather brings the result back; in
between every group is a view.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from parasketch.model.ragged import Layout

GROUP_RATIO = 1.5  # sentences attend together if their lengths differ by at most this factor: fewer, larger matmuls


@dataclass(frozen=True)
class _Block:
    """G sentences padded to T tokens: the flat row of each token, and which of them are no pads, (G, T) each."""

    rows: np.ndarray
    real: np.ndarray

    @classmethod
    def of(cls, layout: Layout, first: int, last: int) -> _Block:
        some = Layout(layout.lengths[first:last])
        return cls(layout.starts[first] + some.rows.numpy(), some.mask.numpy())


class _Side:
    """The head rows of one side, queries or keys: which token, which head, and whether it is real, (S,) each."""

    def __init__(self, blocks: list[_Block], heads: int) -> None:
        self.heads = heads
        shapes = [(len(block.rows), heads, block.rows.shape[1]) for block in blocks]
        self.slices = [
            slice(end - math.prod(shape), end)
            for shape, end in zip(shapes, itertools.accumulate(map(math.prod, shapes)), strict=True)
        ]

        def spread(parts: list[np.ndarray]) -> np.ndarray:
            return np.concatenate(
                [np.broadcast_to(part, shape).ravel() for part, shape in zip(parts, shapes, strict=True)]
            )

        self.tokens = spread([block.rows[:, None] for block in blocks])
        self.real = spread([block.real[:, None] for block in blocks])
        self.head = spread([np.arange(heads)[None, :, None]] * len(blocks))
        self.pads = torch.from_numpy(np.flatnonzero(~self.real))

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def places(self) -> np.ndarray:
        """Where the head rows of each token are, (N, heads)."""
        real = np.flatnonzero(self.real)
        places = np.empty(len(real), dtype=np.int64)
        places[self.tokens[real] * self.heads + self.head[real]] = real
        return places.reshape(-1, self.heads)


class _Gather:
    """Between a flat (N, parts * heads * dh) and its head rows: all of the first part, then of the second, ..."""

    def __init__(self, *parts: _Side) -> None:
        heads, starts = parts[0].heads, itertools.accumulate((len(side) for side in parts), initial=0)
        forth = [side.tokens * len(parts) * heads + part * heads + side.head for part, side in enumerate(parts)]
        back = [start + side.places for start, side in zip(starts, parts, strict=False)]
        self.sizes = [len(side) for side in parts]
        self._forth = torch.from_numpy(np.concatenate(forth))
        self._back = torch.from_numpy(np.stack(back, axis=1).ravel())

    def forth(self, flat: Tensor, width: int) -> Tensor:
        """(N, parts * heads * dh) -> (S, dh); `width` is dh."""
        return flat.reshape(-1, width).index_select(0, self._forth.to(flat.device))

    def back(self, rows: Tensor, shape: torch.Size) -> Tensor:
        """(S, dh) -> a flat tensor of this shape; pads are left behind."""
        return rows.index_select(0, self._back.to(rows.device)).view(shape)


@dataclass(frozen=True)
class _Group:
    """G sentences that attend together, and where their head rows are."""

    queries: slice
    keys: slice
    query_shape: tuple[int, int, int]  # (G * heads, Tq, dh), with -1 for dh
    key_shape: tuple[int, int, int]
    blocked: Tensor | None  # (G or 1, 1, Tq or 1, Tk), True where a query must not look


class AttentionPlan:
    """How the sentences of one batch are grouped for attention; made once a batch, used by every layer.

    Query sentence b attends over key sentence b, or over itself where no keys are given.
    """

    def __init__(self, queries: Layout, keys: Layout | None = None, *, heads: int, causal: bool = False) -> None:
        self.heads = heads
        bounds = list(itertools.pairwise(_bounds(queries.lengths)))
        query_blocks = [_Block.of(queries, first, last) for first, last in bounds]
        key_blocks = query_blocks if keys is None else [_Block.of(keys, first, last) for first, last in bounds]
        query_side = _Side(query_blocks, heads)
        key_side = query_side if keys is None else _Side(key_blocks, heads)
        self.output, self.query_pads = _Gather(query_side), query_side.pads
        # What is attended with comes as one projection for self-attention, as two for attention over other sentences.
        self.inputs = (
            [_Gather(query_side, key_side, key_side)] if keys is None else [self.output, _Gather(key_side, key_side)]
        )
        self.groups = [
            _Group(
                queries=query_rows,
                keys=key_rows,
                query_shape=(heads * len(query.rows), query.rows.shape[1], -1),
                key_shape=(heads * len(key.rows), key.rows.shape[1], -1),
                blocked=_blocked(query, key, causal),
            )
            for query, key, query_rows, key_rows in zip(
                query_blocks, key_blocks, query_side.slices, key_side.slices, strict=True
            )
        ]


def _bounds(lengths: np.ndarray) -> list[int]:
    """Where groups begin, and the end: runs of sentences, each at least as long as the first and not much longer."""
    bounds, shortest = [0], int(lengths[0])
    for place, length in enumerate(lengths.tolist()):
        if not shortest <= length <= GROUP_RATIO * shortest:
            bounds.append(place)
            shortest = length
    return [*bounds, len(lengths)]


def _blocked(query: _Block, key: _Block, causal: bool) -> Tensor | None:
    blocked = None if key.real.all() else ~key.real[:, None, None, :]
    if causal and query.rows.shape[1] > 1:
        future = np.triu(np.ones((query.rows.shape[1], key.rows.shape[1]), dtype=bool), k=1)[None, None]
        blocked = future if blocked is None else blocked | future
    return None if blocked is None else torch.from_numpy(blocked)


class _RaggedAttention(torch.autograd.Function):
    """softmax(Q K^T / sqrt(d)) V group by group, with its gradient written out.

    One autograd node for all groups: hundreds of small nodes a step would cost more than the arithmetic.
    """

    @staticmethod
    def forward(ctx: Any, plan: AttentionPlan, width: int, dropout: float, *packed: Tensor) -> Tensor:
        rows = [gather.forth(flat, width) for gather, flat in zip(plan.inputs, packed, strict=True)]
        query, key, value = _split(rows, plan)
        output = torch.empty_like(query)
        scale = 1 / math.sqrt(width)
        weights: list[Tensor] = []
        keeps: list[Tensor | None] = []
        for group in plan.groups:
            q, k, v = _of_group(group, query, key, value)
            scores = _scaled_bmm(q.new_empty(len(q), q.shape[1], k.shape[1]), q, k.transpose(1, 2), scale)
            if group.blocked is not None:
                by_sentence = scores.view(-1, plan.heads, *scores.shape[1:])
                by_sentence.masked_fill_(group.blocked.to(scores.device), -math.inf)
            weight = torch.softmax(scores, dim=-1)
            keep = torch.empty_like(weight).bernoulli_(1 - dropout).div_(1 - dropout) if dropout else None
            torch.bmm(weight if keep is None else weight * keep, v, out=output[group.queries].view(q.shape))
            weights.append(weight)
            keeps.append(keep)
        ctx.save_for_backward(*rows)
        ctx.plan, ctx.scale, ctx.weights, ctx.keeps = plan, scale, weights, keeps
        ctx.shapes = [flat.shape for flat in packed]
        return plan.output.back(output, torch.Size((packed[0].shape[0], plan.heads * width)))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        plan: AttentionPlan = ctx.plan
        rows = ctx.saved_tensors
        d_rows = [torch.empty_like(part) for part in rows]
        query, key, value = _split(rows, plan)
        d_query, d_key, d_value = _split(d_rows, plan)
        d_output = plan.output.forth(gradients[0], query.shape[1])
        d_output.index_fill_(0, plan.query_pads.to(d_output.device), 0)  # nothing may flow back from a pad
        for group, weight, keep in zip(plan.groups, ctx.weights, ctx.keeps, strict=True):
            q, k, v = _of_group(group, query, key, value)
            d_q, d_k, d_v = _of_group(group, d_query, d_key, d_value)
            d_out = d_output[group.queries].view(q.shape)
            torch.bmm((weight if keep is None else weight * keep).transpose(1, 2), d_out, out=d_v)
            d_weight = torch.bmm(d_out, v.transpose(1, 2))
            if keep is not None:
                d_weight.mul_(keep)
            d_scores = torch._softmax_backward_data(d_weight, weight, -1, weight.dtype)
            _scaled_bmm(d_q, d_scores, k, ctx.scale)
            _scaled_bmm(d_k, d_scores.transpose(1, 2), q, ctx.scale)
        flat = (gather.back(*part) for gather, *part in zip(plan.inputs, d_rows, ctx.shapes, strict=True))
        return None, None, None, *flat


def _split(rows: Any, plan: AttentionPlan) -> list[Tensor]:
    """Queries, keys and values from the gathered inputs."""
    return [part for gather, each in zip(plan.inputs, rows, strict=True) for part in each.split(gather.sizes)]


def _of_group(group: _Group, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Views of the group's head rows: (G * heads, Tq, dh), and twice (G * heads, Tk, dh)."""
    return (
        query[group.queries].view(group.query_shape),
        key[group.keys].view(group.key_shape),
        value[group.keys].view(group.key_shape),
    )


def _scaled_bmm(out: Tensor, a: Tensor, b: Tensor, scale: float) -> Tensor:
    """scale * (a @ b), written to `out`: the scaling is part of the matmul."""
    return out.baddbmm_(a, b, beta=0, alpha=scale)


def ragged_attention(plan: AttentionPlan, *packed: Tensor, width: int, dropout: float = 0.0) -> Tensor:
    """Multi-head attention on flat rows -> (N, d).

    packed: queries, keys and values side by side (N, 3 d) for self-attention; else queries (N, d) and, of the
    sentences attended over, keys and values side by side (M, 2 d). `width` is that of one head, d / heads.
    """
    with torch.autocast(packed[0].device.type, enabled=False):  # inside, everything has the precision of the queries
        attended: Tensor = _RaggedAttention.apply(  # type: ignore[no-untyped-call]
            plan, width, dropout, *(part.to(packed[0].dtype) for part in packed)
        )
    return attended
