"""LSTM layers that are fast on CPUs: whole sequences, without pads, with the four gates in one matmul.

What a layer reads is projected for all steps at once; a step is then one matmul and a few operations in place, and so
is its gradient, which is written out here. Sequences lie step by step, the longest first: step t is a block of rows,
one for every sequence that is still going on, so that no pad is ever worked on. A decoder that has to see its own last
state before it can read on (attention from the state before) takes single steps instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from parasketch.model.ragged import Layout, select_rows


@dataclass(frozen=True, eq=False)
class Steps:
    """B sequences of N rows laid out step by step, the longest sequence first."""

    order: Tensor
    """(B,) which sequence is first, second, ..."""
    places: Tensor
    """(B,) where each sequence is in that order"""
    sizes: list[int]
    """How many sequences have a row at each step."""
    forwards: Tensor
    """(N,) where the rows of all steps are in the flat layout"""
    backwards: Tensor
    """(N,) the same for sequences that are read from their ends"""
    last: Tensor
    """(B,) the row of the last step of every sequence, in the order here"""

    @classmethod
    def of(cls, layout: Layout, device: torch.device) -> Steps:
        order = np.argsort(-layout.lengths, kind="stable")
        lengths, starts = layout.lengths[order], layout.starts[order]
        sizes = (lengths[:, None] > np.arange(layout.longest)).sum(axis=0)
        begins = np.cumsum(sizes) - sizes
        steps = np.repeat(np.arange(layout.longest), sizes)
        sequences = np.arange(layout.num_tokens) - begins[steps]
        rows = (
            *(order, np.argsort(order, kind="stable")),
            *(starts[sequences] + steps, starts[sequences] + lengths[sequences] - 1 - steps),
            begins[lengths - 1] + np.arange(len(order)),
        )
        order_, places, forwards, backwards, last = (torch.from_numpy(part).to(device) for part in rows)
        return cls(order_, places, sizes.tolist(), forwards, backwards, last)


class LstmState(NamedTuple):
    """What a layer remembers of B rows."""

    output: Tensor
    """(B, width)"""
    cell: Tensor
    """(B, width)"""


class _Cell(torch.autograd.Function):
    """From gates (B, 4 width), before their nonlinearities, and the cell (B, width) to output and cell."""

    @staticmethod
    def forward(ctx: Any, gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        gates, new, squashed, output = gates.clone(), *(torch.empty_like(cell) for _ in range(3))
        _advance(gates, cell, new, squashed, output)
        ctx.save_for_backward(gates, cell, squashed)
        return output, new

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        gates, cell, squashed = ctx.saved_tensors
        d_gates, d_cell = torch.empty_like(gates), gradients[1].clone()
        _retreat(*_slopes(gates, cell, squashed), gradients[0], d_cell, d_gates)
        return d_gates, d_cell


class _Sequence(torch.autograd.Function):
    """A layer over whole sequences: projected inputs (N, 4 width), the first state, (width, 4 width) -> (N, width)."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, output: Tensor, cell: Tensor, weight: Tensor, sizes: list[int]
    ) -> tuple[Tensor, Tensor]:
        gates, shape = torch.empty_like(inputs), (len(inputs), weight.shape[0])
        outputs, cells, squashed = (inputs.new_empty(shape) for _ in range(3))
        last_output, last_cell, start = output, cell, 0
        for size in sizes:
            rows = slice(start, start + size)
            torch.addmm(inputs[rows], last_output[:size], weight, out=gates[rows])
            _advance(gates[rows], last_cell[:size], cells[rows], squashed[rows], outputs[rows])
            last_output, last_cell, start = outputs[rows], cells[rows], start + size
        ctx.save_for_backward(gates, output, cell, outputs, cells, squashed, weight)
        ctx.sizes = sizes
        return outputs, cells

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None]:
        gates, output, cell, outputs, cells, squashed, weight = ctx.saved_tensors
        d_outputs, d_cells = gradients
        before = torch.cat([cell, *_shift(cells, ctx.sizes)])
        slopes, reach, keep = _slopes(gates, before, squashed)
        d_gates, end = torch.empty_like(gates), len(gates)
        d_output = d_cell = d_outputs.new_zeros(0, weight.shape[0])
        for size in reversed(ctx.sizes):
            rows, later = slice(end - size, end), len(d_output)
            whole_output, whole_cell = d_outputs[rows].clone(), d_cells[rows].clone()
            whole_output[:later] += d_output
            whole_cell[:later] += d_cell
            _retreat(slopes[rows], reach[rows], keep[rows], whole_output, whole_cell, d_gates[rows])
            d_output, d_cell, end = d_gates[rows] @ weight.T, whole_cell, end - size
        before = torch.cat([output, *_shift(outputs, ctx.sizes)])
        return d_gates, d_output, d_cell, before.T @ d_gates, None


def _shift(rows: Tensor, sizes: list[int]) -> list[Tensor]:
    """The rows of each step but the last, as far as they go on."""
    return [part[:size] for part, size in zip(torch.split(rows, sizes)[:-1], sizes[1:], strict=True)]


