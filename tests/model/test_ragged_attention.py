"""Attention in groups against the attention of each sentence alone: the same numbers, and the same gradients."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from parasketch.model.ragged import Layout
from parasketch.model.ragged_attention import AttentionPlan, ragged_attention

LENGTHS = [2, 2, 4, 5, 5, 6]  # the last four are one group, with pads
KEY_LENGTHS = [3, 1, 4, 4, 4, 2]


def layout(lengths: list[int]) -> Layout:
    return Layout(np.array(lengths))


def reference(query: Tensor, key: Tensor, value: Tensor, heads: int, causal: bool) -> Tensor:
    """One sentence: query (T, d), key and value (S, d)."""
    split = [part.unflatten(-1, (heads, -1)).transpose(0, 1) for part in (query, key, value)]
    return F.scaled_dot_product_attention(*split, is_causal=causal).transpose(0, 1).flatten(1)


def test_sentences_of_like_length_attend_together() -> None:
    plan = AttentionPlan(layout([2, 2, 4, 5, 5, 6, 3]), heads=2)
    assert [group.query_shape for group in plan.groups] == [(4, 2, -1), (8, 6, -1), (2, 3, -1)]


@pytest.mark.parametrize("causal", [False, True])
def test_self_attention_equals_that_of_each_sentence_alone(causal: bool) -> None:
    torch.manual_seed(0)
    sentences, heads, width = layout(LENGTHS), 2, 6
    packed = torch.randn(sentences.num_tokens, 3 * width)
    attended = ragged_attention(AttentionPlan(sentences, heads=heads, causal=causal), packed, width=width // heads)
    for number in range(len(LENGTHS)):
        mine = (sentences.owners == number).nonzero().squeeze(1)
        expected = reference(*packed[mine].chunk(3, dim=1), heads, causal)
        torch.testing.assert_close(attended[mine], expected, rtol=0, atol=1e-6)


def test_attention_over_others_equals_that_of_each_sentence_alone() -> None:
    torch.manual_seed(0)
    queries, memory, heads, width = layout(LENGTHS), layout(KEY_LENGTHS), 2, 6
    query, key_value = torch.randn(queries.num_tokens, width), torch.randn(memory.num_tokens, 2 * width)
    attended = ragged_attention(AttentionPlan(queries, memory, heads=heads), query, key_value, width=width // heads)
    for number in range(len(LENGTHS)):
        mine = (queries.owners == number).nonzero().squeeze(1)
        theirs = (memory.owners == number).nonzero().squeeze(1)
        expected = reference(query[mine], *key_value[theirs].chunk(2, dim=1), heads, causal=False)
        torch.testing.assert_close(attended[mine], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("causal", [False, True])
def test_self_attention_gradient(causal: bool) -> None:
    torch.manual_seed(0)
    plan = AttentionPlan(layout(LENGTHS), heads=2, causal=causal)
    packed = torch.randn(sum(LENGTHS), 12, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda qkv: ragged_attention(plan, qkv, width=2), packed)


def test_gradient_of_attention_over_others() -> None:
    torch.manual_seed(0)
    plan = AttentionPlan(layout(LENGTHS), layout(KEY_LENGTHS), heads=2)
    query = torch.randn(sum(LENGTHS), 4, dtype=torch.double, requires_grad=True)
    key_value = torch.randn(sum(KEY_LENGTHS), 8, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda q, kv: ragged_attention(plan, q, kv, width=2), (query, key_value))


def test_attention_dropout_keeps_the_mean_and_its_own_gradient() -> None:
    torch.manual_seed(0)
    plan = AttentionPlan(layout([3, 3]), layout([4, 2]), heads=2)
    query = torch.randn(6, 4, dtype=torch.double, requires_grad=True)
    key_value = torch.randn(6, 8, dtype=torch.double, requires_grad=True)

    def dropped(q: Tensor, kv: Tensor) -> Tensor:
        torch.manual_seed(1)  # the same mask at every call
        return ragged_attention(plan, q, kv, width=2, dropout=0.4)

    assert torch.autograd.gradcheck(dropped, (query, key_value))
    with torch.no_grad():
        whole = ragged_attention(plan, query, key_value, width=2)
        samples = [ragged_attention(plan, query, key_value, width=2, dropout=0.4) for _ in range(4000)]
    torch.testing.assert_close(torch.stack(samples).mean(0), whole, rtol=0, atol=0.08)


@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=6), data=st.data())
@settings(deadline=None, max_examples=30)
def test_no_sentence_sees_another(lengths: list[int], data: st.DataObject) -> None:
    """Changing one sentence changes the attention of no other, whatever the lengths."""
    lengths = sorted(lengths)
    keys = layout(data.draw(st.lists(st.integers(1, 5), min_size=len(lengths), max_size=len(lengths))))
    changed = data.draw(st.integers(0, len(lengths) - 1))
    plan = AttentionPlan(layout(lengths), keys, heads=2)
    torch.manual_seed(0)
    query, key_value = torch.randn(sum(lengths), 4), torch.randn(keys.num_tokens, 8)
    before = ragged_attention(plan, query, key_value, width=2)
    key_value[keys.owners == changed] = 7.0
    after = ragged_attention(plan, query, key_value, width=2)
    others = layout(lengths).owners != changed
    assert torch.equal(before[others], after[others])
    assert math.isfinite(float(after.sum()))
