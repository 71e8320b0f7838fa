"""An optional pointer head: names and numbers of the source can be copied token by token.

p(y) = (1 - g) softmax(y) + g sum_t a_t [x_t = y], with attention a over the source tokens and a gate g.
"""

import math

import torch
from torch import Tensor, nn

from parasketch.model.ragged import Layout, pad

SMALLEST = 1e-9  # a probability that rounding made 0 has a finite log all the same


class CopyHead(nn.Module):
    def __init__(self, *, width: int, state_width: int, pointer_width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, pointer_width, bias=False)
        self.key = nn.Linear(state_width, pointer_width, bias=False)
        self.gate = nn.Linear(width, 1)
        nn.init.constant_(self.gate.bias, -1.0)  # start from generating: the pointer knows nothing yet

    def log_likelihood(
        self,
        hidden: Tensor,
        layout: Layout,
        states: Tensor,
        source_tokens: Tensor,
        source: Layout,
        targets: Tensor,
        generated: Tensor,
    ) -> Tensor:
        """Mix the log-likelihood `generated` (N,) of the targets with that of copying them.

        hidden (N, width) and targets (N,) belong to B target sentences, states (M, state_width) and source_tokens (M,)
        to their sources.
        """
        same = pad(targets, layout)[:, :, None] == pad(source_tokens, source)[:, None]
        return self.mixed_with_copies(hidden, layout, states, source, same, generated)

    def mixed_with_copies(
        self, hidden: Tensor, layout: Layout, states: Tensor, source: Layout, same: Tensor, generated: Tensor
    ) -> Tensor:
        """The same for any source: `same` (B, U, S) is how much of each source token is each target token."""
        query, key = pad(self.query(hidden), layout), pad(self.key(states), source)
        attention = self.attention(query, key, ~source.mask.to(hidden.device)[:, None])  # (B, U, S)
        copied = (attention * same).sum(-1).flatten().index_select(0, layout.slots.to(hidden.device))
        return mixture(generated, torch.sigmoid(self.gate(hidden).float()).squeeze(-1), copied)

    def attention(self, query: Tensor, key: Tensor, blocked: Tensor) -> Tensor:
        """Pointer weights (G, W, S) of queries (G, W, p) over keys (G, S, p); blocked is (G, 1, S)."""
        scores = query @ key.transpose(-1, -2) / math.sqrt(key.shape[-1])
        return torch.softmax(scores.masked_fill(blocked, -math.inf), dim=-1)

    def mix(self, log_probs: Tensor, hidden: Tensor, key: Tensor, tokens: Tensor, blocked: Tensor) -> Tensor:
        """One decoding step: log_probs (G, W, V), hidden (G, W, width), keys (G, S, p), source tokens (G, S)."""
        attention = self.attention(self.query(hidden), key, blocked)
        copied = torch.zeros_like(log_probs).scatter_add_(-1, tokens[:, None].expand_as(attention), attention)
        return mixture(log_probs, torch.sigmoid(self.gate(hidden)), copied)


def mixture(generated: Tensor, gate: Tensor, copied: Tensor | float) -> Tensor:
    """log((1 - g) p + g c) of tokens: p is given as its log, c is the probability to copy them.

    What cannot be generated because it is forbidden (log p is -inf) cannot be copied either.
    """
    mixed = ((1 - gate) * generated.exp() + gate * copied).clamp_min(SMALLEST).log()
    return mixed.masked_fill(generated == -math.inf, -math.inf)
