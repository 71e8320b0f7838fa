"""Which sketches suit a meaning: the exact k best of p(q1, ..., qD | meaning), for a whole batch at once.

A beam finds k good sketches first. The worst of them is a bound: a prefix that is less likely already can never become
one of the k best, because more codes only make it less likely. Expanding every prefix above the bound is therefore
exact, and costs little when the predictor is sure. Trees too large for that are left at the beam.

The predictor's first layer is linear in [meaning ; path], so its part for the meaning is computed once per input, its
part for the path is a sum of rows of small tables, and each (input, prefix) costs only the layers after it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from parasketch.model.predictor import SketchPredictor
from parasketch.systems.hrqvae.network import HRQVAE

LARGEST_TREE = 1 << 16
"""Trees with more sketches than this are searched by the beam alone."""
WIDEST_BEAM = 64
_BLOCK_ROWS = 4096
_SLACK = 1e-4  # rounding must not push one of the k best below the bound

NO_CODE = -1


@dataclass(frozen=True)
class RankedSketches:
    """The best sketches of B inputs, best first, none twice."""

    codes: np.ndarray
    """(B, k, depth); NO_CODE where an input has fewer than k sketches."""
    log_probs: np.ndarray
    """(B, k), log p of each; -inf where there is none."""


def best_sketches(
    model: HRQVAE,
    pooled: Tensor,
    *,
    k: int,
    depth: int,
    own: Tensor,
    own_penalty: float = 0.0,
    prefixes: Sequence[Sequence[int]] | None = None,
) -> RankedSketches:
    """The k best sketches of `depth` codes for pooled meanings (B, width).

    `own` (B, D) are the inputs' own codes: at each level, p of the own code is multiplied by 1 - own_penalty.
    `prefixes` fixes the first codes of each input's sketches.
    """
    if depth == 0:
        return RankedSketches(np.empty((len(pooled), 1, 0), np.int64), np.zeros((len(pooled), 1)))
    tree = _Tree(model, pooled, depth=depth, own=own, own_penalty=own_penalty, prefixes=prefixes)
    paths = tree.codes**depth
    beam = tree.beam(min(max(k, WIDEST_BEAM), paths) if paths > LARGEST_TREE else min(k, paths))
    if paths > LARGEST_TREE:
        return _rank(beam, len(pooled), k)
    bound = torch.full((len(pooled),), -math.inf, dtype=pooled.dtype, device=pooled.device)
    full = torch.bincount(beam.owners, minlength=len(pooled)) >= k
    lowest = torch.full_like(bound, math.inf).scatter_reduce(0, beam.owners, beam.scores, "amin")
    bound = torch.where(full, lowest - _SLACK, bound)
    return _rank(tree.everything_above(bound), len(pooled), k)


@dataclass(frozen=True)
class _Frontier:
    """R prefixes, each of one input."""

    owners: Tensor  # (R,)
    prefixes: Tensor  # (R, level)
    scores: Tensor  # (R,)

    def take(self, children: Tensor, kept: Tensor) -> "_Frontier":
        """Those children, with scores (R, codes), whose flat index is in `kept` (R',)."""
        rows, codes = kept // children.shape[1], kept % children.shape[1]
        longer = torch.cat([self.prefixes[rows], codes[:, None]], dim=1)
        return _Frontier(self.owners[rows], longer, children.flatten()[kept])


class _Tree:
    """The tree of sketches of a batch of inputs, with the score of each branch."""

    def __init__(
        self,
        model: HRQVAE,
        pooled: Tensor,
        *,
        depth: int,
        own: Tensor,
        own_penalty: float,
        prefixes: Sequence[Sequence[int]] | None,
    ) -> None:
        self.predictor: SketchPredictor = model.predictor
        self.codebooks, self.pooled, self.depth = model.quantizer.codebooks, pooled, depth
        self.codes = self.codebooks.shape[1]
        self.own, self.penalty = own, math.log(1 - own_penalty)
        fixed = np.full((len(pooled), depth), NO_CODE)
        for row, prefix in zip(fixed, prefixes or [], strict=False):
            row[: len(prefix)] = prefix[:depth]
        self.fixed = torch.from_numpy(fixed).to(pooled.device)

    def beam(self, width: int) -> _Frontier:
        """At most `width` complete sketches of each input."""
        frontier = self._root()
        for _ in range(self.depth):
            children = self._children(frontier)
            flat = children.flatten()
            order = torch.argsort(flat, descending=True, stable=True)
            owners = frontier.owners.repeat_interleave(self.codes)[order]
            order = order[torch.argsort(owners, stable=True)]
            owners = frontier.owners.repeat_interleave(self.codes)[order]
            starts = torch.searchsorted(owners, torch.arange(len(self.pooled), device=owners.device))
            rank = torch.arange(len(order), device=owners.device) - starts[owners]
            frontier = frontier.take(children, order[(rank < width) & flat[order].isfinite()])
        return frontier

    def everything_above(self, bound: Tensor) -> _Frontier:
        """All complete sketches that score at least their input's bound, (B,)."""
        frontier = self._root()
        for _ in range(self.depth):
            children = self._children(frontier)
            above = (children >= bound[frontier.owners, None]) & children.isfinite()
            frontier = frontier.take(children, above.flatten().nonzero().squeeze(1))
        return frontier

    def _root(self) -> _Frontier:
        count, device = len(self.pooled), self.pooled.device
        return _Frontier(
            torch.arange(count, device=device),
            torch.empty(count, 0, dtype=torch.int64, device=device),
            torch.zeros(count, dtype=self.pooled.dtype, device=device),
        )

    def _children(self, frontier: _Frontier) -> Tensor:
        """Scores of every prefix with each code after it, (R, codes); -inf where a code is not allowed."""
        level = frontier.prefixes.shape[1]
        scores = self._log_probs(frontier) + frontier.scores[:, None]
        codes = torch.arange(self.codes, device=scores.device)
        scores = scores + self.penalty * (codes == self.own[frontier.owners, level, None])
        fixed = self.fixed[frontier.owners, level, None]
        return scores.masked_fill_((fixed != NO_CODE) & (fixed != codes), -math.inf)

    def _log_probs(self, frontier: _Frontier) -> Tensor:
        """log p of the next code given each prefix, (R, codes)."""
        level = frontier.prefixes.shape[1]
        if self.predictor.conditioning == "previous" and level > 1:
            # Only the last code matters: many prefixes share one row.
            keys = frontier.owners * self.codes + frontier.prefixes[:, -1]
            keys, places = keys.unique(return_inverse=True)  # type: ignore[no-untyped-call]
            last = torch.full((len(keys), level), 0, device=keys.device)
            last[:, -1] = keys % self.codes
            return self._rows(keys // self.codes, last)[places]
        return self._rows(frontier.owners, frontier.prefixes)

    def _rows(self, owners: Tensor, prefixes: Tensor) -> Tensor:
        level = prefixes.shape[1]
        mlp = cast(nn.Sequential, self.predictor.mlps[level])
        first, rest = cast(nn.Linear, mlp[0]), mlp[1:]
        width = self.pooled.shape[1]
        meaning = nn.functional.linear(self.pooled, first.weight[:, :width], first.bias)  # (B, hidden)
        used = range(level) if self.predictor.conditioning == "cumulative" else range(max(0, level - 1), level)
        tables = {above: self.codebooks[above] @ first.weight[:, width:].T for above in used}  # (codes, hidden) each
        blocks = []
        for start in range(0, len(owners), _BLOCK_ROWS):
            block = slice(start, start + _BLOCK_ROWS)
            hidden = meaning[owners[block]]
            for above, table in tables.items():
                hidden += table[prefixes[block, above]]
            blocks.append(torch.log_softmax(rest(hidden), dim=-1))
        return torch.cat(blocks)


def _rank(found: _Frontier, count: int, k: int) -> RankedSketches:
    """The k best of each input, best first; equal scores in the order of their codes."""
    owners, paths, scores = found.owners.cpu().numpy(), found.prefixes.cpu().numpy(), found.scores.cpu().numpy()
    order = np.lexsort((*paths.T[::-1], -scores, owners))
    owners = owners[order]
    rank = np.arange(len(order)) - np.searchsorted(owners, owners)
    order, owners, rank = order[rank < k], owners[rank < k], rank[rank < k]
    codes = np.full((count, k, paths.shape[1]), NO_CODE)
    log_probs = np.full((count, k), -np.inf)
    codes[owners, rank], log_probs[owners, rank] = paths[order], scores[order]
    return RankedSketches(codes, log_probs)
