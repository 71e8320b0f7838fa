"""The bricks against torch.nn's own layers with the same weights, and decoding step by step against the whole pass."""

import copy

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from parasketch.model.ragged import Layout, pad
from parasketch.model.ragged_attention import AttentionPlan
from parasketch.model.transformer import (
    Attention,
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    LayerConfig,
    TokenEmbedding,
    sinusoids,
)

WIDTH, HEADS, FF = 12, 3, 20
MEANING, FORM = 5, 7  # together the width, as in the paper
TARGETS, SOURCES = Layout(np.array([2, 4, 4, 5])), Layout(np.array([3, 1, 6, 2]))


def layer_config(*, pre_norm: bool) -> LayerConfig:
    return LayerConfig(width=WIDTH, heads=HEADS, ff=FF, pre_norm=pre_norm, bias=True)


def copy_linear(ours: nn.Linear, weight: Tensor, bias: Tensor) -> None:
    with torch.no_grad():
        ours.weight.copy_(weight)
        ours.bias.copy_(bias)


def copy_attention(ours: Attention, theirs: nn.MultiheadAttention, memory_width: int = WIDTH) -> None:
    weight, bias = theirs.in_proj_weight, theirs.in_proj_bias
    copy_linear(ours.query, weight[:WIDTH], bias[:WIDTH])
    copy_linear(ours.key_value, weight[WIDTH:, :memory_width], bias[WIDTH:])
    copy_linear(ours.output, theirs.out_proj.weight, theirs.out_proj.bias)


def shake(module: nn.Module) -> None:
    """Norms start at one and zero, biases at zero: values that would hide a mistake."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)


def encoder_layers(*, pre_norm: bool) -> tuple[EncoderLayer, nn.TransformerEncoderLayer]:
    theirs = nn.TransformerEncoderLayer(WIDTH, HEADS, FF, dropout=0, batch_first=True, norm_first=pre_norm)
    shake(theirs)
    ours = EncoderLayer(layer_config(pre_norm=pre_norm))
    copy_attention(ours.attention, theirs.self_attn)
    copy_linear(ours.feed_forward.expand, theirs.linear1.weight, theirs.linear1.bias)
    copy_linear(ours.feed_forward.contract, theirs.linear2.weight, theirs.linear2.bias)
    ours.attention_residual.norm.load_state_dict(theirs.norm1.state_dict())
    ours.ff_residual.norm.load_state_dict(theirs.norm2.state_dict())
    return ours, theirs


def decoder_layers(*, pre_norm: bool) -> tuple[DecoderLayer, nn.TransformerDecoderLayer]:
    theirs = nn.TransformerDecoderLayer(WIDTH, HEADS, FF, dropout=0, batch_first=True, norm_first=pre_norm)
    shake(theirs)
    ours = DecoderLayer(layer_config(pre_norm=pre_norm), meaning_width=MEANING, form_width=FORM)
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn, MEANING)
    with torch.no_grad():
        ours.form_value.weight.copy_(theirs.multihead_attn.in_proj_weight[2 * WIDTH :, MEANING:])
    copy_linear(ours.feed_forward.expand, theirs.linear1.weight, theirs.linear1.bias)
    copy_linear(ours.feed_forward.contract, theirs.linear2.weight, theirs.linear2.bias)
    residuals = (ours.self_residual, ours.cross_residual, ours.ff_residual)
    for residual, norm in zip(residuals, (theirs.norm1, theirs.norm2, theirs.norm3), strict=True):
        residual.norm.load_state_dict(norm.state_dict())
    return ours, theirs


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("pre_norm", [False, True])
def test_encoder_layer_equals_torch(pre_norm: bool, causal: bool) -> None:
    torch.manual_seed(0)
    ours, theirs = encoder_layers(pre_norm=pre_norm)
    x = torch.randn(SOURCES.num_tokens, WIDTH)
    future = torch.triu(torch.ones(SOURCES.longest, SOURCES.longest, dtype=torch.bool), diagonal=1)
    expected = theirs(pad(x, SOURCES), src_mask=future if causal else None, src_key_padding_mask=~SOURCES.mask)
    found = ours(x, AttentionPlan(SOURCES, heads=HEADS, causal=causal))
    torch.testing.assert_close(found, expected[SOURCES.mask], rtol=0, atol=1e-5)


@pytest.mark.parametrize("pre_norm", [False, True])
def test_decoder_layer_equals_torch_over_the_concatenated_memory(pre_norm: bool) -> None:
    """Torch attends over [meaning ; form] at every position; ours adds the form's value once. Gradients too."""
    torch.manual_seed(0)
    ours, theirs = decoder_layers(pre_norm=pre_norm)
    inputs = [torch.randn(TARGETS.num_tokens, WIDTH), torch.randn(SOURCES.num_tokens, MEANING), torch.randn(4, FORM)]
    x, meaning, form = (part.clone().requires_grad_() for part in inputs)
    own = AttentionPlan(TARGETS, heads=HEADS, causal=True)
    cross = AttentionPlan(TARGETS, SOURCES, heads=HEADS)
    found = ours(x, meaning, form, TARGETS.owners, own, cross)

    x2, meaning2, form2 = (part.clone().requires_grad_() for part in inputs)
    memory = torch.cat([pad(meaning2, SOURCES), form2[:, None].expand(-1, SOURCES.longest, -1)], dim=-1)
    expected = theirs(
        pad(x2, TARGETS),
        memory,
        tgt_mask=torch.triu(torch.ones(TARGETS.longest, TARGETS.longest, dtype=torch.bool), diagonal=1),
        tgt_key_padding_mask=~TARGETS.mask,
        memory_key_padding_mask=~SOURCES.mask,
    )[TARGETS.mask]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
    weights = torch.randn_like(found)
    (found * weights).sum().backward()
    (expected * weights).sum().backward()
    for mine, reference in ((x, x2), (meaning, meaning2), (form, form2)):
        torch.testing.assert_close(mine.grad, reference.grad, rtol=0, atol=2e-5)


