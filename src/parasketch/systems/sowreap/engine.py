"""Paraphrases by SOW/REAP: orders of the input's words that SOW finds likely, each said by REAP."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from parasketch.generate.engine import Ability
from parasketch.generate.paraphrases import Paraphrase, Sketch, WordOrder
from parasketch.generate.requests import Options, Request
from parasketch.model.outputs import DecodingState
from parasketch.model.ragged import Layout
from parasketch.systems.plain_engine import load_as
from parasketch.systems.pooled.engine import Variant, VariantEngine
from parasketch.systems.sowreap.network import SowReap
from parasketch.systems.sowreap.orders import token_ranks, word_ranks
from parasketch.systems.sowreap.parser import Parser, load_parser
from parasketch.systems.sowreap.reading import Reader, Reading
from parasketch.systems.sowreap.rewrites import Proposal
from parasketch.systems.sowreap.sow import OrderFinder
from parasketch.text.sentence_encoder import SentenceModel

_MORE = 2  # orders than outputs, should two of them say the same
_LESS = 1.0  # the score of the order as it is, below the worst other: it comes last


class SowReapEngine(VariantEngine):
    """One variant for each order, best first; the last is the order of the input itself.

    Inside, the ranks of an order travel as the sketch of its candidates.
    """

    abilities: frozenset[Ability] = frozenset({"temperature", "orders"})
    network: SowReap

    @cached_property
    def parser(self) -> Parser:
        """Loaded when it is needed: a model can be looked at where there is none."""
        return load_parser(self.network.config.parser)

    def paraphrase(self, requests: Sequence[Request], options: Options) -> list[list[Paraphrase]]:
        """n paraphrases of each text, with the order that each was asked to follow."""
        found = super().paraphrase(requests, options)
        readings = self._read(requests)  # once more: a thousandth of the work
        return [[_with_order(one, reading) for one in each] for each, reading in zip(found, readings, strict=True)]

    def all_variants(self, requests: Sequence[Request], options: Options) -> list[list[Variant]]:
        """The memory of REAP's decoder in the best orders of each text."""
        sentences = self.sentences([request.text for request in requests])
        states, readings = self.network.encode(sentences), self._read(requests)
        orders = OrderFinder(self.network, self.tokenizer)(readings)
        lengths = sentences.layout.lengths.tolist()
        return [
            self._variants(each, reading, proposals[: options.n + _MORE])
            for each, reading, proposals in zip(torch.split(states, lengths), readings, orders, strict=True)
        ]

    def start(self, variants: Sequence[Variant]) -> DecodingState:
        """Begin decoding each variant, whose memory is (S, width)."""
        layout = Layout(np.array([len(variant.vector) for variant in variants]))
        return self.network.start(torch.cat([variant.vector for variant in variants]), layout)

    def _variants(self, states: torch.Tensor, reading: Reading | None, proposals: Sequence[Proposal]) -> list[Variant]:
        if reading is None:  # its tokens are said in their own order
            return [Variant(self.network.add_order(states, torch.arange(len(states), device=states.device)))]
        last = min((proposal.score for proposal in proposals), default=0.0) - _LESS
        return [
            Variant(
                self.network.add_order(
                    states, torch.tensor(token_ranks(proposal.order, reading.owners), device=states.device)
                ),
                Sketch(word_ranks(proposal.order)),
                proposal.score if proposal.scores else last,
            )
            for proposal in proposals
        ]

    def _read(self, requests: Sequence[Request]) -> list[Reading | None]:
        """Every text, parsed."""
        reader = Reader(self.tokenizer, self.parser)
        return reader([request.text.text for request in requests], [request.text.tokens for request in requests])


def _with_order(paraphrase: Paraphrase, reading: Reading | None) -> Paraphrase:
    """The order that was its sketch, in its own place."""
    if reading is None or not paraphrase.sketch:
        return paraphrase
    words = tuple(reading.text[word.start : word.end] for word in reading.parse.words)  # as they were written
    return replace(paraphrase, sketch=Sketch(), order=WordOrder(words, tuple(paraphrase.sketch)))


def load_engine(directory: Path, device: str | None, semantic: SentenceModel | None) -> SowReapEngine:
    """The model of a directory with the settings stored beside it."""
    return load_as(SowReapEngine, directory, device, semantic)
