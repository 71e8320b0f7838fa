"""An optional pointer head: names and numbers of the source can be copied token by token.

p(y) = (1 - g) softmax(y) + g sum_t a_t [x_t = y], with attention a over the source tokens and a gate g.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from parasketch.model.ragged import Layout, pad

SMALLEST = 1e-9  # keeps log 0 of a token that does not occur in the source finite


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
        query, key = pad(self.query(hidden), layout), pad(self.key(states), source)
        attention = self.attention(query, key, ~source.mask.to(hidden.device)[:, None])  # (B, U, S)
        same = pad(targets, layout)[:, :, None] == pad(source_tokens, source)[:, None]
        copied = (attention * same).sum(-1).flatten().index_select(0, layout.slots.to(hidden.device))
        gate = self.gate(hidden).squeeze(-1)
        return torch.logaddexp(F.logsigmoid(-gate) + generated, F.logsigmoid(gate) + copied.clamp_min(SMALLEST).log())

    def attention(self, query: Tensor, key: Tensor, blocked: Tensor) -> Tensor:
        """Pointer weights (G, W, S) of queries (G, W, p) over keys (G, S, p); blocked is (G, 1, S)."""
        scores = query @ key.transpose(-1, -2) / math.sqrt(key.shape[-1])
        return torch.softmax(scores.masked_fill(blocked, -math.inf), dim=-1)

    def mix(self, log_probs: Tensor, hidden: Tensor, key: Tensor, tokens: Tensor, blocked: Tensor) -> Tensor:
        """One decoding step: log_probs (G, W, V), hidden (G, W, width), keys (G, S, p), source tokens (G, S)."""
        attention = self.attention(self.query(hidden), key, blocked)
        gate = torch.sigmoid(self.gate(hidden))
        mixed = log_probs.exp().mul_(1 - gate)
        mixed.scatter_add_(-1, tokens[:, None].expand_as(attention), gate * attention)
        return mixed.clamp_min_(SMALLEST).log_()
