"""The Transformer bricks, on flat rows of tokens (see ragged.py): no pad ever enters a matmul.

Encoder and decoder follow the usual layers, pre-norm or post-norm. In a decoder with forms, memory is [meaning ; form]
side by side in the feature dimension, the same form at every position. Its key part is then the same number for
every position, which the softmax ignores, and its value part adds the same vector whatever the attention is. So
attention runs over the meaning alone, and the form enters as one extra vector per sentence and layer: equal
to the concatenation (there is a test), at a fraction of the work.
"""

import math
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from parasketch.model.ragged import Layout
from parasketch.model.ragged_attention import AttentionPlan, ragged_attention


@dataclass(frozen=True, kw_only=True)
class LayerConfig:
    """What all layers of a Transformer share."""

    width: int
    heads: int
    ff: int
    dropout: float = 0.0
    attention_dropout: float = 0.0
    pre_norm: bool = True
    bias: bool = False


def sinusoids(length: int, width: int) -> Tensor:
    """The fixed position table, (length, width): sine and cosine interleaved, base 10,000."""
    angles = torch.arange(length)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    table = torch.empty(length, width)
    table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()
    return table


class TokenEmbedding(nn.Module):
    """Token vectors scaled by sqrt(width), plus positions."""

    positions: Tensor

    def __init__(self, *, vocab_size: int, width: int, max_length: int, dropout: float) -> None:
        super().__init__()
        self.scale = math.sqrt(width)
        self.weight = nn.Parameter(torch.randn(vocab_size, width) / self.scale)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("positions", sinusoids(max_length, width), persistent=False)

    def forward(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Tokens and positions of any one shape -> (..., width)."""
        vectors = F.embedding(tokens, self.weight) * self.scale + self.positions[positions]
        return self.dropout(vectors)  # type: ignore[no-any-return]


class Attention(nn.Module):
    """Multi-head attention with separate inputs for queries and memory."""

    def __init__(self, config: LayerConfig, *, memory_width: int) -> None:
        super().__init__()
        self.heads, self.dropout = config.heads, config.attention_dropout
        self.query = nn.Linear(config.width, config.width, bias=config.bias)
        self.key_value = nn.Linear(memory_width, 2 * config.width, bias=config.bias)
        self.output = nn.Linear(config.width, config.width, bias=config.bias)
        for part in (self.query.weight, *self.key_value.weight.chunk(2), self.output.weight):
            nn.init.xavier_uniform_(part)

    def forward(
        self, x: Tensor, plan: AttentionPlan, memory: Tensor | None = None, extra: Tensor | None = None
    ) -> Tensor:
        """x (N, width) attends over memory (M, memory_width) or itself; `extra` (N, width) joins all values."""
        packed = (self._project_all(x),) if memory is None else (self.query(x), self.key_value(memory))
        dropout = self.dropout if self.training else 0.0
        attended = ragged_attention(plan, *packed, width=x.shape[1] // self.heads, dropout=dropout)
        return self.output(attended if extra is None else attended + extra)  # type: ignore[no-any-return]

    def _project_all(self, x: Tensor) -> Tensor:
        """Queries, keys and values of x, (N, 3 width): one matmul, and one for its gradient."""
        parts = (self.query, self.key_value)
        bias = torch.cat([part.bias for part in parts]) if self.query.bias is not None else None
        return F.linear(x, torch.cat([part.weight for part in parts]), bias)

    def attend(self, x: Tensor, keys: Tensor, values: Tensor, blocked: Tensor | None, extra: Tensor | None) -> Tensor:
        """One decoding step: x (G, W, width) over keys and values (G, heads, S, dh) or (G, W, heads, S, dh)."""
        groups, rows, width = x.shape
        query = self.query(x).view(groups, rows, self.heads, 1, width // self.heads)
        if keys.dim() == 4:  # all rows of a group look at the same memory: the rows play the part of positions
            attended = F.scaled_dot_product_attention(
                query.squeeze(3).transpose(1, 2),
                keys,
                values,
                attn_mask=None if blocked is None else ~blocked,
            ).transpose(1, 2)
        else:
            attended = F.scaled_dot_product_attention(query, keys, values)
        attended = attended.reshape(groups, rows, width)
        return self.output(attended if extra is None else attended + extra)  # type: ignore[no-any-return]

    def split_memory(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of a memory (..., T, memory_width), each (..., heads, T, width / heads)."""
        keys, values = self.key_value(memory).chunk(2, dim=-1)
        return self._heads(keys), self._heads(values)

    def _heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:-1], self.heads, -1).transpose(-2, -3)


