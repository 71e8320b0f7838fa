"""What all networks have in common: a table of token embeddings, and how they are loaded; and, for those on the shared
Transformer, the encoder.

A system's network adds what stands between encoder and decoder, and its decoder.
"""

from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from parasketch.config import NetworkConfig
from parasketch.errors import ModelError
from parasketch.model.directory import CONFIG, TOKENIZER
from parasketch.model.inputs import Sentences
from parasketch.model.outputs import DecodingState
from parasketch.model.storage import StoredModel
from parasketch.model.transformer import Decoder, Encoder, LayerConfig, TokenEmbedding
from parasketch.text.tokenizer import Tokenizer


class Network(nn.Module):
    """A network with a vocabulary of its own."""

    kind: ClassVar[str]
    config_type: ClassVar[type[NetworkConfig]]
    newer_weights: ClassVar[tuple[str, ...]] = ()
    """How names of weights end that models of before do not have."""

    embedding: TokenEmbedding | nn.Embedding
    """One table for encoder input, decoder input and output layer."""

    def __init__(self, config: Any, *, mask_id: int) -> None:
        super().__init__()
        self.config, self.mask_id = config, mask_id

    @classmethod
    def load(cls, stored: StoredModel) -> tuple[Self, Tokenizer]:
        """The network of a model directory, and its tokenizer."""
        config, tokenizer = stored.read_config(cls.config_type), stored.read_tokenizer()
        if tokenizer.vocab_size != config.vocab_size:
            raise ModelError(
                f"{stored.path}: {TOKENIZER} has {tokenizer.vocab_size} entries and {CONFIG} says {config.vocab_size}: "
                "they do not belong together"
            )
        return stored.build(lambda: cls(config, mask_id=tokenizer.mask_id), newer=cls.newer_weights), tokenizer

    def drop_tokens(self, tokens: Tensor) -> Tensor:
        """What the decoder reads of the tokens it has to say: in training some of them are masked."""
        if not self.training or not self.config.token_dropout:
            return tokens
        dropped = torch.rand(tokens.shape, device=tokens.device) < self.config.token_dropout
        return tokens.masked_fill(dropped, self.mask_id)


class SharedTransformer(Network):
    """Token embeddings and the encoder."""

    embedding: TokenEmbedding

    def __init__(self, config: Any, *, mask_id: int) -> None:
        super().__init__(config, mask_id=mask_id)
        self.layer = LayerConfig(
            width=config.width,
            heads=config.heads,
            ff=config.ff,
            dropout=config.dropout,
            attention_dropout=config.attention_dropout,
            pre_norm=config.pre_norm,
            bias=config.bias,
        )
        self.embedding = TokenEmbedding(
            vocab_size=config.vocab_size,
            width=config.width,
            max_length=config.max_length,
            dropout=config.dropout,
        )
        self.embedding.weight.requires_grad_(not config.frozen_embeddings)
        self.encoder = Encoder(self.layer, layers=config.encoder_layers, causal=config.causal_encoder)

    def states(self, sentences: Sentences) -> Tensor:
        """The encoder's states, (N, width); fastest for sentences that are sorted by length."""
        positions = sentences.layout.positions.to(sentences.tokens.device)
        states: Tensor = self.encoder(self.embedding(sentences.tokens, positions), sentences.layout)
        return states

    def embed_inputs(self, inputs: Sentences) -> Tensor:
        """What the decoder reads of the sentences it has to say, (N, width); in training some tokens are masked."""
        tokens = self.drop_tokens(inputs.tokens)
        vectors: Tensor = self.embedding(tokens, inputs.layout.positions.to(tokens.device))
        return vectors


class EncoderDecoder(SharedTransformer):
    """With a decoder over a memory, whatever that is made of, and nothing else: no form, no copying."""

    copying: None = None

    def __init__(self, config: Any, *, mask_id: int) -> None:
        super().__init__(config, mask_id=mask_id)
        self.decoder = Decoder(self.layer, layers=config.decoder_layers, meaning_width=config.width, form_width=None)

    def start_decoding(self, memory: Tensor, mask: Tensor, sources: Tensor) -> DecodingState:
        """Begin decoding G groups, group g over the memory sources[g] of (B, S, width), with its mask (B, S)."""
        cache = self.decoder.start(memory, mask, sources)
        nothing = torch.empty(len(sources), 0, dtype=torch.int64, device=memory.device)
        return DecodingState(cache=cache, pointer_keys=None, source_tokens=nothing)

    def step(self, tokens: Tensor, state: DecodingState) -> Tensor:
        """Log-probabilities of the next token given the last ones: (G, W) -> (G, W, vocab_size)."""
        positions = torch.full_like(tokens, state.cache.length)
        hidden = self.decoder.step(self.embedding(tokens, positions), state.cache)
        return torch.log_softmax(hidden @ self.embedding.weight.T, dim=-1)
