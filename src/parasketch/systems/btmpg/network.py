"""The network of BTmPG: a recurrent VAE with a pointer, and a back model.

    round 1:  source, z -> paraphraser -> target                        (teacher forced)
    round 2:  what round 1 was about to say, z -> paraphraser -> again  (running free, on soft tokens)
    back:     target -> source;  what round 2 says -> source

z is drawn from a posterior that sees the target. In round 2 a token is a sample of the Gumbel-softmax, so that the
back model's loss reaches both rounds.
"""

from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from parasketch.model.bottlenecks import divergence
from parasketch.model.copying import SMALLEST
from parasketch.model.inputs import Sentences
from parasketch.model.lstm import BiLstm, LstmLayer, LstmState, Steps
from parasketch.model.outputs import RecurrentState
from parasketch.model.ragged import Layout, pad, select_rows
from parasketch.model.shared import Network
from parasketch.model.transformer import TokenEmbedding
from parasketch.systems.btmpg.back import BackModel, SoftSentences
from parasketch.systems.btmpg.config import ModelConfig
from parasketch.systems.recurrent.pairs import SequencePairs


@dataclass
class Source:
    """B sentences as the decoder sees them."""

    states: Tensor
    """(B, S, lstm_width), both directions added up"""
    blocked: Tensor
    """(B, S) True at pads"""
    words: Tensor
    """What can be copied: tokens (B, S), or soft tokens (B, S, V)"""
    last: list[LstmState]
    """(B, lstm_width) of every layer and direction"""


@dataclass  # not frozen: Fabric hooks into the tensors of what a forward returns
class BtmpgOutput:
    """What one training forward gives; B pairs with N target tokens and M source tokens."""

    log_likelihood: Tensor
    """Of every target token in round 1, (N,)."""
    divergence: Tensor
    """KL of z, the sum over its dimensions, (B,)."""
    back: Tensor
    """log p of every source token given the target, (M,)."""
    back_again: Tensor | None
    """log p of every source token given what round 2 says, (M,)."""


