"""Which sketches suit a meaning: the exact k best of p(q1, ..., qD | meaning), for a whole batch at once.

A beam finds k good sketches first. The worst of them is a bound: a prefix that is less likely already can never become
one of the k best, because more codes only make it less likely. Expanding every prefix above the bound is therefore
exact, and costs little when the predictor is sure. Trees too large for that are left at the beam.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from parasketch.generate.decoding import Floats, Ints

LARGEST_TREE = 1 << 16
"""Trees with more sketches than this are searched by the beam alone."""
WIDEST_BEAM = 64
_SLACK = 1e-4  # rounding must not push one of the k best below the bound

NO_CODE = -1


@dataclass(frozen=True)
class RankedSketches:
    """The best sketches of B inputs, best first, none twice."""

    codes: Ints
    """(B, k, depth); NO_CODE where an input has fewer than k sketches."""
    log_probs: Floats
    """(B, k), log p of each; -inf where there is none."""


class SketchPredictions(Protocol):
    """What a model's predictor says about the sketches of B inputs."""

    @property
    def num_inputs(self) -> int:
        """B."""
        ...

    @property
    def codes(self) -> int:
        """K, how many codes each level has."""
        ...

    @property
    def last_code_only(self) -> bool:
        """Whether all prefixes of an input that end in one code have the same continuations."""
        ...

    def log_probs(self, owners: Ints, prefixes: Ints) -> Floats:
        """log p of the next code after the prefixes (R, level) of the inputs `owners` (R,): (R, codes)."""
        ...


def best_sketches(
    predictions: SketchPredictions,
    *,
    k: int,
    depth: int,
    own: Ints,
    own_penalty: float = 0.0,
    prefixes: Sequence[Sequence[int]] | None = None,
) -> RankedSketches:
    """The k best sketches of `depth` codes for B inputs.

    `own` (B, D) are the inputs' own codes: at each level, p of the own code is multiplied by 1 - own_penalty.
    `prefixes` fixes the first codes of each input's sketches.
    """
    count = predictions.num_inputs
    if depth == 0:
        return RankedSketches(np.empty((count, 1, 0), np.int64), np.zeros((count, 1), np.float32))
    tree = _Tree(predictions, depth=depth, own=own, own_penalty=own_penalty, prefixes=prefixes)
    paths = tree.codes**depth
    beam = tree.beam(min(max(k, WIDEST_BEAM), paths) if paths > LARGEST_TREE else min(k, paths))
    if paths > LARGEST_TREE:
        return _rank(beam, count, k)
    full = np.bincount(beam.owners, minlength=count) >= k
    lowest = np.full(count, np.inf, dtype=np.float32)
    np.minimum.at(lowest, beam.owners, beam.scores)
    bound = np.where(full, lowest - np.float32(_SLACK), np.float32(-np.inf))
    return _rank(tree.everything_above(bound), count, k)


@dataclass(frozen=True)
class _Frontier:
    """R prefixes, each of one input."""

    owners: Ints  # (R,)
    prefixes: Ints  # (R, level)
    scores: Floats  # (R,)

    def take(self, children: Floats, kept: Ints) -> "_Frontier":
        """Those children, with scores (R, codes), whose flat index is in `kept` (R',)."""
        rows, codes = kept // children.shape[1], kept % children.shape[1]
        longer = np.concatenate([self.prefixes[rows], codes[:, None]], axis=1)
        return _Frontier(self.owners[rows], longer, children.reshape(-1)[kept])


class _Tree:
    """The tree of sketches of a batch of inputs, with the score of each branch."""

    def __init__(
        self,
        predictions: SketchPredictions,
        *,
        depth: int,
        own: Ints,
        own_penalty: float,
        prefixes: Sequence[Sequence[int]] | None,
    ) -> None:
        self.predictions, self.depth, self.codes = predictions, depth, predictions.codes
        self.own, self.penalty = own, np.float32(math.log(1 - own_penalty))
        self.fixed = np.full((predictions.num_inputs, depth), NO_CODE)
        for row, prefix in zip(self.fixed, prefixes or [], strict=False):
            row[: len(prefix)] = prefix[:depth]

    def beam(self, width: int) -> _Frontier:
        """At most `width` complete sketches of each input."""
        frontier = self._root()
        for _ in range(self.depth):
            children = self._children(frontier)
            flat, owners = children.reshape(-1), np.repeat(frontier.owners, self.codes)
            order = np.lexsort((-flat, owners))
            owners = owners[order]
            rank = np.arange(len(order)) - np.searchsorted(owners, owners)
            frontier = frontier.take(children, order[(rank < width) & np.isfinite(flat[order])])
        return frontier

    def everything_above(self, bound: Floats) -> _Frontier:
        """All complete sketches that score at least their input's bound, (B,)."""
        frontier = self._root()
        for _ in range(self.depth):
            children = self._children(frontier)
            above = (children >= bound[frontier.owners, None]) & np.isfinite(children)
            frontier = frontier.take(children, np.flatnonzero(above))
        return frontier

    def _root(self) -> _Frontier:
        count = self.predictions.num_inputs
        return _Frontier(np.arange(count), np.empty((count, 0), np.int64), np.zeros(count, np.float32))

    def _children(self, frontier: _Frontier) -> Floats:
        """Scores of every prefix with each code after it, (R, codes); -inf where a code is not allowed."""
        level = frontier.prefixes.shape[1]
        codes = np.arange(self.codes)
        scores = self._log_probs(frontier) + frontier.scores[:, None]
        scores += self.penalty * (codes == self.own[frontier.owners, level, None])
        fixed = self.fixed[frontier.owners, level, None]
        return np.where((fixed != NO_CODE) & (fixed != codes), np.float32(-np.inf), scores)

    def _log_probs(self, frontier: _Frontier) -> Floats:
        """log p of the next code given each prefix, (R, codes)."""
        level = frontier.prefixes.shape[1]
        if self.predictions.last_code_only and level > 1:
            keys, places = np.unique(frontier.owners * self.codes + frontier.prefixes[:, -1], return_inverse=True)
            last = np.zeros((len(keys), level), np.int64)
            last[:, -1] = keys % self.codes
            return self.predictions.log_probs(keys // self.codes, last)[places]
        return self.predictions.log_probs(frontier.owners, frontier.prefixes)


def _rank(found: _Frontier, count: int, k: int) -> RankedSketches:
    """The k best of each input, best first; equal scores in the order of their codes."""
    owners, paths, scores = found.owners, found.prefixes, found.scores
    order = np.lexsort((*paths.T[::-1], -scores, owners))
    owners = owners[order]
    rank = np.arange(len(order)) - np.searchsorted(owners, owners)
    order, owners, rank = order[rank < k], owners[rank < k], rank[rank < k]
    codes = np.full((count, k, paths.shape[1]), NO_CODE)
    log_probs = np.full((count, k), -np.inf, dtype=np.float32)
    codes[owners, rank], log_probs[owners, rank] = paths[order], scores[order]
    return RankedSketches(codes, log_probs)
