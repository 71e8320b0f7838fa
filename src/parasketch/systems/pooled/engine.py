"""Paraphrases by a network with one vector a sentence: encode, perhaps vary the vector, beam search."""

import math
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from parasketch.generate.paraphrases import Sketch
from parasketch.generate.requests import Options, Request
from parasketch.generate.torch_backend import TransformerDecoding
from parasketch.model.outputs import DecodingState
from parasketch.systems.plain_engine import Found, PlainEngine, load_as
from parasketch.systems.pooled.network import Latent, PooledNetwork
from parasketch.text.sentence_encoder import SentenceModel


@dataclass(frozen=True)
class Variant:
    """Something to decode for one text."""

    vector: Tensor
    """(width,), or as many of them as the decoder's memory has, (S, width)"""
    sketch: Sketch = field(default_factory=Sketch)
    log_prob: float = 0.0
    """Of the sketch."""


class VariantEngine(PlainEngine):
    """A network that says several variants of an input."""

    @abstractmethod
    def all_variants(self, requests: Sequence[Request], options: Options) -> list[list[Variant]]:
        """What to decode for each text, best first; each text's depend on nothing but itself."""

    @abstractmethod
    def start(self, variants: Sequence[Variant]) -> DecodingState:
        """Begin decoding each variant."""

    def find(self, requests: Sequence[Request], options: Options) -> list[list[Found]]:
        """The sentences of each text, the best of each of its variants first."""
        variants = self.all_variants(requests, options)
        by_width: dict[int, list[int]] = defaultdict(list)
        for place, each in enumerate(variants):
            by_width[self._width(options, len(each))].append(place)
        found: list[list[tuple[int, Found]]] = [[] for _ in requests]
        for width, places in by_width.items():
            groups = [(place, number, variant) for place in places for number, variant in enumerate(variants[place])]
            decoding = TransformerDecoding(self.network, self.start([variant for _, _, variant in groups]))
            named = [(requests[place], number) for place, number, _ in groups]
            hypotheses = self.search(decoding, named, options, width=width)
            for (place, _, variant), best in zip(groups, hypotheses, strict=True):
                found[place] += [(rank, Found(one, variant.sketch, variant.log_prob)) for rank, one in enumerate(best)]
        return [[one for _, one in sorted(each, key=lambda pair: pair[0])] for each in found]

    def _width(self, options: Options, variants: int) -> int:
        """Rows of a beam: where variants are few, one more than each has to give, should one be a copy or a repeat."""
        wanted = math.ceil(options.n / max(1, variants))
        return max(self.config.beam, wanted + 1 if options.n > 1 else 1)


class PooledEngine(VariantEngine):
    """A network with one vector a sentence."""

    network: PooledNetwork

    def variants(self, latent: Latent, requests: Sequence[Request], options: Options) -> list[list[Variant]]:
        """The vectors to decode for each text, best first; each text's depend on nothing but itself."""
        del requests, options
        return [[Variant(vector)] for vector in latent.vector]

    def all_variants(self, requests: Sequence[Request], options: Options) -> list[list[Variant]]:
        latent = self.network.encode(self.sentences([request.text for request in requests]))
        return self.variants(latent, requests, options)

    def start(self, variants: Sequence[Variant]) -> DecodingState:
        return self.network.start(torch.stack([variant.vector for variant in variants]))


def load_engine(directory: Path, device: str | None, semantic: SentenceModel | None) -> PooledEngine:
    """The model of a directory with the settings stored beside it."""
    return load_as(PooledEngine, directory, device, semantic)
