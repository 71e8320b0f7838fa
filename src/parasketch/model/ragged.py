"""Batches without padding: the tokens of all sentences lie one after the other in one flat row.

Linear layers, norms and the softmax run on the flat row and never see a pad. Only attention needs to know which
tokens belong together (ragged_attention.py).
"""

from __future__ import annotations

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
