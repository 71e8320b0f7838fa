"""Two Transformers with wanted orders: REAP says sentences, SOW says phrases with two gaps.

    source -> encoder -> states + the rank of each token in the wanted order -> the memory of the decoder -> target

The order enters behind the encoder: what a word means stays apart from when it is to be said. Both networks are trained
side by side and share nothing.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from parasketch.model.inputs import Sentences
from parasketch.model.likelihood import token_log_likelihood
from parasketch.model.outputs import DecodingState
from parasketch.model.ragged import Layout, pad, select_rows
from parasketch.model.shared import EncoderDecoder
from parasketch.model.transformer import sinusoids
from parasketch.systems.sowreap.config import ModelConfig
from parasketch.systems.sowreap.examples import OrderedPairs, SowReapBatch


class Ordered(EncoderDecoder):
    """An encoder and a decoder with an order between them."""

    config_type = ModelConfig
    config: ModelConfig

    def __init__(self, config: ModelConfig, *, mask_id: int) -> None:
        super().__init__(config, mask_id=mask_id)
        self.ranks = nn.Embedding(config.max_length, config.width)
        self.ranks.weight.data.copy_(sinusoids(config.max_length, config.width))

    def log_likelihood(self, pairs: OrderedPairs) -> Tensor:
        """Of every target token, (N,)."""
        memory = self.add_order(self.read(pairs.encoded, pairs.tags), pairs.ranks)
        layout, rows = pairs.encoded.layout.select(pairs.source_places)
        inputs = pairs.decoder_input
        hidden = self.decoder(self.embed_inputs(inputs), inputs.layout, select_rows(memory, rows), layout)
        return token_log_likelihood(hidden, self.embedding.weight, pairs.targets)

    def read(self, sentences: Sentences, tags: Tensor | None = None) -> Tensor:
        """The encoder's states, (N, width), of sentences that are sorted by length."""
        del tags
        return self.states(sentences)

    def encode(self, sentences: Sentences, tags: Tensor | None = None) -> Tensor:
        """The encoder's states, (N, width), of sentences in any order; evaluation only."""
        ordered, places = sentences.sorted_by_length()
        if tags is not None:
            tags = Sentences(tags, sentences.layout).sorted_by_length()[0].tokens
        _, rows = ordered.layout.select(places)
        return select_rows(self.read(ordered, tags), rows)

    def add_order(self, states: Tensor, ranks: Tensor) -> Tensor:
        """The decoder's memory, (N, width), from states and the ranks (N,) of their tokens."""
        memory: Tensor = states + self.ranks(ranks.clamp_max(self.config.max_length - 1))
        return memory

    def start(self, memory: Tensor, layout: Layout) -> DecodingState:
        """Begin decoding G groups, each from its own memory; all of them lie in (N, width)."""
        groups = torch.arange(layout.batch_size, device=memory.device)
        return self.start_decoding(pad(memory, layout), layout.mask.to(memory.device), groups)


class Sow(Ordered):
    """Reads tags beside the tokens."""

    kind = "sow"

    def __init__(self, config: ModelConfig, *, mask_id: int) -> None:
        super().__init__(config, mask_id=mask_id)
        self.tags = nn.Embedding(len(config.tag_names) + 1, config.width)

    def read(self, sentences: Sentences, tags: Tensor | None = None) -> Tensor:
        positions = sentences.layout.positions.to(sentences.tokens.device)
        vectors = self.embedding(sentences.tokens, positions)
        states: Tensor = self.encoder(vectors if tags is None else vectors + self.tags(tags), sentences.layout)
        return states


@dataclass  # not frozen: Fabric hooks into the tensors of what a forward returns
class SowReapOutput:
    """log p of every target token."""

    reap: Tensor
    """(N,)"""
    sow: Tensor
    """(M,)"""


class SowReap(Ordered):
    """REAP, with SOW beside it."""

    kind = "sowreap"

    def __init__(self, config: ModelConfig, *, mask_id: int) -> None:
        super().__init__(config, mask_id=mask_id)
        shape = replace(
            config,
            vocab_size=config.vocab_size + 2,  # X and Y
            encoder_layers=config.sow_layers,
            decoder_layers=config.sow_layers,
            frozen_embeddings=False,
        )
        self.sow = Sow(shape, mask_id=mask_id)

    @property
    def gaps(self) -> tuple[int, int]:
        """The tokens of SOW that stand for X and Y."""
        return self.config.vocab_size, self.config.vocab_size + 1

    def forward(self, batch: SowReapBatch) -> SowReapOutput:
        """One pass over pairs and rules."""
        return SowReapOutput(self.log_likelihood(batch.reap), self.sow.log_likelihood(batch.sow))
