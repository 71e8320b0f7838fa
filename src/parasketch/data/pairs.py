"""Training pairs without exemplars, drawn afresh each epoch: two different members of every cluster.

Pair i of an epoch is a pure function of (seed, epoch, i), so an epoch can be cut anywhere, resumed, and split over
ranks.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from parasketch.counter_rng import below, random_bits
from parasketch.data.prepared import Ints, Prepared, Ragged
from parasketch.errors import DataError


class _Stream(IntEnum):
    """What a random number is for; numbers of different streams are independent (and of those of triples)."""

    ORDER = 10
    SOURCE = 11
    TARGET = 12


@dataclass(frozen=True)
class Pairs:
    """B pairs, without special tokens."""

    source: Ragged
    target: Ragged
    source_sentence: NDArray[np.int64]
    """[B] index of the source in the prepared corpus"""
    target_sentence: NDArray[np.int64]
    """[B]"""


class PairDrawer:
    """The pairs of every epoch: one of each cluster that has two sentences, `len()` of them."""

    def __init__(self, prepared: Prepared, *, seed: int) -> None:
        self._prepared, self._seed = prepared, seed
        sizes = np.diff(prepared.arrays.cluster_offsets)
        self._clusters = np.flatnonzero(sizes > 1)
        if not len(self):
            raise DataError(
                "no training pair can be made", path=prepared.path, expected="at least one cluster of two sentences"
            )

    def __len__(self) -> int:
        return len(self._clusters)

    def order(self, epoch: int) -> NDArray[np.int64]:
        """A random permutation of the pairs; [len(self)]."""
        return np.argsort(random_bits(self._seed, _Stream.ORDER, epoch, np.arange(len(self))), kind="stable")

    def batch(self, epoch: int, indices: Ints) -> Pairs:
        """The pairs `indices` [B] of an epoch; each independent of the others in the call."""
        clusters = self._clusters[indices]
        first = self._prepared.arrays.cluster_offsets[clusters].astype(np.int64)
        size = self._prepared.arrays.cluster_offsets[clusters + 1] - first
        source = below(random_bits(self._seed, _Stream.SOURCE, epoch, clusters), size)
        # Any member but the source: as many places as there are others, counted on from it.
        step = 1 + below(random_bits(self._seed, _Stream.TARGET, epoch, clusters), size - 1)
        target = (source + step) % size
        return Pairs(
            source=self._prepared.sentences(first + source),
            target=self._prepared.sentences(first + target),
            source_sentence=first + source,
            target_sentence=first + target,
        )
