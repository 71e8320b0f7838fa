"""Training triples, drawn afresh each epoch and never written down.

A triple is a source and a target, two members of one cluster with different templates, and an exemplar: a
sentence of another meaning in the target's form. Triple i of an epoch is a pure function of (seed, epoch, i), so an
epoch can be cut anywhere, resumed, and split over ranks. Every epoch brings new exemplars, and new pairs of large
clusters.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from parasketch.counter_rng import below, permute, random_bits, uniform
from parasketch.data.exemplars import ExemplarDrawer
from parasketch.data.prepared import Ints, Prepared, Ragged, offsets
from parasketch.errors import DataError


class _Stream(IntEnum):
    """What a random number is for; numbers of different streams are independent."""

    ORDER = 0
    PAIRS = 1
    DROPOUT = 2
    MEMBER = 3
    EXEMPLAR = 4


@dataclass(frozen=True)
class TripleBatch:
    """B triples, without special tokens."""

    source: Ragged
    exemplar: Ragged
    target: Ragged
    source_sentence: NDArray[np.int64]
    """[B] index of the source in the prepared corpus"""
    target_sentence: NDArray[np.int64]
    """[B]"""
    real_exemplar: NDArray[np.bool_]
    """[B] whether the exemplar is a sentence of the corpus; otherwise it was synthesised"""


class Triples:
    """The triples of every epoch; `len()` of them each.

    `template_dropout` is the share of exemplars that follow a random member of the cluster instead of the
    target. A cluster gives at most `max_pairs` triples an epoch, another random choice of its pairs each time. With
    `own_exemplars` every target is its own exemplar.
    """

    def __init__(
        self, prepared: Prepared, *, seed: int, template_dropout: float, max_pairs: int, own_exemplars: bool = False
    ) -> None:
        self._prepared, self._own_exemplars = prepared, own_exemplars
        self._seed, self._template_dropout = seed, template_dropout
        self._drawer = ExemplarDrawer(prepared)
        self._first_pairs = prepared.arrays.pair_offsets[prepared.arrays.cluster_offsets]  # [C + 1]
        self._offsets = triple_offsets(self._first_pairs, max_pairs)  # [C + 1]
        if not len(self):
            expected = "at least one cluster with two sentences of different form"
            raise DataError("no training triple can be made", path=prepared.path, expected=expected)

    def __len__(self) -> int:
        return int(self._offsets[-1])

    def order(self, epoch: int) -> NDArray[np.int64]:
        """A random permutation of the triples; [len(self)]."""
        return np.argsort(random_bits(self._seed, _Stream.ORDER, epoch, np.arange(len(self))), kind="stable")

    def batch(self, epoch: int, indices: Ints) -> TripleBatch:
        """The triples `indices` [B] of an epoch; each independent of the others in the call."""
        source, target = self._pairs(epoch, indices)
        targets = self._prepared.sentences(target)
        exemplar, real = targets, np.ones(len(target), dtype=np.bool_)
        if not self._own_exemplars:
            bits = self._bits(_Stream.EXEMPLAR, epoch, indices)
            drawn = self._drawer.draw(self._models(epoch, indices, target), bits)
            exemplar, real = drawn.tokens, drawn.real
        return TripleBatch(
            source=self._prepared.sentences(source),
            exemplar=exemplar,
            target=targets,
            source_sentence=source,
            target_sentence=target,
            real_exemplar=real,
        )

    def _bits(self, stream: _Stream, epoch: int, counters: Ints) -> NDArray[np.uint64]:
        return random_bits(self._seed, stream, epoch, counters)

    def _pairs(self, epoch: int, indices: Ints) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Source and target sentences, [B] each."""
        a = self._prepared.arrays
        clusters = np.searchsorted(self._offsets, indices, side="right") - 1
        first_pairs = self._first_pairs[clusters]
        num_pairs = self._first_pairs[clusters + 1] - first_pairs
        # Different places in a permutation are different pairs, so no pair comes twice in an epoch.
        key = self._bits(_Stream.PAIRS, epoch, clusters)
        pairs = first_pairs + permute(indices - self._offsets[clusters], num_pairs, key)
        source = np.searchsorted(a.pair_offsets, pairs, side="right") - 1
        # The targets of a source are the members of its cluster but for its own group.
        groups, first_members = a.group_ids[source], a.cluster_offsets[clusters]
        positions = first_members + pairs - a.pair_offsets[source]
        group_sizes = a.group_offsets[groups + 1] - a.group_offsets[groups]
        positions = positions + np.where(positions >= a.group_offsets[groups], group_sizes, 0)
        return source.astype(np.int64), a.group_members[positions].astype(np.int64)

    def _models(self, epoch: int, indices: Ints, target: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sentences whose form the exemplars take: the targets, or random members of their clusters; [B]."""
        a = self._prepared.arrays
        clusters = a.cluster_ids[target]
        first = a.cluster_offsets[clusters]
        member = first + below(self._bits(_Stream.MEMBER, epoch, indices), a.cluster_offsets[clusters + 1] - first)
        dropped = uniform(self._bits(_Stream.DROPOUT, epoch, indices)) < self._template_dropout
        return np.where(dropped, member, target).astype(np.int64)


def triple_offsets(first_pairs: Ints, max_pairs: int) -> NDArray[np.int64]:
    """Running number of the triples an epoch by cluster, from that of all their pairs; [C + 1]."""
    return offsets(np.minimum(np.diff(first_pairs), max_pairs))
