"""Batches without padding: the tokens of all sentences lie one after the other in one flat row.

Linear layers, norms and the softmax run on the flat row and never see a pad. Only attention needs to know which
tokens belong together: it works on groups of sentences of like length, so its padding is small, and it is the
only place that masks anything.
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


@dataclass(eq=False)  # not frozen: for mixed precision Fabric copies what goes into a model, field by field
class Layout:
    """Where the tokens of B sequences lie in a flat row of N tokens; sequence b is rows [starts[b], ends[b])."""

    lengths: np.ndarray  # (B,) every length at least 1

    @cached_property
    def starts(self) -> np.ndarray:
        """First row of each sequence, (B,)."""
        return np.concatenate([[0], np.cumsum(self.lengths)[:-1]]).astype(np.int64)

    @property
    def batch_size(self) -> int:
        return len(self.lengths)

    @cached_property
    def num_tokens(self) -> int:
        return int(self.lengths.sum())

    @cached_property
    def longest(self) -> int:
        return int(self.lengths.max())

    @cached_property
    def positions(self) -> Tensor:
        """Position of each token inside its own sequence, (N,)."""
        return torch.from_numpy(np.arange(self.num_tokens) - np.repeat(self.starts, self.lengths))

    @cached_property
    def owners(self) -> Tensor:
        """The sequence each token belongs to, (N,)."""
        return torch.from_numpy(np.repeat(np.arange(self.batch_size), self.lengths))

    @cached_property
    def mask(self) -> Tensor:
        """True at the real positions of the padded form, (B, T)."""
        return torch.from_numpy(np.arange(self.longest) < self.lengths[:, None])

    @cached_property
    def rows(self) -> Tensor:
        """Row of each padded position, (B, T); pads point at the first token of their sequence."""
        steps = np.arange(self.longest)
        return torch.from_numpy(self.starts[:, None] + np.where(steps < self.lengths[:, None], steps, 0))

    @cached_property
    def slots(self) -> Tensor:
        """Index of each token in the padded form flattened to B * T, (N,)."""
        return self.owners * self.longest + self.positions

    def select(self, sequences: np.ndarray) -> tuple[Layout, Tensor]:
        """The layout of some of the sequences, and the rows of their tokens in this layout."""
        layout = Layout(self.lengths[sequences])
        rows = np.repeat(self.starts[sequences] - layout.starts, layout.lengths) + np.arange(layout.num_tokens)
        return layout, torch.from_numpy(rows)


class _Pad(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, flat: Tensor, slots: Tensor, size: int) -> Tensor:
        ctx.save_for_backward(slots)
        return flat.new_zeros(size, *flat.shape[1:]).index_copy_(0, slots, flat)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (slots,) = ctx.saved_tensors
        return gradients[0].index_select(0, slots), None, None


def pad(flat: Tensor, layout: Layout) -> Tensor:
    """(N, ...) -> (B, T, ...), zeros at the pads."""
    size = layout.batch_size * layout.longest
    padded: Tensor = _Pad.apply(flat, layout.slots.to(flat.device), size)  # type: ignore[no-untyped-call]
    return padded.view(layout.batch_size, layout.longest, *flat.shape[1:])


class _SelectRows(torch.autograd.Function):
    """`index_select` for rows that are all different: its gradient is a copy, not a slow accumulation."""

    @staticmethod
    def forward(ctx: Any, flat: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.size = flat.shape[0]
        return flat.index_select(0, rows)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        gradient = gradients[0]
        return gradient.new_zeros(ctx.size, *gradient.shape[1:]).index_copy_(0, rows, gradient), None


def select_rows(flat: Tensor, rows: Tensor) -> Tensor:
    """(N, ...) -> (M, ...), the given rows; no row may occur twice."""
    selected: Tensor = _SelectRows.apply(flat, rows.to(flat.device))  # type: ignore[no-untyped-call]
    return selected


@dataclass(frozen=True)
class _Group:
    """Sequences that attend together: G query sequences of Tq tokens over G key sequences of at most Tk."""

    query_rows: slice
    count: int
    query_length: int
    key_length: int
    key_rows: slice | Tensor  # where the keys lie without gaps, or the row of each padded key, (G * Tk,)
    real_keys: Tensor | None  # for gathered keys: which of the G * Tk are no pads
    blocked: Tensor | None  # (G or 1, 1, Tq or 1, Tk), True where a query must not look


class AttentionPlan:
    """How the sequences of one batch are grouped for attention; made once a batch, used by every layer.

    Query sequence b attends over key sequence b. Queries are grouped by exact length, so they are views into the
    flat row. Keys of equal length are views too; others are gathered and padded within their group.
    """

    def __init__(self, queries: Layout, keys: Layout, *, causal: bool = False) -> None:
        self.causal = causal
        changes = np.flatnonzero(np.diff(queries.lengths)) + 1
        bounds = [0, *changes.tolist(), queries.batch_size]
        self.groups = [self._group(queries, keys, first, last) for first, last in itertools.pairwise(bounds)]

    def _group(self, queries: Layout, keys: Layout, first: int, last: int) -> _Group:
        count, query_length, query_start = last - first, int(queries.lengths[first]), int(queries.starts[first])
        lengths, starts = keys.lengths[first:last], keys.starts[first:last]
        key_length = int(lengths.max())
        key_rows: slice | Tensor = slice(int(starts[0]), int(starts[0]) + count * key_length)
        blocked: np.ndarray | None = None
        real_keys: Tensor | None = None
        if (lengths != key_length).any():
            steps = np.arange(key_length)
            real = steps < lengths[:, None]
            key_rows = torch.from_numpy((starts[:, None] + np.where(real, steps, 0)).ravel())
            real_keys = torch.from_numpy(np.flatnonzero(real))
            blocked = ~real[:, None, None, :]
        if self.causal and query_length > 1:
            future = np.triu(np.ones((query_length, key_length), dtype=bool), k=1)[None, None]
            blocked = future if blocked is None else blocked | future
        return _Group(
            query_rows=slice(query_start, query_start + count * query_length),
            count=count,
            query_length=query_length,
            key_length=key_length,
            key_rows=key_rows,
            real_keys=real_keys,
            blocked=None if blocked is None else torch.from_numpy(blocked),
        )


class _RaggedAttention(torch.autograd.Function):
    """softmax(Q K^T / sqrt(d)) V group by group, with its gradient written out.

    One autograd node for all groups: hundreds of small nodes a step would cost more than the arithmetic.
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key_value: Tensor, plan: AttentionPlan, heads: int, dropout: float) -> Tensor:
        output = torch.empty_like(query)
        scale = 1 / math.sqrt(query.shape[1] // heads)
        weights: list[Tensor] = []
        keeps: list[Tensor | None] = []
        for group in plan.groups:
            k, v = _keys_and_values(key_value, group, heads)
            scores = torch.matmul(_queries(query, group, heads), k.transpose(-1, -2)).mul_(scale)
            if group.blocked is not None:
                scores.masked_fill_(group.blocked.to(scores.device), -math.inf)
            weight = torch.softmax(scores, dim=-1)
            keep = torch.empty_like(weight).bernoulli_(1 - dropout).div_(1 - dropout) if dropout else None
            _queries(output, group, heads).copy_(torch.matmul(weight if keep is None else weight * keep, v))
            weights.append(weight)
            keeps.append(keep)
        ctx.save_for_backward(query, key_value)
        ctx.plan, ctx.heads, ctx.scale, ctx.weights, ctx.keeps = plan, heads, scale, weights, keeps
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        query, key_value = ctx.saved_tensors
        d_output = gradients[0].contiguous()
        d_query, d_key_value = torch.empty_like(query), torch.empty_like(key_value)
        for group, weight, keep in zip(ctx.plan.groups, ctx.weights, ctx.keeps, strict=True):
            k, v = _keys_and_values(key_value, group, ctx.heads)
            d_out = _queries(d_output, group, ctx.heads)
            d_value = torch.matmul((weight if keep is None else weight * keep).transpose(-1, -2), d_out)
            d_weight = torch.matmul(d_out, v.transpose(-1, -2))
            if keep is not None:
                d_weight.mul_(keep)
            d_scores = torch._softmax_backward_data(d_weight, weight, -1, weight.dtype).mul_(ctx.scale)
            _queries(d_query, group, ctx.heads).copy_(torch.matmul(d_scores, k))
            d_key = torch.matmul(d_scores.transpose(-1, -2), _queries(query, group, ctx.heads))
            _store_key_gradients(d_key_value, group, d_key, d_value)
        return d_query, d_key_value, None, None, None


def _queries(flat: Tensor, group: _Group, heads: int) -> Tensor:
    """The group's rows of a flat (N, d) tensor as a view (G, heads, Tq, d / heads)."""
    return flat[group.query_rows].view(group.count, group.query_length, heads, -1).transpose(1, 2)


def _keys_and_values(key_value: Tensor, group: _Group, heads: int) -> tuple[Tensor, Tensor]:
    """Keys and values of a group, (G, heads, Tk, d / heads) each, from the flat (M, 2 d)."""
    rows = group.key_rows
    part = key_value[rows] if isinstance(rows, slice) else key_value.index_select(0, rows.to(key_value.device))
    key, value = part.view(group.count, group.key_length, 2, heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
    return key, value


def _store_key_gradients(d_key_value: Tensor, group: _Group, d_key: Tensor, d_value: Tensor) -> None:
    """Write the gradients (G, heads, Tk, dh) back to the flat rows; every key row belongs to just one group."""
    if isinstance(group.key_rows, slice):
        for place, gradient in zip(_keys_and_values(d_key_value, group, d_key.shape[1]), (d_key, d_value), strict=True):
            place.copy_(gradient)
        return
    assert group.real_keys is not None
    rows = torch.stack([d_key, d_value], dim=2).permute(0, 3, 2, 1, 4).reshape(len(group.key_rows), -1)
    real = group.real_keys.to(rows.device)
    d_key_value.index_copy_(0, group.key_rows.to(rows.device).index_select(0, real), rows.index_select(0, real))


def ragged_attention(
    query: Tensor, key_value: Tensor, plan: AttentionPlan, *, heads: int, dropout: float = 0.0
) -> Tensor:
    """Multi-head attention on flat rows: query (N, d), keys and values side by side (M, 2 d) -> (N, d)."""
    with torch.autocast(query.device.type, enabled=False):  # inside, everything has the precision of the queries
        attended: Tensor = _RaggedAttention.apply(  # type: ignore[no-untyped-call]
            query, key_value.to(query.dtype), plan, heads, dropout
        )
    return attended