def _advance(gates: Tensor, cell: Tensor, new: Tensor, squashed: Tensor, output: Tensor) -> None:
    """One step: gates are input, forget, output (sigmoid) and candidate (tanh), in place; the rest is written."""
    width = cell.shape[1]
    gates[:, : 3 * width].sigmoid_()
    gates[:, 3 * width :].tanh_()
    enter, keep, show, candidate = gates.chunk(4, dim=1)
    torch.mul(keep, cell, out=new).addcmul_(enter, candidate)
    torch.tanh(new, out=squashed)
    torch.mul(show, squashed, out=output)


def _slopes(gates: Tensor, cell: Tensor, squashed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What of the gradient can be had for all steps at once, of the gates, the cell before and the tanh of the new one.

    How the new cell (for the output gate: the output) changes with each gate's score, (N, 4 width); how the output
    changes with the cell, and the new cell with the old, (N, width).
    """
    width = cell.shape[1]
    enter, keep, show, candidate = gates.chunk(4, dim=1)
    slopes, open_ = torch.empty_like(gates), gates[:, : 3 * width]
    torch.addcmul(open_, open_, open_, value=-1, out=slopes[:, : 3 * width])
    of_enter, of_keep, of_show, of_candidate = slopes.chunk(4, dim=1)
    of_enter.mul_(candidate)
    of_keep.mul_(cell)
    of_show.mul_(squashed)
    torch.addcmul(enter, enter * candidate, candidate, value=-1, out=of_candidate)
    return slopes, torch.addcmul(show, show * squashed, squashed, value=-1), keep


def _retreat(slopes: Tensor, reach: Tensor, keep: Tensor, d_output: Tensor, d_cell: Tensor, d_gates: Tensor) -> None:
    """The gradient of one step: `d_cell` becomes that of the cell before, in place; `d_gates` is written."""
    size, width = d_cell.shape
    d_cell.addcmul_(d_output, reach)
    torch.mul(slopes.view(size, 4, width), d_cell[:, None], out=d_gates.view(size, 4, width))
    show = slice(2 * width, 3 * width)
    torch.mul(slopes[:, show], d_output, out=d_gates[:, show])
    d_cell.mul_(keep)


class LstmLayer(nn.Module):
    """One layer in one direction."""

    def __init__(self, *, input_width: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.input = nn.Linear(input_width, 4 * width)
        self.recurrent = nn.Parameter(torch.empty(width, 4 * width))
        bound = 1 / math.sqrt(width)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)
        with torch.no_grad():
            self.input.bias[width : 2 * width] += 1.0  # begin with remembering

    def forward(self, x: Tensor, sizes: list[int], state: LstmState | None = None) -> LstmState:
        """Outputs and cells of all steps, (N, width) each, from x (N, input_width), laid out step by step."""
        inputs = self.input(x).float()
        with torch.autocast(x.device.type, enabled=False):
            zeros = inputs.new_zeros(sizes[0], self.width)
            first = LstmState(zeros, zeros) if state is None else LstmState(*(part.float() for part in state))
            return LstmState(*_Sequence.apply(inputs, *first, self.recurrent, sizes))  # type: ignore[no-untyped-call]

    def step(self, x: Tensor, state: LstmState) -> LstmState:
        """One step of B rows, x (B, input_width)."""
        inputs = self.input(x).float()
        with torch.autocast(x.device.type, enabled=False):
            gates = torch.addmm(inputs, state.output, self.recurrent)
            return LstmState(*_Cell.apply(gates, state.cell))  # type: ignore[no-untyped-call]


class BiLstm(nn.Module):
    """Layers that read in both directions, each the outputs of both directions of the layer below."""

    def __init__(self, *, input_width: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        widths = [input_width] + [2 * width] * (layers - 1)
        self.forward_layers, self.backward_layers = (
            nn.ModuleList(LstmLayer(input_width=each, width=width) for each in widths) for _ in range(2)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, steps: Steps, states: list[LstmState] | None = None) -> tuple[Tensor, list[LstmState]]:
        """x (N, input_width) of B sequences -> (N, 2 width), and the last states (B, width), by layer and direction.

        They may begin from the last states of another such module; rows and states are in the layout's order.
        """
        found: list[LstmState] = []
        pairs = zip(self.forward_layers, self.backward_layers, strict=True)
        for number, pair in enumerate(pairs):
            x = self.dropout(x) if number else x
            outputs = []
            for layer, rows in zip(pair, (steps.forwards, steps.backwards), strict=True):
                first = None if states is None else LstmState(*(part[steps.order] for part in states[len(found)]))
                output, cell = layer(select_rows(x, rows), steps.sizes, first)
                places = steps.last[steps.places]
                found.append(LstmState(output[places], cell[places]))
                outputs.append(select_rows(output, rows.argsort()))
            x = torch.cat(outputs, dim=1)
        return x, found
