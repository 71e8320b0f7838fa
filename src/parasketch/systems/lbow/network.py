"""The network of LBoW: residual LSTMs, and between them a bag of words.

    source -> encoder -> the neighbours of every word -> bag of words -> the k likeliest, as slots ---+
                 |                                                                                   v
                 +--> states and last state ------------------------------------> decoder (start, attention) -> target

A slot is a word's vector times its weight in the bag, so what the decoder wants of the bag reaches the predictors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from parasketch.model.inputs import Sentences
from parasketch.model.likelihood import token_log_likelihood
from parasketch.model.lstm import LstmLayer, LstmState, Steps
from parasketch.model.outputs import RecurrentState
from parasketch.model.ragged import pad, select_rows
from parasketch.model.shared import Network
from parasketch.systems.lbow.bag import Bag, bag_loss, draw_words, mix_neighbours
from parasketch.systems.lbow.config import ModelConfig
from parasketch.systems.recurrent.pairs import SequencePairs


@dataclass
class Encoded:
    """B sources as the decoder sees them."""

    slots: Tensor
    """(B, k, width) the bag's words, each times its weight"""
    states: Tensor
    """(B, S, width)"""
    blocked: Tensor
    """(B, S) True at pads"""
    last: LstmState
    """(B, width) of the first layer"""
    bag: Bag

    def select(self, rows: Tensor) -> "Encoded":
        """Some of them, or some several times, (R,)."""
        last, bag = LstmState(*(part[rows] for part in self.last)), Bag(*(part[rows] for part in self.bag))
        return Encoded(self.slots[rows], self.states[rows], self.blocked[rows], last, bag)


@dataclass  # not frozen: Fabric hooks into the tensors of what a forward returns
class LbowOutput:
    """What one training forward gives; B pairs with N target tokens."""

    log_likelihood: Tensor
    """Of every target token, (N,)."""
    bag_loss: Tensor
    """(B,)"""