class BTmPG(Network):
    kind = "btmpg"
    config_type = ModelConfig
    config: ModelConfig
    embedding: TokenEmbedding

    def __init__(self, config: ModelConfig, *, mask_id: int) -> None:
        super().__init__(config, mask_id=mask_id)
        width, lstm, layers = config.width, config.lstm_width, config.layers
        self.embedding = TokenEmbedding(
            vocab_size=config.vocab_size, width=width, max_length=config.max_length, dropout=config.dropout
        )
        self.embedding.weight.requires_grad_(not config.frozen_embeddings)
        self.source_encoder, self.target_encoder = (
            BiLstm(input_width=width, width=lstm, layers=layers, dropout=config.dropout) for _ in range(2)
        )
        self.posterior = nn.Linear(2 * layers * lstm, 2 * config.latent)
        self.first_output, self.first_cell = (nn.Linear(2 * layers * lstm, layers * lstm) for _ in range(2))
        self.decoder = nn.ModuleList(
            LstmLayer(input_width=lstm if number else width + config.latent, width=lstm) for number in range(layers)
        )
        self.project = nn.Linear(2 * lstm, width)
        self.gate = nn.Linear(2 * lstm + width + config.latent, 1)
        nn.init.constant_(self.gate.bias, 1.0)  # start from generating: attention knows nothing yet
        self.back = BackModel(config)

    def forward(self, batch: SequencePairs, *, sharpness: float | None = None, free_steps: int = 30) -> BtmpgOutput:
        """One pass over B pairs; with a sharpness (one over the temperature of the samples) round 2 takes part."""
        source = self.encode(batch.sources)
        latent, kl = self._posterior(source, batch.targets)
        said = self._teach(source, latent, batch.inputs)  # (N, V)
        scores = said.gather(1, batch.targets.tokens[:, None]).squeeze(1).clamp_min(SMALLEST).log()
        begun = Sentences(_after_begin(batch), Layout(batch.sources.layout.lengths))
        back = self.back(self.embedding, batch.targets, begun, batch.sources.tokens)
        again = None
        if sharpness is not None:
            heard = self.encode_soft(said, batch.targets.layout)
            latent, _ = self._posterior(heard, batch.targets)
            begin, end = batch.inputs.tokens[0], batch.targets.tokens[-1]
            steps = min(free_steps, batch.targets.layout.longest)
            soft = self.run_free(heard, latent, begin=begin, end=int(end), steps=steps, sharpness=sharpness)
            again = self.back(self.embedding, soft, begun, batch.sources.tokens)
        return BtmpgOutput(scores, kl, back, again)

    def encode(self, sentences: Sentences) -> Source:
        """B sentences without begin, with end."""
        words = pad(sentences.tokens, sentences.layout)
        return self._encode(self._embed(sentences.tokens), sentences.layout, words)

    def encode_soft(self, distributions: Tensor, layout: Layout) -> Source:
        """B sentences of soft tokens, (N, V)."""
        return self._encode(self._embed_soft(distributions), layout, pad(distributions, layout))

    def run_free(
        self, source: Source, latent: Tensor, *, begin: Tensor, end: int, steps: int, sharpness: float
    ) -> SoftSentences:
        """What the paraphraser says when it reads its own samples, which have a gradient, up to the end token."""
        vectors, rows = self._embed(begin).expand(len(latent), 1, -1), self._first(source)
        said, read = [], []
        lengths = np.zeros(len(latent), dtype=np.int64)
        going_on = np.ones(len(latent), dtype=bool)
        for _ in range(steps):
            found, rows = self._step(vectors, rows, latent, source)
            scores = found.squeeze(1).clamp_min(SMALLEST).log()
            noise = torch.empty_like(scores).exponential_().log_()
            said.append(torch.softmax((scores - noise) * sharpness, dim=-1))
            read.append(self._embed_soft(said[-1]))
            vectors = read[-1][:, None]
            lengths += going_on
            going_on &= (said[-1].detach().argmax(dim=1) != end).cpu().numpy()
            if not going_on.any():
                break
        layout = Layout(lengths)
        places = torch.from_numpy(np.repeat(np.arange(len(lengths)), lengths) * len(read)) + layout.positions
        vectors = select_rows(torch.stack(read, dim=1).flatten(0, 1), places)
        return SoftSentences(vectors, layout, said)

    def start(self, source: Source, latent: Tensor) -> RecurrentState:
        """Begin decoding G groups of tokens, each over its source and its z (G, latent)."""
        rows = [part[:, None] for state in self._first(source) for part in state]
        return RecurrentState(rows, [source.states, source.blocked, source.words, latent])

    def step(self, tokens: Tensor, state: RecurrentState) -> Tensor:
        """Log-probabilities of the next token given the last ones: (G, W) -> (G, W, vocab_size)."""
        states, blocked, words, latent = state.memory
        flat = [part.flatten(0, 1) for part in state.rows]
        rows = [LstmState(*pair) for pair in zip(flat[::2], flat[1::2], strict=True)]
        found, rows = self._step(self._embed(tokens), rows, latent, Source(states, blocked, words, []))
        state.rows = [part.view(*tokens.shape, -1) for row in rows for part in row]
        return found.clamp_min(SMALLEST).log()

    def log_likelihood(self, source: Source, latent: Tensor, targets: Sentences) -> Tensor:
        """log p of B target sentences (begin and end included) given their sources and z, (B,); evaluation only."""
        inputs, wanted = targets.shifted()
        said = self._teach(source, latent, inputs).gather(1, wanted[:, None]).squeeze(1).clamp_min(SMALLEST).log()
        return said.new_zeros(len(latent)).index_add(0, inputs.layout.owners.to(said.device), said)

    def _embed(self, tokens: Tensor) -> Tensor:
        """What LSTMs read of tokens of any shape, (..., width)."""
        return self.embedding.dropout(F.embedding(tokens, self.embedding.weight) * self.embedding.scale)  # type: ignore[no-any-return]

    def _embed_soft(self, distributions: Tensor) -> Tensor:
        """The same of soft tokens (..., V)."""
        return self.embedding.dropout(distributions @ self.embedding.weight * self.embedding.scale)  # type: ignore[no-any-return]

    def _encode(self, vectors: Tensor, layout: Layout, words: Tensor) -> Source:
        states, last = self.source_encoder(vectors, Steps.of(layout, vectors.device))
        forwards, backwards = states.chunk(2, dim=1)
        return Source(pad(forwards + backwards, layout), ~layout.mask.to(vectors.device), words, last)

    def _posterior(self, source: Source, targets: Sentences) -> tuple[Tensor, Tensor]:
        """A sample of z (B, latent), the mean in evaluation, and its KL (B,)."""
        _, last = self.target_encoder(
            self._embed(targets.tokens), Steps.of(targets.layout, targets.tokens.device), source.last
        )
        found = self.posterior(torch.cat([state.output for state in last], dim=1)).float()
        mean, log_variance = found.chunk(2, dim=1)
        sample = mean + torch.randn_like(mean) * (0.5 * log_variance).exp() if self.training else mean
        return sample, divergence(mean, log_variance) * self.config.latent

    def _first(self, source: Source) -> list[LstmState]:
        """What the decoder's layers begin with."""
        outputs = self.first_output(torch.cat([state.output for state in source.last], dim=1))
        cells = self.first_cell(torch.cat([state.cell for state in source.last], dim=1))
        layers = self.config.layers
        return [LstmState(*pair) for pair in zip(outputs.chunk(layers, 1), cells.chunk(layers, 1), strict=True)]

    def _teach(self, source: Source, latent: Tensor, inputs: Sentences) -> Tensor:
        """p of every next token, (N, V), when the decoder reads the targets: whole sequences at once."""
        device, layout = inputs.tokens.device, inputs.layout
        steps, owners = Steps.of(layout, device), layout.owners.to(device)
        vectors = self._embed(self.drop_tokens(inputs.tokens))
        x = select_rows(torch.cat([vectors, latent[owners]], dim=1), steps.forwards)
        for layer, first in zip(self.decoder, self._first(source), strict=True):
            x = layer(x, steps.sizes, LstmState(*(part[steps.order] for part in first))).output
        x = select_rows(x, steps.forwards.argsort())
        attention, context = _look(pad(x, layout), source)
        slots = layout.slots.to(device)
        attention, context = attention.flatten(0, 1)[slots], context.flatten(0, 1)[slots]
        x, context, vectors, noise, attention = (
            part[:, None] for part in (x, context, vectors, latent[owners], attention)
        )
        return self._distribution(x, context, vectors, noise, attention, source.words[owners]).squeeze(1)

    def _step(
        self, vectors: Tensor, rows: list[LstmState], latent: Tensor, source: Source
    ) -> tuple[Tensor, list[LstmState]]:
        """One step of G groups of W rows: vectors (G, W, width) -> p (G, W, V), and the rows (G W, lstm_width)."""
        noise = latent[:, None].expand(-1, vectors.shape[1], -1)
        x, found = torch.cat([vectors, noise], dim=2).flatten(0, 1), []
        for layer, row in zip(self.decoder, rows, strict=True):
            found.append(cast(LstmLayer, layer).step(x, row))
            x = found[-1].output
        output = x.view(*vectors.shape[:2], -1)
        attention, context = _look(output, source)
        return self._distribution(output, context, vectors, noise, attention, source.words), found

    def _distribution(
        self, output: Tensor, context: Tensor, vectors: Tensor, latent: Tensor, attention: Tensor, words: Tensor
    ) -> Tensor:
        """g softmax + (1 - g) copied, (G, W, V); all are (G, W, ...) but for the words, (G, S) or (G, S, V)."""
        hidden = self.project(torch.cat([output, context], dim=2))
        generated = torch.softmax((hidden @ self.embedding.weight.T).float(), dim=-1)
        gate = torch.sigmoid(self.gate(torch.cat([context, output, vectors, latent], dim=2)).float())
        copied = (1 - gate) * attention.float()  # (G, W, S)
        if words.dim() == 2:
            return (gate * generated).scatter_add(2, words[:, None].expand_as(copied), copied)
        return torch.baddbmm(gate * generated, copied, words)


def _look(output: Tensor, source: Source) -> tuple[Tensor, Tensor]:
    """Attention (B, U, S) of decoder outputs (B, U, lstm_width) over the source, and what it sees, of their shape."""
    scores = output @ source.states.transpose(1, 2)
    attention = torch.softmax(scores.masked_fill(source.blocked[:, None], -torch.inf), dim=-1)
    return attention, attention @ source.states


def _after_begin(batch: SequencePairs) -> Tensor:
    """The sources one token later, after a begin token: what the back model's decoder reads."""
    tokens = batch.sources.tokens.roll(1)
    tokens[torch.from_numpy(batch.sources.layout.starts).to(tokens.device)] = batch.inputs.tokens[0]
    return tokens
