"""Product quantisation with codebooks that follow what they are chosen for: a moving average instead of a gradient.

A vector is cut into H heads, and each has a codebook E of K rows of its own. With a head h of a vector:

    a = softmax(-||h - E||^2)          in training (no gradient); one-hot of the nearest row in evaluation
    z = h + stopgrad(a E - h)          straight-through
    L = c mean (stopgrad(a E) - h)^2   commitment
    N <- d N + (1 - d) sum a;  N <- (N + e) / (sum N + K e) sum N;  M <- d M + (1 - d) a' h;  E <- M / N

The last line is `update`, once a step, with the sums over all parts of the batch and all processes. The module knows
nothing of text.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

SMOOTHING = 1e-5
DEAD_BELOW = 0.01
"""A code that is chosen less than this times its fair share counts as dead."""


@dataclass(frozen=True)
class EmaOutput:
    """What `EmaQuantizer.forward` returns."""

    vector: Tensor
    """The quantised vectors, (B, width)."""
    codes: Tensor
    """The nearest code of each head, (B, heads)."""
    loss: Tensor
    """The commitment of each vector, mean over its dimensions, (B,)."""


class EmaQuantizer(nn.Module):
    """H independent codebooks of K codes, for slices of width / H dimensions."""

    codebooks: Tensor
    counts: Tensor
    sums: Tensor
    usage: Tensor

    def __init__(self, *, width: int, heads: int, codes: int, decay: float = 0.99, commitment: float = 0.25) -> None:
        super().__init__()
        self.width, self.heads, self.codes, self.decay, self.commitment = width, heads, codes, decay, commitment
        start = torch.randn(heads, codes, width // heads)
        self.register_buffer("codebooks", start)
        self.register_buffer("sums", start.clone())
        self.register_buffer("counts", torch.zeros(heads, codes))
        # Moving average of how often each code is the nearest; health only, no part of the method.
        self.register_buffer("usage", torch.full((heads, codes), 1 / codes))
        self._seen: list[tuple[Tensor, Tensor, Tensor]] = []  # counts, sums and choices of the batch's parts

    def forward(self, x: Tensor) -> EmaOutput:
        """Quantise (B, width): softly in training, to the nearest codes in evaluation."""
        heads = self._heads(x)  # (B, H, dh)
        with torch.no_grad():
            scores = self.scores(heads)
            codes = scores.argmax(dim=-1)
            choice = F.one_hot(codes, self.codes).to(x)
            if self.training:
                nearest, choice = choice, torch.softmax(scores, dim=-1)
                sums = torch.einsum("bhk,bhd->hkd", choice, heads)
                self._seen.append((choice.sum(dim=0), sums, nearest.sum(dim=0)))
            quantised = torch.einsum("bhk,hkd->bhd", choice, self.codebooks).flatten(1)
        loss = self.commitment * (quantised - x).square().mean(dim=-1)
        return EmaOutput(x + (quantised - x).detach(), codes, loss)

    def scores(self, heads: Tensor) -> Tensor:
        """Negative squared distance of each head to each of its codes: (B, H, dh) -> (B, H, K)."""
        squares = heads.square().sum(-1, keepdim=True) + self.codebooks.square().sum(-1)
        return 2 * torch.einsum("bhd,hkd->bhk", heads, self.codebooks) - squares

    @torch.no_grad()
    def encode(self, x: Tensor) -> Tensor:
        """The nearest codes of each vector, (B, width) -> (B, heads)."""
        return self.scores(self._heads(x)).argmax(dim=-1)

    def decode(self, codes: Tensor) -> Tensor:
        """The vectors of the given codes, (B, heads) -> (B, width)."""
        return self.codebooks[torch.arange(self.heads, device=codes.device), codes].flatten(1)

    @torch.no_grad()
    def update(self, add_up: Callable[[Tensor], Tensor] = lambda part: part) -> None:
        """Move the codes to where they were chosen since the last update; `add_up` sums over the processes."""
        if not self._seen:
            return
        counts, sums, chosen = (add_up(torch.stack(part).sum(dim=0)) for part in zip(*self._seen, strict=True))
        self._seen = []
        rate = 1 - self.decay
        self.counts.lerp_(counts, rate)
        total = self.counts.sum(dim=-1, keepdim=True)
        self.counts.copy_((self.counts + SMOOTHING) / (total + self.codes * SMOOTHING) * total)
        self.sums.lerp_(sums, rate)
        self.codebooks.copy_(self.sums / self.counts[..., None])
        self.usage.lerp_(chosen / chosen.sum(dim=-1, keepdim=True), rate)

    def perplexity(self) -> list[float]:
        """How many codes of each head are effectively in use, 1 to `codes`."""
        share = self.usage / self.usage.sum(-1, keepdim=True)
        entropy = -(share * share.clamp_min(1e-12).log()).sum(-1)
        return [math.exp(value) for value in entropy.tolist()]

    def dead_share(self) -> float:
        """The share of all codes that are hardly ever chosen."""
        return float((self.usage * self.codes < DEAD_BELOW).float().mean())

    def _heads(self, x: Tensor) -> Tensor:
        return x.view(len(x), self.heads, -1)
