"""A BERT encoder that reads two sentences at once and says how surely they mean the same.

Both sentences stand in one sequence, `[CLS] A [SEP] B [SEP]`, so every word of one is compared with every word of the
other; that is what a cosine of two separate vectors cannot do. The layers are BERT's (post-norm, learnt positions and
segments), so that published weights can be read into them. The head looks at [CLS] and at the strongest signal of any
token, since one word that does not fit is enough. Beside its embeddings every token carries one for how far it is
shared with the other sentence (`matches`): the network need not learn first which words to look at.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from parasketch.model.cross_encoder_config import EPSILON, MATCHES, CrossEncoderConfig


class BertLayer(nn.Module):
    """Self-attention and two linear layers around a GELU, each added to its input and normalised."""

    def __init__(self, config: CrossEncoderConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.query_key_value = nn.Linear(config.width, 3 * config.width)
        self.output = nn.Linear(config.width, config.width)
        self.attention_norm = nn.LayerNorm(config.width, eps=EPSILON)
        self.expand = nn.Linear(config.width, config.ff)
        self.contract = nn.Linear(config.ff, config.width)
        self.norm = nn.LayerNorm(config.width, eps=EPSILON)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """x (B, T, width), mask (B, 1, 1, T) true where there is a token, or None without pads."""
        rows, length, width = x.shape
        parts = self.query_key_value(x).view(rows, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # each (B, heads, T, width / heads)
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        x = self.attention_norm(x + self.output(attended.transpose(1, 2).reshape(rows, length, width)))
        return self.norm(x + self.contract(F.gelu(self.expand(x))))  # type: ignore[no-any-return]


class BertEncoder(nn.Module):
    """Token, position and segment embeddings, then the layers."""

    def __init__(self, config: CrossEncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocab_size, config.width)
        self.positions = nn.Embedding(config.max_length, config.width)
        self.segments = nn.Embedding(2, config.width)
        self.norm = nn.LayerNorm(config.width, eps=EPSILON)
        self.layers = nn.ModuleList(BertLayer(config) for _ in range(config.layers))
        for part in (self.tokens, self.positions, self.segments):
            nn.init.normal_(part.weight, std=0.02)

    def forward(
        self, tokens: Tensor, segments: Tensor, mask: Tensor | None = None, extra: Tensor | None = None
    ) -> Tensor:
        """Tokens and segments (B, T) and mask (B, T), true where there is a token -> (B, T, width).

        `extra` (B, T, width) joins the embeddings.
        """
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(places) + self.segments(segments)
        x = self.norm(x if extra is None else x + extra)
        wide = None if mask is None else mask[:, None, None]
        for layer in self.layers:
            x = layer(x, wide)
        return x  # type: ignore[no-any-return]

    def read_bert(self, weights: Mapping[str, Tensor]) -> None:
        """Take over the weights of a BERT encoder of the same shape, under the names that are usual for them."""
        state = {
            "tokens.weight": weights["embeddings.word_embeddings.weight"],
            "positions.weight": weights["embeddings.position_embeddings.weight"],
            "segments.weight": weights["embeddings.token_type_embeddings.weight"],
            **_renamed(weights, "norm", "embeddings.LayerNorm"),
        }
        for number in range(len(self.layers)):
            theirs, ours = f"encoder.layer.{number}", f"layers.{number}"
            for kind in ("weight", "bias"):
                parts = [weights[f"{theirs}.attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
                state[f"{ours}.query_key_value.{kind}"] = torch.cat(parts)
            state |= _renamed(weights, f"{ours}.output", f"{theirs}.attention.output.dense")
            state |= _renamed(weights, f"{ours}.attention_norm", f"{theirs}.attention.output.LayerNorm")
            state |= _renamed(weights, f"{ours}.expand", f"{theirs}.intermediate.dense")
            state |= _renamed(weights, f"{ours}.contract", f"{theirs}.output.dense")
            state |= _renamed(weights, f"{ours}.norm", f"{theirs}.output.LayerNorm")
        self.load_state_dict(state)


class CrossEncoder(nn.Module):
    """The encoder with a head of two linear layers: one number a pair, positive for "says the same"."""

    def __init__(self, config: CrossEncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = BertEncoder(config)
        self.matches = nn.Embedding(MATCHES, config.width)
        nn.init.zeros_(self.matches.weight)  # published weights know nothing of them
        self.hidden = nn.Linear(2 * config.width, config.width)
        self.score = nn.Linear(config.width, 1)

    def forward(self, tokens: Tensor, segments: Tensor, matches: Tensor, mask: Tensor | None = None) -> Tensor:
        """Tokens, segments and matches (B, T) and mask (B, T), true where there is a token -> logits (B,)."""
        x = self.encoder(tokens, segments, mask, self.matches(matches))
        strongest = x if mask is None else x.masked_fill(~mask[:, :, None], -torch.inf)
        pooled = torch.cat([x[:, 0], strongest.amax(dim=1)], dim=1)
        return self.score(torch.tanh(self.hidden(pooled))).squeeze(1)  # type: ignore[no-any-return]


def _renamed(weights: Mapping[str, Tensor], ours: str, theirs: str) -> dict[str, Tensor]:
    return {f"{ours}.{kind}": weights[f"{theirs}.{kind}"] for kind in ("weight", "bias")}
