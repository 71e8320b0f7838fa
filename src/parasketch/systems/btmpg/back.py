"""The back model: from a paraphrase, or from what the paraphraser is about to say, to the source.

A Transformer with a pointer. It reads tokens, or soft ones, which are distributions over the vocabulary: then what it
fails to get back is a gradient for the paraphraser.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from parasketch.model.copying import CopyHead
from parasketch.model.inputs import Sentences
from parasketch.model.likelihood import token_log_likelihood
from parasketch.model.ragged import Layout, pad
from parasketch.model.transformer import Decoder, Encoder, LayerConfig, TokenEmbedding
from parasketch.systems.btmpg.config import ModelConfig


@dataclass
class SoftSentences:
    """B sentences of soft tokens."""

    vectors: Tensor
    """(N, width): the expected vectors of the tokens, at the size that networks read"""
    layout: Layout
    steps: list[Tensor]
    """(B, V) at each step: the distributions; at the pads too"""


class BackModel(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        layer = LayerConfig(
            width=config.width,
            heads=config.back_heads,
            ff=config.back_ff,
            dropout=config.dropout,
            attention_dropout=0.0,
            pre_norm=True,
            bias=True,
        )
        self.encoder = Encoder(layer, layers=config.back_layers, causal=False)
        self.decoder = Decoder(layer, layers=config.back_layers, meaning_width=config.width, form_width=None)
        self.copying = CopyHead(width=config.width, state_width=config.width, pointer_width=config.copy_width)

    def forward(
        self, table: TokenEmbedding, read: Sentences | SoftSentences, inputs: Sentences, targets: Tensor
    ) -> Tensor:
        """log p of every token of the targets (N,), which the decoder reads one later, `inputs`."""
        layout, device = read.layout, targets.device
        positions = layout.positions.to(device)
        if isinstance(read, Sentences):
            states = self.encoder(table(read.tokens, positions), layout)
        else:
            states = self.encoder(table.dropout(read.vectors + table.positions[positions]), layout)
        vectors = table(inputs.tokens, inputs.layout.positions.to(device))
        hidden = self.decoder(vectors, inputs.layout, states, layout)
        generated = token_log_likelihood(hidden, table.weight, targets)
        wanted = pad(targets, inputs.layout)  # (B, U)
        if isinstance(read, Sentences):
            same = wanted[:, :, None] == pad(read.tokens, layout)[:, None]
        else:  # (B, U, S): the probability of every wanted token at every step
            same = torch.stack([step.gather(1, wanted) for step in read.steps[: layout.longest]], dim=2)
        return self.copying.mixed_with_copies(hidden, inputs.layout, states, layout, same, generated)
