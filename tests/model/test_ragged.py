"""Flat rows against padded tensors: the same numbers, and the same gradients."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from parasketch.model.ragged import AttentionPlan, Layout, pad, ragged_attention, select_rows

LENGTHS = [2, 2, 3, 5, 5]
KEY_LENGTHS = [3, 1, 4, 4, 4]


def layout(lengths: list[int]) -> Layout:
    return Layout(np.array(lengths))


def reference(query: Tensor, key: Tensor, value: Tensor, heads: int, causal: bool) -> Tensor:
    """One sentence: query (T, d), key and value (S, d)."""
    split = [part.unflatten(-1, (heads, -1)).transpose(0, 1) for part in (query, key, value)]
    return F.scaled_dot_product_attention(*split, is_causal=causal).transpose(0, 1).flatten(1)


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


@pytest.mark.parametrize(("keys", "causal"), [(LENGTHS, False), (LENGTHS, True), (KEY_LENGTHS, False)])
def test_attention_equals_that_of_each_sentence_alone(keys: list[int], causal: bool) -> None:
    torch.manual_seed(0)
    queries, memory, heads, width = layout(LENGTHS), layout(keys), 2, 6
    query, key_value = torch.randn(queries.num_tokens, width), torch.randn(memory.num_tokens, 2 * width)
    attended = ragged_attention(query, key_value, AttentionPlan(queries, memory, causal=causal), heads=heads)
    key, value = key_value.chunk(2, dim=1)
    for number in range(len(LENGTHS)):
        mine = (queries.owners == number).nonzero().squeeze(1)
        theirs = (memory.owners == number).nonzero().squeeze(1)
        expected = reference(query[mine], key[theirs], value[theirs], heads, causal)
        torch.testing.assert_close(attended[mine], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("keys", "causal"), [(LENGTHS, True), (KEY_LENGTHS, False)])
def test_attention_gradient(keys: list[int], causal: bool) -> None:
    torch.manual_seed(0)
    queries, memory = layout(LENGTHS), layout(keys)
    plan = AttentionPlan(queries, memory, causal=causal)
    query = torch.randn(queries.num_tokens, 4, dtype=torch.double, requires_grad=True)
    key_value = torch.randn(memory.num_tokens, 8, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda q, kv: ragged_attention(q, kv, plan, heads=2), (query, key_value))


def test_attention_dropout_keeps_the_mean_and_its_own_gradient() -> None:
    torch.manual_seed(0)
    plan = AttentionPlan(layout([3, 3]), layout([4, 2]))
    query = torch.randn(6, 4, dtype=torch.double, requires_grad=True)
    key_value = torch.randn(6, 8, dtype=torch.double, requires_grad=True)

    def dropped(q: Tensor, kv: Tensor) -> Tensor:
        torch.manual_seed(1)  # the same mask at every call
        return ragged_attention(q, kv, plan, heads=2, dropout=0.4)

    assert torch.autograd.gradcheck(dropped, (query, key_value))
    with torch.no_grad():
        whole = ragged_attention(query, key_value, plan, heads=2)
        mean = torch.stack([ragged_attention(query, key_value, plan, heads=2, dropout=0.4) for _ in range(4000)]).mean(
            0
        )
    torch.testing.assert_close(mean, whole, rtol=0, atol=0.08)


@given(lengths=st.lists(st.integers(1, 5), min_size=1, max_size=6), data=st.data())
@settings(deadline=None, max_examples=30)
def test_no_sentence_sees_another(lengths: list[int], data: st.DataObject) -> None:
    """Changing one sentence changes the attention of no other, whatever the lengths."""
    lengths = sorted(lengths)
    keys = layout(data.draw(st.lists(st.integers(1, 5), min_size=len(lengths), max_size=len(lengths))))
    changed = data.draw(st.integers(0, len(lengths) - 1))
    plan = AttentionPlan(layout(lengths), keys)
    torch.manual_seed(0)
    query, key_value = torch.randn(sum(lengths), 4), torch.randn(keys.num_tokens, 8)
    before = ragged_attention(query, key_value, plan, heads=2)
    key_value[keys.owners == changed] = 7.0
    after = ragged_attention(query, key_value, plan, heads=2)
    others = layout(lengths).owners != changed
    assert torch.equal(before[others], after[others])
    assert math.isfinite(float(after.sum()))
