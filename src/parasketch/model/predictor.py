"""The sketch prediction network: which sketches suit a meaning, one small MLP a level.

Level d sees the pooled meaning and the path so far: the sum of the embeddings of codes 1..d-1 as the paper writes,
or only the embedding of code d-1 as its code does. Everything it reads is detached: predicting sketches never
shapes the encoder or the codebooks.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from parasketch.model.pooling import AttentionPooling
from parasketch.model.ragged import Layout


class SketchPredictor(nn.Module):
    """p(q_1, ..., q_D | meaning), level by level."""

    def __init__(
        self,
        *,
        input_width: int,
        width: int,
        heads: int,
        hidden: int,
        form_width: int,
        levels: int,
        codes: int,
        dropout: float,
        conditioning: Literal["previous", "cumulative"],
    ) -> None:
        super().__init__()
        self.conditioning = conditioning
        self.project = nn.Linear(input_width, width, bias=False)
        self.pooling = AttentionPooling(input_width=width, width=width, heads=heads, dropout=dropout)
        self.mlps = nn.ModuleList(
            nn.Sequential(
                nn.Linear(width + form_width, hidden),
                nn.ReLU(inplace=True),
                nn.Dropout(dropout),
                nn.Linear(hidden, hidden),
                nn.ReLU(inplace=True),
                nn.Dropout(dropout),
                nn.Linear(hidden, codes),
            )
            for _ in range(levels)
        )

    def pool(self, states: Tensor, layout: Layout) -> Tensor:
        """What the predictor knows of each source: states (N, input_width) -> (B, width)."""
        pooled: Tensor = self.pooling(self.project(states.detach()), layout)
        return pooled

    def logits(self, pooled: Tensor, prefix: Tensor, codebooks: Tensor) -> Tensor:
        """Scores of the codes of the next level: pooled (B, width), prefix (B, d) -> (B, codes).

        `codebooks` is (levels, codes, form_width).
        """
        level = prefix.shape[1]
        scores: Tensor = self.mlps[level](torch.cat([pooled, self._path(prefix, codebooks.detach())], dim=-1))
        return scores

    def forward(self, pooled: Tensor, codes: Tensor, codebooks: Tensor) -> Tensor:
        """Scores at every level given the true codes before it: (B, width), (B, D) -> (B, D, codes)."""
        levels = [self.logits(pooled, codes[:, :level], codebooks) for level in range(len(self.mlps))]
        return torch.stack(levels, dim=1)

    def _path(self, prefix: Tensor, codebooks: Tensor) -> Tensor:
        """The embedding of the path so far, (B, d) -> (B, form_width)."""
        path = codebooks.new_zeros(len(prefix), codebooks.shape[-1])
        first = 0 if self.conditioning == "cumulative" else max(0, prefix.shape[1] - 1)
        for level in range(first, prefix.shape[1]):
            path = path + codebooks[level][prefix[:, level]]
        return path
