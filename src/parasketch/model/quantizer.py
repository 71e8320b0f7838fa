"""Hierarchical refinement quantisation: a vector becomes a path of codes, coarse to fine.

The equations of the paper, one method each. With codebooks C_1..C_D of K rows and r_1 = x:

    s_d     = -||r_d - C_d||^2                      scores of the K codes of level d          (`scores`)
    p_d     = one-hot sample of softmax(s_d + g)    straight-through Gumbel in training, argmax in evaluation
    r_{d+1} = r_d - p_d C_d                         what is left to refine
    z       = sum_d m_d p_d C_d                     m_d: depth dropout, prod_{i<=d} Bernoulli(1 - p)

The module knows nothing of text; `fit` quantises any vectors.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from parasketch.extras import needs

USAGE_DECAY = 0.99


@dataclass(frozen=True)
class QuantizerOutput:
    """What `HierarchicalQuantizer.forward` returns."""

    vector: Tensor
    """The quantised vectors, (B, width)."""
    codes: Tensor
    """The chosen codes, (B, levels); samples in training."""
    scores: Tensor
    """Negative squared distances of the residuals to every code, (B, levels, codes)."""


class HierarchicalQuantizer(nn.Module):
    """D codebooks of K codes; level d quantises what levels 1..d-1 left over."""

    usage: Tensor

    def __init__(
        self,
        *,
        width: int,
        levels: int = 3,
        codes: int = 16,
        depth_dropout: float = 0.3,
        init_gain: float = 6.0,
        init_decay: float = 0.5,
    ) -> None:
        super().__init__()
        self.width, self.levels, self.codes, self.depth_dropout = width, levels, codes, depth_dropout
        self.codebooks = nn.Parameter(torch.empty(levels, codes, width))
        for level in range(levels):  # initialisation decay: every level starts at half the scale of the last
            nn.init.xavier_uniform_(self.codebooks[level], gain=init_gain * init_decay**level)
        # Moving average of how often each code is chosen; health only, no part of the method.
        self.register_buffer("usage", torch.full((levels, codes), 1 / codes))

    def forward(self, x: Tensor, temperature: float = 1.0) -> QuantizerOutput:
        """Quantise (B, width): sampled codes and depth dropout in training, the nearest codes in evaluation.

        `temperature` shapes the gradient of the samples.
        """
        residual, embeddings, codes, scores = x, [], [], []
        for level in range(self.levels):
            score = self.scores(residual, level)
            choice = self._sample(score, temperature) if self.training else _one_hot(score)
            embedding = choice @ self.codebooks[level]
            residual = residual - embedding
            embeddings.append(embedding)
            codes.append(choice.argmax(dim=-1))
            scores.append(score)
        chosen = torch.stack(codes, dim=1)
        if self.training:
            self._count(chosen)
        vector = self._compose(torch.stack(embeddings, dim=1))
        return QuantizerOutput(vector=vector, codes=chosen, scores=torch.stack(scores, dim=1))

    def scores(self, residual: Tensor, level: int) -> Tensor:
        """Negative squared distance of each residual to each code of a level: (B, width) -> (B, codes)."""
        codebook = self.codebooks[level]
        squares = residual.square().sum(-1, keepdim=True) + codebook.square().sum(-1)
        return 2 * residual @ codebook.T - squares

    @torch.no_grad()
    def encode(self, x: Tensor) -> Tensor:
        """The nearest codes of each vector, (B, width) -> (B, levels)."""
        return torch.stack([codes for _, codes in self._descend(x)], dim=1)

    def decode(self, codes: Tensor, depth: int | None = None) -> Tensor:
        """The vectors of the given codes, (B, L) -> (B, width): the sum of the first `depth` code embeddings."""
        length = codes.shape[1] if depth is None else min(depth, codes.shape[1])
        vector = self.codebooks.new_zeros(len(codes), self.width)
        for level in range(length):
            vector = vector + self.codebooks[level][codes[:, level]]
        return vector

    @torch.no_grad()
    def fit(self, x: Tensor, *, seed: int = 0) -> "HierarchicalQuantizer":
        """Set the codebooks by k-means on (n, width) vectors, level by level on what is left over."""
        with needs("train", "k-means"):
            from sklearn.cluster import KMeans

        residual = x.detach().float().cpu()
        for level in range(self.levels):
            points = residual.numpy()
            distinct = len(np.unique(points, axis=0))
            means = KMeans(n_clusters=min(self.codes, distinct), n_init=4, random_state=seed + level).fit(points)
            centres = torch.from_numpy(means.cluster_centers_.astype(np.float32))
            # Fewer distinct points than codes: the spare codes start at points that others hold already.
            spare = residual[torch.arange(self.codes - len(centres)) % len(residual)]
            self.codebooks[level] = torch.cat([centres, spare]).to(self.codebooks)
            residual = residual - centres[torch.from_numpy(means.labels_).long()]
        self.usage.fill_(1 / self.codes)
        return self

    @torch.no_grad()
    def revive(self, x: Tensor, *, threshold: float = 0.1, generator: torch.Generator | None = None) -> int:
        """Move codes used less than `threshold` times their fair share onto random residuals of x (B, width).

        No two move to the same place: where there are more of them than different residuals, the others wait. A
        revived code has some time to find its place before it counts as dead again. Returns how many moved.
        """
        moved = 0
        for level, (residual, _) in enumerate(self._descend(x)):
            dead = (self.usage[level] * self.codes < threshold).nonzero().squeeze(1)
            if len(dead):
                places = torch.unique(residual, dim=0)
                picks = torch.randperm(len(places), generator=generator)[: len(dead)]
                dead = dead[: len(picks)]
                self.codebooks[level, dead] = places[picks.to(places.device)]
                self.usage[level, dead] = 2 * threshold / self.codes
                moved += len(dead)
        return moved

    def perplexity(self) -> list[float]:
        """How many codes of each level are effectively in use, 1 to `codes`."""
        share = self.usage / self.usage.sum(-1, keepdim=True)
        entropy = -(share * share.clamp_min(1e-12).log()).sum(-1)
        return [math.exp(value) for value in entropy.tolist()]

    def imbalance(self, scores: Tensor) -> Tensor:
        """KL(mean choice || uniform) of a batch, scores (B, levels, codes), averaged over the levels.

        It lets every single choice be sure, and only asks that all codes be chosen.
        """
        mean = torch.softmax(scores, dim=-1).mean(dim=0)
        return (mean * mean.clamp_min(1e-12).log()).sum(-1).mean() + math.log(self.codes)

    def _descend(self, x: Tensor) -> list[tuple[Tensor, Tensor]]:
        """The residual that enters each level (B, width), and the nearest code there (B,)."""
        path, residual = [], x
        for level in range(self.levels):
            codes = self.scores(residual, level).argmax(dim=-1)
            path.append((residual, codes))
            residual = residual - self.codebooks[level][codes]
        return path

    def _sample(self, scores: Tensor, temperature: float) -> Tensor:
        """Straight-through Gumbel: one-hot forward, the gradient of the softened sample backward."""
        # The exponential variable is -log U; the small constant only guards log(0).
        gumbel = -torch.empty_like(scores).exponential_().add_(1e-20).log()
        soft = torch.softmax((scores + gumbel) / temperature, dim=-1)
        return _one_hot(soft) + (soft - soft.detach())  # what is added is exactly 0

    def _compose(self, embeddings: Tensor) -> Tensor:
        """Sum the embeddings (B, levels, width) over the levels that are kept."""
        kept = embeddings.new_ones(embeddings.shape[:2])
        if self.training and self.depth_dropout:
            kept = kept * torch.rand_like(kept).ge(self.depth_dropout).cumprod(dim=1)
        return torch.einsum("bl,blw->bw", kept, embeddings)

    @torch.no_grad()
    def _count(self, codes: Tensor) -> None:
        counts = F.one_hot(codes, self.codes).float().mean(dim=0)
        self.usage.lerp_(counts, 1 - USAGE_DECAY)


def _one_hot(scores: Tensor) -> Tensor:
    return F.one_hot(scores.argmax(dim=-1), scores.shape[-1]).to(scores)