class FeedForward(nn.Module):
    """Two linear layers around a ReLU."""

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.expand = nn.Linear(config.width, config.ff, bias=config.bias)
        self.contract = nn.Linear(config.ff, config.width, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.contract(self.dropout(F.relu_(self.expand(x))))  # type: ignore[no-any-return]


class Residual(nn.Module):
    """x + sublayer(x), with the norm before the sublayer (pre) or after the sum (post)."""

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.pre_norm = config.pre_norm
        self.norm = nn.LayerNorm(config.width)
        self.dropout = nn.Dropout(config.dropout)

    def before(self, x: Tensor) -> Tensor:
        return cast(Tensor, self.norm(x)) if self.pre_norm else x

    def after(self, x: Tensor, change: Tensor) -> Tensor:
        total = x + self.dropout(change)
        return total if self.pre_norm else cast(Tensor, self.norm(total))


class EncoderLayer(nn.Module):
    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.attention = Attention(config, memory_width=config.width)
        self.feed_forward = FeedForward(config)
        self.attention_residual, self.ff_residual = Residual(config), Residual(config)

    def forward(self, x: Tensor, plan: AttentionPlan) -> Tensor:
        inner = self.attention_residual.before(x)
        x = self.attention_residual.after(x, self.attention(inner, plan))
        return self.ff_residual.after(x, self.feed_forward(self.ff_residual.before(x)))


class Encoder(nn.Module):
    """A stack of layers and a last norm: (N, width) -> (N, width)."""

    def __init__(self, config: LayerConfig, *, layers: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = config.heads, causal
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(layers))
        self.norm = nn.LayerNorm(config.width)

    def forward(self, x: Tensor, layout: Layout) -> Tensor:
        plan = AttentionPlan(layout, heads=self.heads, causal=self.causal)
        for layer in self.layers:
            x = layer(x, plan)
        return self.norm(x)  # type: ignore[no-any-return]


@dataclass
class DecoderCache:
    """What one decoding step needs of the steps before: G groups (one sketch of one source) of W rows (beams)."""

    own: list[tuple[Tensor, Tensor]]  # per layer: keys and values so far, (G, W, heads, t, dh)
    memory: list[tuple[Tensor, Tensor]]  # per layer: keys and values of the meaning, (G, heads, S, dh)
    form: list[Tensor]  # per layer: the form's value, (G, 1, width); none without forms
    blocked: Tensor  # (G, 1, 1, S), True at pads of the source

    @property
    def length(self) -> int:
        return self.own[0][0].shape[3] if self.own else 0

    def keep_groups(self, groups: Tensor) -> None:
        """Drop every group but these, (G',)."""
        self.own = [(k[groups], v[groups]) for k, v in self.own]
        self.memory = [(k[groups], v[groups]) for k, v in self.memory]
        self.form = [form[groups] for form in self.form]
        self.blocked = self.blocked[groups]

    def reorder_rows(self, rows: Tensor) -> None:
        """Row w of group g continues what row rows[g, w] was, (G, W')."""
        groups, width = self.own[0][0].shape[:2]
        places = (torch.arange(groups, device=rows.device)[:, None] * width + rows).flatten()

        def take(part: Tensor) -> Tensor:
            return part.flatten(0, 1).index_select(0, places).view(*rows.shape, *part.shape[2:])

        self.own = [(take(keys), take(values)) for keys, values in self.own]


class DecoderLayer(nn.Module):
    form_offset: Tensor

    def __init__(self, config: LayerConfig, *, meaning_width: int, form_width: int | None) -> None:
        super().__init__()
        self.self_attention = Attention(config, memory_width=config.width)
        self.cross_attention = Attention(config, memory_width=meaning_width)
        # The value part of the form in the memory [meaning ; form]; its key part has no effect. What is the same in
        # all forms may be told once, in the offset, and left out of the forms.
        if form_width is not None:
            self.form_value = nn.Linear(form_width, config.width, bias=False)
            self.register_buffer("form_offset", torch.zeros(config.width))
        self.feed_forward = FeedForward(config)
        self.self_residual, self.cross_residual, self.ff_residual = (Residual(config) for _ in range(3))

    def forward(
        self,
        x: Tensor,
        meaning: Tensor,
        form: Tensor | None,
        owners: Tensor,
        own: AttentionPlan,
        cross: AttentionPlan,
    ) -> Tensor:
        inner = self.self_residual.before(x)
        x = self.self_residual.after(x, self.self_attention(inner, own))
        # (B, width) -> one row a token
        extra = None if form is None else F.embedding(owners, self.read_form(form))
        inner = self.cross_residual.before(x)
        x = self.cross_residual.after(x, self.cross_attention(inner, cross, meaning, extra))
        return self.ff_residual.after(x, self.feed_forward(self.ff_residual.before(x)))

    def read_form(self, form: Tensor) -> Tensor:
        """What forms (B, form_width) add to all values, (B, width)."""
        return self.form_value(form) + self.form_offset  # type: ignore[no-any-return]

    def step(self, x: Tensor, cache: DecoderCache, index: int) -> Tensor:
        """The next position of every row, (G, W, width); this layer's part of the cache, `index`, grows by one."""
        inner = self.self_residual.before(x)
        keys, values = self.self_attention.split_memory(inner[:, :, None])  # (G, W, heads, 1, dh)
        if index < len(cache.own):
            old_keys, old_values = cache.own[index]
            cache.own[index] = torch.cat([old_keys, keys], dim=3), torch.cat([old_values, values], dim=3)
        else:
            cache.own.append((keys, values))
        x = self.self_residual.after(x, self.self_attention.attend(inner, *cache.own[index], None, None))
        inner = self.cross_residual.before(x)
        form = cache.form[index] if cache.form else None
        crossed = self.cross_attention.attend(inner, *cache.memory[index], cache.blocked, form)
        x = self.cross_residual.after(x, crossed)
        return self.ff_residual.after(x, self.feed_forward(self.ff_residual.before(x)))


class Decoder(nn.Module):
    """A stack of layers and a last norm, over the memory [meaning ; form], or over the meaning alone."""

    def __init__(self, config: LayerConfig, *, layers: int, meaning_width: int, form_width: int | None) -> None:
        super().__init__()
        self.heads = config.heads
        self.layers = nn.ModuleList(
            DecoderLayer(config, meaning_width=meaning_width, form_width=form_width) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(config.width)

    def forward(self, x: Tensor, layout: Layout, meaning: Tensor, source: Layout, form: Tensor | None = None) -> Tensor:
        """Targets x (N, width) over meaning (M, meaning_width) and form (B, form_width) -> (N, width)."""
        own = AttentionPlan(layout, heads=self.heads, causal=True)
        cross = AttentionPlan(layout, source, heads=self.heads)
        for layer in self.layers:
            x = layer(x, meaning, form, layout.owners.to(x.device), own, cross)
        return self.norm(x)  # type: ignore[no-any-return]

    def start(self, meaning: Tensor, mask: Tensor, sources: Tensor, form: Tensor | None = None) -> DecoderCache:
        """A cache for G groups: meaning (B, S, meaning_width), mask (B, S), sources (G,), form (G, form_width).

        Keys and values are computed once per source, however many groups look at it.
        """
        memory, forms = [], []
        for layer in self.decoder_layers:
            keys, values = layer.cross_attention.split_memory(meaning)
            memory.append((keys[sources], values[sources]))
            if form is not None:
                forms.append(layer.read_form(form)[:, None])
        return DecoderCache(own=[], memory=memory, form=forms, blocked=~mask[sources][:, None, None])

    def step(self, x: Tensor, cache: DecoderCache) -> Tensor:
        """The next position of every row, x (G, W, width) -> (G, W, width); the cache grows by one."""
        for index, layer in enumerate(self.decoder_layers):
            x = layer.step(x, cache, index)
        return self.norm(x)  # type: ignore[no-any-return]

    @property
    def decoder_layers(self) -> list[DecoderLayer]:
        return cast(list[DecoderLayer], list(self.layers))
