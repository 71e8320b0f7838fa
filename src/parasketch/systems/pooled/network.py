"""The network of the systems with one vector a sentence: encoder, bottleneck, decoder.

    source -> encoder -> one vector (the bottleneck) -> the only memory of the decoder -> target

What tells AE, VAE and VQ-VAE apart is the bottleneck. Nothing of the source reaches the decoder beside the vector, so
there is no copying either.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from parasketch.model.inputs import Sentences
from parasketch.model.likelihood import token_log_likelihood
from parasketch.model.outputs import DecodingState
from parasketch.model.ragged import Layout
from parasketch.model.shared import EncoderDecoder
from parasketch.systems.pooled.config import PooledModelConfig
from parasketch.systems.pooled.pairs import PairBatch


@dataclass
class Latent:
    """B sentences as one vector each."""

    vector: Tensor
    """(B, width): a sample in training where the bottleneck is noisy, else the mean."""
    penalties: dict[str, Tensor] = field(default_factory=dict)
    """What the bottleneck asks to be added to the loss, by name, (B,) each."""
    deviation: Tensor | None = None
    """(B, width), the standard deviation of a noisy bottleneck."""


@dataclass  # not frozen: Fabric hooks into the tensors of what a forward returns
class PooledOutput:
    """What one training forward gives; B pairs with N target tokens."""

    log_likelihood: Tensor
    """Of every target token, (N,)."""
    penalties: dict[str, Tensor]
    """(B,) each."""


class PooledNetwork(EncoderDecoder, ABC):
    """Encoder and decoder around a bottleneck."""

    config_type = PooledModelConfig
    config: PooledModelConfig

    @abstractmethod
    def squeeze(self, states: Tensor, layout: Layout) -> Latent:
        """The bottleneck: encoder states (N, width) of B sentences -> one vector each."""

    def forward(self, batch: PairBatch) -> PooledOutput:
        """One pass over B pairs."""
        latent = self.squeeze(self.states(batch.encoded), batch.encoded.layout)
        places = torch.from_numpy(batch.source_places).to(latent.vector.device)
        hidden = self.decode(batch.decoder_input, latent.vector[places])
        return PooledOutput(token_log_likelihood(hidden, self.embedding.weight, batch.targets), latent.penalties)

    def encode(self, sentences: Sentences) -> Latent:
        """The vectors of sentences that begin and end with their special tokens, in their order; evaluation only."""
        ordered, order = sentences.sorted_by_length()
        latent = self.squeeze(self.states(ordered), ordered.layout)
        places = torch.from_numpy(order).to(latent.vector.device)
        deviation = None if latent.deviation is None else latent.deviation[places]
        return Latent(latent.vector[places], deviation=deviation)

    def decode(self, inputs: Sentences, vectors: Tensor) -> Tensor:
        """Hidden states (N, width) of B sentences, each over its one vector (B, width)."""
        memory = Layout(np.ones(len(vectors), dtype=np.int64))
        hidden: Tensor = self.decoder(self.embed_inputs(inputs), inputs.layout, vectors, memory)
        return hidden

    def start(self, vectors: Tensor) -> DecodingState:
        """Begin decoding G groups, each from its vector (G, width)."""
        groups, device = len(vectors), vectors.device
        mask = torch.ones(groups, 1, dtype=torch.bool, device=device)
        return self.start_decoding(vectors[:, None], mask, torch.arange(groups, device=device))

    def log_likelihood(self, vectors: Tensor, targets: Sentences) -> Tensor:
        """log p of G target sentences (begin and end included), each from its vector (G, width); evaluation only."""
        ordered, order = targets.sorted_by_length()
        places = torch.from_numpy(order).to(vectors.device)
        inputs, wanted = ordered.shifted()
        hidden = self.decode(inputs, vectors[places.argsort()])
        scores = token_log_likelihood(hidden, self.embedding.weight, wanted)
        summed = scores.new_zeros(len(vectors)).index_add(0, inputs.layout.owners.to(scores.device), scores)
        return summed[places]