class LBoW(Network):
    kind = "lbow"
    config_type = ModelConfig
    config: ModelConfig
    embedding: nn.Embedding

    def __init__(self, config: ModelConfig, *, mask_id: int) -> None:
        super().__init__(config, mask_id=mask_id)
        width = config.width
        self.embedding = nn.Embedding(config.vocab_size, width)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        self.embedding.weight.requires_grad_(not config.frozen_embeddings)
        self.encoder, self.decoder = (
            nn.ModuleList(LstmLayer(input_width=width, width=width) for _ in range(config.layers)) for _ in range(2)
        )
        self.predictors = nn.Linear(width, config.neighbours * width)
        self.queries = nn.Linear(width, 2 * width, bias=False)  # one for the slots, one for the states
        self.join = nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, batch: SequencePairs) -> LbowOutput:
        """One pass over B pairs."""
        assert batch.bags is not None
        present = batch.bags >= 0
        encoded = self.encode(batch.sources, batch.bags.clamp_min(0))
        hidden = self.decode(batch.inputs, encoded)
        scores = token_log_likelihood(hidden, self.embedding.weight, batch.targets.tokens)
        return LbowOutput(scores, bag_loss(encoded.bag.wanted, present))

    def encode(
        self,
        sources: Sentences,
        wanted: Tensor | None = None,
        generators: Sequence[torch.Generator] | None = None,
    ) -> Encoded:
        """B sources, without begin, with end; `wanted` words (B, M) are looked up in their bags.

        In evaluation, a noisy choice draws a bag by each source's own random numbers, `generators`.
        """
        device, layout = sources.tokens.device, sources.layout
        steps = Steps.of(layout, device)
        x = self.embed(select_rows(sources.tokens, steps.forwards))
        firsts = []
        for layer in self.encoder:
            found = layer(x, steps.sizes)
            places = steps.last[steps.places]
            firsts.append(LstmState(found.output[places], found.cell[places]))
            x = x + self.dropout(found.output)
        states = select_rows(x, steps.forwards.argsort())
        none = torch.empty(layout.batch_size, 0, dtype=torch.int64, device=device)
        bag = self._bag(states, sources, none if wanted is None else wanted, generators)
        slots = self.embed(bag.words) * bag.weights[..., None]
        return Encoded(slots, pad(states, layout), ~layout.mask.to(device), firsts[0], bag)

    def decode(self, inputs: Sentences, encoded: Encoded) -> Tensor:
        """Hidden states (N, width) of B sentences, the longest first, over their sources."""
        steps = Steps.of(inputs.layout, inputs.tokens.device)
        vectors = self.embed(self.drop_tokens(select_rows(inputs.tokens, steps.forwards)))
        rows, memory, outputs = self._first(encoded), [encoded.slots, encoded.states, encoded.blocked], []
        for vector in torch.split(vectors, steps.sizes):
            size = len(vector)
            if size < len(memory[0]):  # sentences that are over leave at the end
                rows = [LstmState(*(part[:size] for part in row)) for row in rows]
                memory = [part[:size] for part in memory]
            output, rows = self._read(vector[:, None], rows, memory)
            outputs.append(output)
        return select_rows(torch.cat(outputs), steps.forwards.argsort())

    def start(self, encoded: Encoded) -> RecurrentState:
        """Begin decoding G groups, each over its source."""
        rows = [part[:, None] for state in self._first(encoded) for part in state]
        return RecurrentState(rows, [encoded.slots, encoded.states, encoded.blocked])

    def step(self, tokens: Tensor, state: RecurrentState) -> Tensor:
        """Log-probabilities of the next token given the last ones: (G, W) -> (G, W, vocab_size)."""
        flat = [part.flatten(0, 1) for part in state.rows]
        rows = [LstmState(*pair) for pair in zip(flat[::2], flat[1::2], strict=True)]
        output, rows = self._read(self.embed(tokens), rows, state.memory)
        state.rows = [part.view(*tokens.shape, -1) for row in rows for part in row]
        return torch.log_softmax(output @ self.embedding.weight.T, dim=-1).view(*tokens.shape, -1)

    def log_likelihood(self, encoded: Encoded, targets: Sentences) -> Tensor:
        """log p of B target sentences (begin and end included), each over its source, (B,); evaluation only."""
        inputs, wanted = targets.shifted()
        order = Steps.of(inputs.layout, wanted.device).order
        layout, rows = inputs.layout.select(order.cpu().numpy())
        tokens, wanted = inputs.tokens[rows.to(wanted.device)], wanted[rows.to(wanted.device)]
        hidden = self.decode(Sentences(tokens, layout), encoded.select(order))
        scores = token_log_likelihood(hidden, self.embedding.weight, wanted)
        summed = scores.new_zeros(len(order)).index_add(0, layout.owners.to(scores.device), scores)
        return torch.empty_like(summed).index_copy_(0, order, summed)

    def embed(self, tokens: Tensor) -> Tensor:
        """What encoder and decoder read of tokens of any shape, (..., width): numbers as large as those of states."""
        vectors: Tensor = self.embedding(tokens) * self.config.width**0.5
        return vectors

    def _bag(
        self, states: Tensor, sources: Sentences, wanted: Tensor, generators: Sequence[torch.Generator] | None
    ) -> Bag:
        config, table, layout = self.config, self.embedding.weight, sources.layout
        hidden = self.predictors(states).view(len(states), config.neighbours, -1)
        if generators is not None:
            return self._drawn_bag(hidden, sources, generators)
        noisy = self.training and config.choice == "gumbel" and config.slots > 0
        bag = mix_neighbours(hidden, table, layout, wanted, slots=0 if noisy else config.slots)
        if not noisy:
            return bag
        nothing = wanted[:, :0]
        noise = config.gumbel_temperature
        chosen = mix_neighbours(hidden, table, layout, nothing, slots=config.slots, noise=noise)
        return Bag(chosen.words, chosen.weights, bag.wanted)

    def _drawn_bag(self, hidden: Tensor, sources: Sentences, generators: Sequence[torch.Generator]) -> Bag:
        """Every predictor names one word of each position: the bag counts them."""
        words, weights = [], []
        for rows, generator in zip(torch.split(hidden, sources.layout.lengths.tolist()), generators, strict=True):
            drawn = draw_words(rows.flatten(0, 1) @ self.embedding.weight.T, generator)
            counts = torch.bincount(drawn, minlength=self.config.vocab_size).float()
            top = counts.topk(self.config.slots)
            words.append(top.indices)
            weights.append(top.values)
        return Bag(torch.stack(words), torch.stack(weights), hidden.new_zeros(len(words), 0))

    def _first(self, encoded: Encoded) -> list[LstmState]:
        """What all layers of the decoder begin with."""
        output = encoded.last.output
        if self.config.slots:
            output = output + encoded.slots.mean(dim=1)
        return [LstmState(output, encoded.last.cell)] * self.config.layers

    def _read(self, vectors: Tensor, rows: list[LstmState], memory: list[Tensor]) -> tuple[Tensor, list[LstmState]]:
        """One step of G groups of W rows: vectors (G, W, width); rows, and what is returned, (G W, width)."""
        slots, states, blocked = memory
        last = rows[-1].output.view_as(vectors)
        to_slots, to_states = self.queries(last).chunk(2, dim=-1)
        contexts = [_attend(to_slots, slots, None), _attend(to_states, states, blocked[:, None])]
        x = (vectors + self.join(torch.cat(contexts, dim=-1)) + last).flatten(0, 1)
        found = []
        for layer, row in zip(self.decoder, rows, strict=True):
            found.append(cast(LstmLayer, layer).step(x, row))
            x = x + self.dropout(found[-1].output)
        return x, found


def _attend(query: Tensor, memory: Tensor, blocked: Tensor | None) -> Tensor:
    """Scaled dot-product attention: (G, W, width) over (G, S, width); blocked is (G, 1, S)."""
    if not memory.shape[1]:
        return torch.zeros_like(query)
    scores = query @ memory.transpose(1, 2) / memory.shape[2] ** 0.5
    if blocked is not None:
        scores = scores.masked_fill(blocked, -torch.inf)
    return torch.softmax(scores, dim=-1) @ memory
