"""What stands between HRQ-VAE's encoder and decoder: the Gaussian meaning of each token, and the pooled form.

AE, VAE, VQ-VAE and Separator have other bottlenecks between the same encoder and decoder (`parasketch.systems`).
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from parasketch.model.pooling import AttentionPooling
from parasketch.model.ragged import Layout


@dataclass(frozen=True)
class Meaning:
    """Gaussian meaning of N tokens."""

    sample: Tensor
    """(N, width): a sample in training, the mean in evaluation."""
    divergence: Tensor
    """KL to the standard normal, mean over the dimensions, (N,)."""


class GaussianMeaning(nn.Module):
    """One Gaussian vector a token: mean and log-variance are linear maps of the encoder's state."""

    def __init__(self, *, input_width: int, width: int) -> None:
        super().__init__()
        self.mean = nn.Linear(input_width, width, bias=False)
        self.log_variance = nn.Linear(input_width, width, bias=False)

    def forward(self, states: Tensor) -> Meaning:
        """(N, input_width) -> meaning of (N, width)."""
        mean, log_variance = self.mean(states).float(), self.log_variance(states).float()
        sample = mean
        if self.training:
            sample = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return Meaning(sample=sample, divergence=divergence(mean, log_variance))


def divergence(mean: Tensor, log_variance: Tensor) -> Tensor:
    """KL of Gaussians (N, width) to the standard normal, mean over the dimensions, (N,)."""
    return 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).mean(dim=-1)


@dataclass(frozen=True)
class Calibration:
    """How forms changed: from f to (f - centre) * factor."""

    centre: Tensor
    """(width,)"""
    factor: float


class PooledForm(nn.Module):
    """One vector a sentence, to be quantised.

    `calibrate` fixes its centre and scale once, on real sentences: what tells forms apart must stand out from the
    Gumbel noise, and pooled states share a large part that tells nothing. Until then (in the paper always) it changes
    nothing.
    """

    centre: Tensor
    scale: Tensor

    def __init__(self, *, input_width: int, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.pooling = AttentionPooling(input_width=input_width, width=width, heads=heads, dropout=dropout)
        self.register_buffer("centre", torch.zeros(width))
        self.register_buffer("scale", torch.ones(width))

    def forward(self, states: Tensor, layout: Layout) -> Tensor:
        """(N, input_width) -> (B, width)."""
        pooled: Tensor = self.pooling(states, layout)
        return (pooled - self.centre) * self.scale

    @torch.no_grad()
    def calibrate(self, forms: Tensor, *, length: float) -> "Calibration":
        """Centre these forms (n, width) and give them a typical length."""
        mean = forms.mean(dim=0)
        factor = length / float((forms - mean).square().sum(dim=1).mean().sqrt().clamp_min(1e-6))
        self.centre += mean / self.scale
        self.scale *= factor
        return Calibration(mean, factor)
