"""Flat rows against padded tensors: the same numbers, and the same gradients."""

import numpy as np
import torch

from parasketch.model.ragged import Layout, pad, select_rows


def layout(lengths: list[int]) -> Layout:
    return Layout(np.array(lengths))


def test_layout_by_hand() -> None:
    three = layout([2, 1, 3])
    assert (three.batch_size, three.num_tokens, three.longest) == (3, 6, 3)
    assert three.starts.tolist() == [0, 2, 3]
    assert three.positions.tolist() == [0, 1, 0, 0, 1, 2]
    assert three.owners.tolist() == [0, 0, 1, 2, 2, 2]
    assert three.slots.tolist() == [0, 1, 3, 6, 7, 8]
    assert three.rows.tolist() == [[0, 1, 0], [2, 2, 2], [3, 4, 5]]
    assert three.mask.tolist() == [[True, True, False], [True, False, False], [True, True, True]]
    chosen, rows = three.select(np.array([2, 0]))
    assert (chosen.lengths.tolist(), rows.tolist()) == ([3, 2], [3, 4, 5, 0, 1])


def test_pad_puts_zeros_and_its_gradient_forgets_them() -> None:
    flat = torch.arange(1.0, 7.0).requires_grad_()
    padded = pad(flat, layout([2, 1, 3]))
    assert padded.tolist() == [[1, 2, 0], [3, 0, 0], [4, 5, 6]]
    (padded * torch.arange(9.0).view(3, 3)).sum().backward()
    assert flat.grad is not None
    assert flat.grad.tolist() == [0, 1, 3, 6, 7, 8]


def test_select_rows_gradient() -> None:
    flat = torch.randn(5, 3, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: select_rows(x, torch.tensor([3, 0, 4])), flat)
