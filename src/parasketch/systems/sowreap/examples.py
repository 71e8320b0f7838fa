"""Batches for REAP and SOW: pairs with the order of one's words in the other, and rules.

What is drawn is a pure function of (seed, epoch, index): which way round a pair is, and the rule that comes with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from parasketch.counter_rng import below, random_bits
from parasketch.data.prepared import Ints, Ragged, offsets, slices
from parasketch.errors import DataError
from parasketch.model.inputs import Sentences, reorder
from parasketch.systems.sowreap.annotate import OrderArrays
from parasketch.text.tokenizer import Tokenizer

FAR = 0.15
"""Content words that move by this share of the sentence, on average, have moved far."""


class _Stream(IntEnum):
    """What a random number is for; numbers of different streams are independent (and of those of pairs)."""

    ORDER = 20
    DIRECTION = 21
    RULE = 22


@dataclass(eq=False)  # not frozen, see Layout
class OrderedPairs:
    """B sources with the wanted order of their tokens, and targets; by target length, sources by their own."""

    encoded: Sentences
    ranks: Tensor  # (M,) of the tokens of the sources
    tags: Tensor | None  # (M,) for SOW
    source_places: np.ndarray  # (B,) where the source of each target is among the encoded sentences
    decoder_input: Sentences  # begin + target
    targets: Tensor  # (N,) target + end

    @classmethod
    def of(
        cls, source: Sentences, ranks: NDArray[np.int64], target: Ragged, *, bos: int, eos: int,
        tags: NDArray[np.int64] | None = None,
    ) -> OrderedPairs:  # fmt: skip
        """Sources with begin and end, and what belongs to each of their tokens; targets without."""
        order = np.argsort(target.lengths, kind="stable")
        target = reorder(target, order)
        encoded, places = source.sorted_by_length()
        by_length = [
            Sentences(torch.from_numpy(each), source.layout).sorted_by_length()[0].tokens
            for each in (ranks, tags)
            if each is not None
        ]
        return cls(
            encoded=encoded,
            ranks=by_length[0],
            tags=by_length[1] if tags is not None else None,
            source_places=places[order],
            decoder_input=Sentences.from_ragged(target, first=bos),
            targets=Sentences.from_ragged(target, last=eos).tokens,
        )

    def to(self, device: torch.device) -> OrderedPairs:
        return OrderedPairs(
            encoded=self.encoded.to(device),
            ranks=self.ranks.to(device),
            tags=None if self.tags is None else self.tags.to(device),
            source_places=self.source_places,
            decoder_input=self.decoder_input.to(device),
            targets=self.targets.to(device),
        )


@dataclass(eq=False)
class SowReapBatch:
    """What both networks learn from in one step."""

    reap: OrderedPairs
    sow: OrderedPairs

    def to(self, device: torch.device) -> SowReapBatch:
        return SowReapBatch(self.reap.to(device), self.sow.to(device))


class Store(Protocol):
    """Where the sentences are that pairs are made of, such as a prepared corpus."""

    @property
    def tokenizer(self) -> Tokenizer:
        """Whose subwords they are."""
        ...

    def sentences(self, sentences: Ints) -> Ragged:
        """The subwords of some, by number."""
        ...


class OrderedCorpus:
    """Pairs and rules of a corpus, laid out for the networks."""

    def __init__(self, store: Store, arrays: OrderArrays) -> None:
        self._store, self.arrays = store, arrays
        self.bos, self.eos = store.tokenizer.bos_id, store.tokenizer.eos_id
        self._rank_offsets = offsets(arrays.rank_lengths)
        self._rule_offsets, self._said_offsets = offsets(arrays.rule_lengths), offsets(arrays.said_lengths)

    def reap(self, pairs: NDArray[np.int64], swapped: NDArray[np.int64]) -> OrderedPairs:
        """Pairs [B] as source and target; where `swapped` is 1 the second is the source."""
        sentences = self.arrays.pairs[pairs].astype(np.int64)
        rows, places = np.arange(len(pairs)), 2 * pairs + swapped
        source = Sentences.from_ragged(self._store.sentences(sentences[rows, swapped]), first=self.bos, last=self.eos)
        ranks = self.arrays.ranks[slices(self._rank_offsets[places], self.arrays.rank_lengths[places])]
        target = self._store.sentences(sentences[rows, 1 - swapped])
        return OrderedPairs.of(source, ranks.astype(np.int64), target, bos=self.bos, eos=self.eos)

    def sow(self, rules: NDArray[np.int64]) -> OrderedPairs:
        """Rules [B]."""
        arrays, lengths = self.arrays, self.arrays.rule_lengths[rules]
        inner = slices(self._rule_offsets[rules], lengths)
        said_lengths = arrays.said_lengths[rules]
        said = arrays.said_tokens[slices(self._said_offsets[rules], said_lengths)]
        source = Sentences.from_ragged(Ragged(arrays.rule_tokens[inner], lengths), first=self.bos, last=self.eos)
        size = self._store.tokenizer.vocab_size
        return OrderedPairs.of(
            source,
            gap_ranks(source, arrays.inverted[rules], (size, size + 1)),
            Ragged(said, said_lengths),
            bos=self.bos,
            eos=self.eos,
            tags=tag_numbers(source, arrays.rule_tags[inner]),
        )


def gap_ranks(phrases: Sentences, inverted: NDArray[np.bool_], gaps: tuple[int, int]) -> NDArray[np.int64]:
    """The ranks of all tokens of B phrases: 1 for the gap that is to be said first, 2 for the other, 0 for words.

    `inverted` (B,) says whether Y is to be said before X.
    """
    tokens, flipped = phrases.tokens.numpy(), inverted[phrases.layout.owners.numpy()]
    ranks: NDArray[np.int64] = np.where(tokens == gaps[0], 1 + flipped, np.where(tokens == gaps[1], 2 - flipped, 0))
    return ranks


def tag_numbers(phrases: Sentences, tags: NDArray[np.int32]) -> NDArray[np.int64]:
    """The tags of phrases without their begin and end (-1: unknown) as the network counts them; 0 is none."""
    layout = phrases.layout
    inner = np.ones(layout.num_tokens, dtype=bool)
    inner[layout.starts], inner[layout.starts + layout.lengths - 1] = False, False
    numbers = np.zeros(layout.num_tokens, dtype=np.int64)
    numbers[inner] = tags + 1
    return numbers


class SowReapExamples:
    """All pairs, those whose words move far several times; each time with a rule."""

    def __init__(self, corpus: OrderedCorpus, *, moved_pairs: int, seed: int) -> None:
        self._corpus, self._seed = corpus, seed
        pairs, rules = len(corpus.arrays.pairs), len(corpus.arrays.rule_lengths)
        if not pairs or not rules:
            raise DataError(
                f"there are {pairs} pairs with orders and {rules} rules to learn from",
                expected="clusters of paraphrases, of at most twice each other's length, some of whose phrases move",
            )
        far, inverted = np.flatnonzero(corpus.arrays.moved >= FAR), corpus.arrays.inverted
        # SOW is asked for inversions, and few rules are: every second draw is one, where there are any.
        self._rules = [rules for rules in (np.flatnonzero(~inverted), np.flatnonzero(inverted)) if len(rules)]
        self._pairs = np.concatenate([np.arange(len(corpus.arrays.pairs)), np.tile(far, moved_pairs - 1)])

    def __len__(self) -> int:
        return len(self._pairs)

    def order(self, epoch: int) -> NDArray[np.int64]:
        return np.argsort(random_bits(self._seed, _Stream.ORDER, epoch, np.arange(len(self))), kind="stable")

    def batch(self, epoch: int, indices: NDArray[np.int64]) -> SowReapBatch:
        swapped = below(random_bits(self._seed, _Stream.DIRECTION, epoch, indices), 2)
        return SowReapBatch(
            self._corpus.reap(self._pairs[indices], swapped), self._corpus.sow(self._draw_rules(epoch, indices))
        )

    def _draw_rules(self, epoch: int, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        bits = random_bits(self._seed, _Stream.RULE, epoch, indices)
        drawn = np.stack([rules[below(bits, len(rules))] for rules in self._rules])  # (kinds, B)
        return drawn[indices % len(self._rules), np.arange(len(indices))]