def test_encoder_is_its_layers_and_a_last_norm() -> None:
    torch.manual_seed(0)
    encoder = Encoder(layer_config(pre_norm=True), layers=2, causal=True)
    shake(encoder)
    x, plan = torch.randn(SOURCES.num_tokens, WIDTH), AttentionPlan(SOURCES, heads=HEADS, causal=True)
    expected = encoder.norm(encoder.layers[1](encoder.layers[0](x, plan), plan))
    assert torch.equal(encoder(x, SOURCES), expected)


def test_positions_by_hand() -> None:
    table = sinusoids(3, 4)
    assert table[0].tolist() == [0, 1, 0, 1]
    assert table[2].tolist() == pytest.approx([np.sin(2), np.cos(2), np.sin(0.02), np.cos(0.02)])


def test_embedding_is_scaled_and_has_positions() -> None:
    embedding = TokenEmbedding(vocab_size=5, width=4, max_length=8, dropout=0.0)
    found = embedding(torch.tensor([3]), torch.tensor([2]))
    torch.testing.assert_close(found[0], embedding.weight[3] * 2 + sinusoids(8, 4)[2])


def make_decoder() -> Decoder:
    torch.manual_seed(0)
    decoder = Decoder(layer_config(pre_norm=True), layers=2, meaning_width=MEANING, form_width=FORM)
    shake(decoder)
    return decoder.eval()


def test_steps_equal_the_whole_pass() -> None:
    decoder = make_decoder()
    x, meaning, form = (
        torch.randn(TARGETS.num_tokens, WIDTH),
        torch.randn(SOURCES.num_tokens, MEANING),
        torch.randn(4, FORM),
    )
    with torch.no_grad():
        whole = pad(decoder(x, TARGETS, meaning, SOURCES, form), TARGETS)
        cache = decoder.start(pad(meaning, SOURCES), SOURCES.mask, torch.arange(4), form)
        assert cache.length == 0
        for step in range(TARGETS.longest):
            hidden = decoder.step(pad(x, TARGETS)[:, step, None], cache)
            real = TARGETS.mask[:, step]
            torch.testing.assert_close(hidden[real, 0], whole[real, step], rtol=0, atol=1e-5)
        assert cache.length == TARGETS.longest


def test_groups_can_leave_and_rows_can_change_places() -> None:
    """Beams that swap, and groups that end, are as if they had been decoded so from the beginning."""
    decoder = make_decoder()
    meaning, form = torch.randn(SOURCES.num_tokens, MEANING), torch.randn(3, FORM)
    sources = torch.tensor([2, 0, 2])  # two sketches of one source
    first, second, third = torch.randn(3, 3, 2, WIDTH)  # three steps of (groups, rows, width)
    swap = torch.tensor([[1, 0], [0, 0], [1, 1]])
    kept = torch.tensor([0, 2])
    with torch.no_grad():
        cache = decoder.start(pad(meaning, SOURCES), SOURCES.mask, sources, form)
        decoder.step(first, cache)
        cache.reorder_rows(swap)
        decoder.step(second, cache)
        cache.keep_groups(kept)
        found = decoder.step(third[kept], cache)

        moved = torch.stack([first[group, swap[group]] for group in range(3)])
        plain = decoder.start(pad(meaning, SOURCES), SOURCES.mask, sources, form)
        for tokens in (moved, second):
            decoder.step(tokens, plain)
        expected = decoder.step(third, plain)[kept]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


def test_rows_can_multiply() -> None:
    """From one row (begin) to a beam of three."""
    decoder = make_decoder()
    meaning, form, start = torch.randn(SOURCES.num_tokens, MEANING), torch.randn(4, FORM), torch.randn(4, 1, WIDTH)
    with torch.no_grad():
        cache = decoder.start(pad(meaning, SOURCES), SOURCES.mask, torch.arange(4), form)
        decoder.step(start, cache)
        single = copy.deepcopy(cache)
        cache.reorder_rows(torch.zeros(4, 3, dtype=torch.int64))
        more = torch.randn(4, 3, WIDTH)
        found, expected = decoder.step(more, cache), decoder.step(more[:, 2:], single)
    torch.testing.assert_close(found[:, 2:], expected, rtol=0, atol=1e-6)
