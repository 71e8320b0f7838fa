"""LSTM layers against torch's own: outputs, cells and gradients of sequences of several lengths, in both directions."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from parasketch.model.lstm import BiLstm, LstmLayer, LstmState, Steps
from parasketch.model.ragged import Layout

LAYOUT = Layout(np.array([3, 5, 1, 5]))
CPU = torch.device("cpu")


def same_weights(layer: LstmLayer, torchs: nn.LSTM, number: int = 0, suffix: str = "") -> None:
    """Give torch's LSTM the weights of ours: its gates are input, forget, candidate, output."""
    width = layer.width

    def reorder(weight: Tensor) -> Tensor:
        enter, keep, show, candidate = weight.split(width)
        return torch.cat([enter, keep, candidate, show])

    with torch.no_grad():
        getattr(torchs, f"weight_ih_l{number}{suffix}").copy_(reorder(layer.input.weight))
        getattr(torchs, f"weight_hh_l{number}{suffix}").copy_(reorder(layer.recurrent.T))
        getattr(torchs, f"bias_ih_l{number}{suffix}").copy_(reorder(layer.input.bias))
        getattr(torchs, f"bias_hh_l{number}{suffix}").zero_()


def test_steps_lay_sequences_out_longest_first() -> None:
    steps = Steps.of(Layout(np.array([1, 3, 2])), CPU)
    assert steps.order.tolist() == [1, 2, 0]
    assert steps.places.tolist() == [2, 0, 1]
    assert steps.sizes == [3, 2, 1]
    assert steps.forwards.tolist() == [1, 4, 0, 2, 5, 3]
    assert steps.backwards.tolist() == [3, 5, 0, 2, 4, 1]
    assert steps.last.tolist() == [5, 4, 2]


@pytest.mark.parametrize("given", [False, True])
def test_a_layer_equals_torchs(given: bool) -> None:
    torch.manual_seed(0)
    layer, torchs = LstmLayer(input_width=6, width=4), nn.LSTM(6, 4, batch_first=True)
    same_weights(layer, torchs)
    steps, x = Steps.of(LAYOUT, CPU), torch.randn(LAYOUT.num_tokens, 6, requires_grad=True)
    first = LstmState(*(torch.randn(4, 4, requires_grad=True) for _ in range(2)))
    found = layer(x[steps.forwards], steps.sizes, LstmState(*(s[steps.order] for s in first)) if given else None)
    weights = torch.randn(2, LAYOUT.num_tokens, 4)
    last = steps.last[steps.places]
    ours = (found.output[steps.forwards.argsort()] * weights[0]).sum() + (found.cell[last] * weights[1, :4]).sum()
    inputs = [x, layer.input.weight, layer.recurrent, *(first if given else ())]
    gradients = torch.autograd.grad(ours, inputs)
    wanted, cells = [], []
    for number, start in enumerate(LAYOUT.starts):
        state = (first.output[None, number : number + 1], first.cell[None, number : number + 1]) if given else None
        output, (_, cell) = torchs(x[None, start : start + LAYOUT.lengths[number]], state)
        wanted.append(output[0])
        cells.append(cell[0, 0])
    theirs = (torch.cat(wanted) * weights[0]).sum() + (torch.stack(cells) * weights[1, :4]).sum()
    torch.testing.assert_close(ours, theirs)
    expected = torch.autograd.grad(theirs, [x, torchs.weight_ih_l0, torchs.weight_hh_l0, *(first if given else ())])
    enter, keep, candidate, show = expected[1].split(4)
    torch.testing.assert_close(gradients[0], expected[0])
    torch.testing.assert_close(gradients[1], torch.cat([enter, keep, show, candidate]))
    enter, keep, candidate, show = expected[2].split(4)
    torch.testing.assert_close(gradients[2], torch.cat([enter, keep, show, candidate]).T)
    for ours_, theirs_ in zip(gradients[3:], expected[3:], strict=True):
        torch.testing.assert_close(ours_, theirs_)


def test_single_steps_equal_whole_sequences() -> None:
    torch.manual_seed(0)
    layer, x = LstmLayer(input_width=3, width=4), torch.randn(5, 2, 3, requires_grad=True)
    whole = layer(x.flatten(0, 1), [2] * 5)
    state, outputs = LstmState(torch.zeros(2, 4), torch.zeros(2, 4)), []
    for row in x:
        state = layer.step(row, state)
        outputs.append(state.output)
    torch.testing.assert_close(torch.cat(outputs), whole.output)
    torch.testing.assert_close(state.cell, whole.cell[-2:])
    parameters = [x, *layer.parameters()]
    weights = torch.randn(10, 4)
    for ours, theirs in zip(
        torch.autograd.grad((torch.cat(outputs) * weights).sum(), parameters),
        torch.autograd.grad((whole.output * weights).sum(), parameters),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


def test_both_directions_equal_torchs() -> None:
    torch.manual_seed(0)
    ours, torchs = (
        BiLstm(input_width=6, width=4, layers=2, dropout=0.0),
        nn.LSTM(6, 4, num_layers=2, bidirectional=True, batch_first=True),
    )
    for number in range(2):
        same_weights(ours.forward_layers[number], torchs, number)
        same_weights(ours.backward_layers[number], torchs, number, "_reverse")
    x = torch.randn(LAYOUT.num_tokens, 6)
    first = [LstmState(torch.randn(4, 4), torch.randn(4, 4)) for _ in range(4)]
    outputs, states = ours(x, Steps.of(LAYOUT, CPU), first)
    for number, start in enumerate(LAYOUT.starts):
        rows = slice(start, start + LAYOUT.lengths[number])
        given = tuple(torch.stack([state[part][number] for state in first])[:, None] for part in range(2))
        wanted, last = torchs(x[None, rows], given)
        torch.testing.assert_close(outputs[rows], wanted[0])
        for part in range(2):
            torch.testing.assert_close(torch.stack([state[part][number] for state in states]), last[part][:, 0])
