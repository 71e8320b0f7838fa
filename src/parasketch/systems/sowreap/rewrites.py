"""Word orders of a sentence, composed of rewritten phrases: which phrases SOW is asked about, and what is made of it.

A split is a phrase with two gaps. SOW says each split with its gaps the other way round; the orders of what is inside
the gaps are found in the same way, and all of them are combined. This module knows no network: it is given what SOW
said.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from parasketch.systems.sowreap.parses import Node, Parse
from parasketch.systems.sowreap.rules import MOST_REMAINDER, Unit, X, Y, may_be_gap, units_of

MOST_SPLITS = 30
"""Splits of a sentence that SOW is asked about; those of the longest phrases come first."""
MOST_DEPTH = 2
"""Rewrites inside gaps of rewrites: none inside those."""
MOST_RESULTS = 10
"""Orders of a phrase, and of a sentence."""
MOST_REWRITES = 3
"""Rewritten phrases in one order."""


@dataclass(frozen=True)
class Split:
    """A phrase with two gaps, of which X is the first."""

    node: Node
    x: Node
    y: Node

    @property
    def units(self) -> tuple[Unit, ...]:
        """Its words and gaps from left to right."""
        return units_of(self.node, self.x, self.y)


@dataclass(frozen=True)
class Rewrite:
    """What SOW made of a split."""

    split: Split
    units: tuple[Unit, ...]
    """The words and gaps of the split in the order in which they are said."""
    said: tuple[int, ...]
    """The tokens of the rewritten phrase, the gaps filled: two rewrites that say the same are one."""
    score: float
    """log p per token."""


@dataclass(frozen=True)
class Proposal:
    """An order of the words of a phrase, or of a sentence."""

    order: tuple[int, ...]
    scores: tuple[float, ...] = ()
    """Of the rewrites in it."""

    @property
    def score(self) -> float:
        """The mean; 0 for the order as it was."""
        return sum(self.scores) / len(self.scores) if self.scores else 0.0


def splits_of(parse: Parse) -> list[Split]:
    """All splits of a sentence, the longest phrases first.

    The gaps are phrases beside each other, and the phrase is the smallest that has both in it. Something must remain
    besides them, and at most the phrase's length over 1.7; a gap of one word is no mark and no small word.
    """
    nodes = [node for node in parse.nodes if may_be_gap(parse, node)]
    found = []
    for x, y in itertools.permutations(nodes, 2):
        if x.end > y.start:
            continue
        node = min(
            (each for each in parse.nodes if each.contains(x) and each.contains(y)), key=len, default=parse.whole
        )
        if 1 <= len(node) - len(x) - len(y) <= len(node) / MOST_REMAINDER:
            found.append(Split(node, x, y))
    found.sort(key=lambda split: (-len(split.node), -len(split.x) - len(split.y), split.x.start, split.y.start))
    return found[:MOST_SPLITS]


def compose(parse: Parse, rewrites: Iterable[Rewrite], kept: Mapping[Node, Split]) -> list[Proposal]:
    """Orders of the whole sentence, best first; the last one is the order it has.

    `kept` has, for phrases that were asked about, the split inside whose gaps other rewrites are looked for while the
    phrase itself stays as it is.
    """
    found = _Composition(rewrites, kept).orders(parse.whole, MOST_DEPTH)
    changed = [proposal for proposal in found if 1 <= len(proposal.scores) <= MOST_REWRITES]
    as_it_is = tuple(range(len(parse)))
    different = [each for each in _different(changed) if each.order != as_it_is]
    return [*different[: MOST_RESULTS - 1], Proposal(as_it_is)]


class _Composition:
    """The rewrites of a sentence by the phrase they belong to."""

    def __init__(self, rewrites: Iterable[Rewrite], kept: Mapping[Node, Split]) -> None:
        best: dict[tuple[Node, tuple[int, ...]], Rewrite] = {}
        for rewrite in sorted(rewrites, key=lambda each: -each.score):
            best.setdefault((rewrite.split.node, rewrite.said), rewrite)
        self._rewrites: dict[Node, list[Rewrite]] = defaultdict(list)
        for rewrite in best.values():
            self._rewrites[rewrite.split.node].append(rewrite)
        self._kept = kept
        self._nodes = sorted({*self._rewrites, *kept}, key=lambda node: (-len(node), node.start))

    def orders(self, node: Node, depth: int) -> list[Proposal]:
        """Orders of the words of a phrase: of the largest phrase in it that was asked about, the rest as it is."""
        top = next((each for each in self._nodes if node.contains(each)), None)
        if top is None or depth == 0:
            return [Proposal(tuple(range(node.start, node.end)))]
        found = [
            inner
            for rewrite in self._rewrites[top]
            for inner in self._fill(rewrite.split, rewrite.units, (rewrite.score,), depth)
        ]
        if top in self._kept:
            found += self._fill(self._kept[top], self._kept[top].units, (), depth)
        before, after = tuple(range(node.start, top.start)), tuple(range(top.end, node.end))
        return _different(Proposal((*before, *each.order, *after), each.scores) for each in found)[:MOST_RESULTS]

    def _fill(self, split: Split, units: Sequence[Unit], scores: tuple[float, ...], depth: int) -> list[Proposal]:
        """A phrase in the order of its units, with every combination of orders inside the gaps."""
        found = []
        for x, y in itertools.product(self.orders(split.x, depth - 1), self.orders(split.y, depth - 1)):
            inside = {X: x.order, Y: y.order}
            order = tuple(word for unit in units for word in (inside[unit] if isinstance(unit, str) else (unit,)))
            found.append(Proposal(order, (*scores, *x.scores, *y.scores)))
        return found


def _different(proposals: Iterable[Proposal]) -> list[Proposal]:
    """The best proposal of each order, best first."""
    found: dict[tuple[int, ...], Proposal] = {}
    for proposal in sorted(proposals, key=lambda each: -each.score):
        found.setdefault(proposal.order, proposal)
    return list(found.values())
