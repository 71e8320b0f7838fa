"""Paraphrases by the VAE: one from the mean of the vector; several from as many samples of it."""

from collections.abc import Sequence
from pathlib import Path

import torch

from parasketch.generate.requests import Options, Request
from parasketch.systems.plain_engine import load_as, noise_generator
from parasketch.systems.pooled.engine import PooledEngine, Variant
from parasketch.systems.pooled.network import Latent
from parasketch.text.sentence_encoder import SentenceModel


class VaeEngine(PooledEngine):
    def variants(self, latent: Latent, requests: Sequence[Request], options: Options) -> list[list[Variant]]:
        if options.n == 1 or latent.deviation is None:
            return super().variants(latent, requests, options)
        return [
            [Variant(mean + noise * deviation) for noise in self._noise(request, options, mean)]
            for request, mean, deviation in zip(requests, latent.vector, latent.deviation, strict=True)
        ]

    def _noise(self, request: Request, options: Options, mean: torch.Tensor) -> torch.Tensor:
        """n standard normal vectors, (n, width), the text's own."""
        numbers = torch.randn(options.n, len(mean), generator=noise_generator(request.text.text, options.seed))
        return numbers.to(mean)


def load_engine(directory: Path, device: str | None, semantic: SentenceModel | None) -> PooledEngine:
    """The model of a directory with the settings stored beside it."""
    return load_as(VaeEngine, directory, device, semantic)
