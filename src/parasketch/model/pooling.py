"""Attention pooling: a sentence's token vectors become one vector, by learned queries (one a head)."""

import math

import torch
from torch import Tensor, nn

from parasketch.model.ragged import Layout, pad


class AttentionPooling(nn.Module):
    """Each head takes its own weighted mean of its slice of the values; pads never take part."""

    def __init__(self, *, input_width: int, width: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads = heads
        self.scores = nn.Linear(input_width, heads)
        self.values = nn.Linear(input_width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, layout: Layout) -> Tensor:
        """Token vectors (N, input_width) -> one vector a sentence (B, width)."""
        scores = pad(self.scores(x), layout).masked_fill(~layout.mask.to(x.device)[:, :, None], -math.inf)
        weights = self.dropout(torch.softmax(scores, dim=1))  # (B, T, heads)
        values = pad(self.values(x), layout)
        values = values.view(*values.shape[:2], self.heads, -1)  # (B, T, heads, width / heads)
        return torch.einsum("bth,bthd->bhd", weights, values).flatten(1)
