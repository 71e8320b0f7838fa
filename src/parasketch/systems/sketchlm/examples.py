"""Pairs to learn from, `{"source": ..., "target": ...}` a line: read once, drawn as a function of seed and epoch.

A target may have the `grade` that a reader gave it: 2 good, 1 weak, 0 wrong. Good ones are learnt, and told from the
others of their source. Without a grade it is good.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parasketch.errors import DataError
from parasketch.files import read_lines
from parasketch.systems.sketchlm.ids import SketchIds
from parasketch.systems.sketchlm.network import GOOD, Example, Rows

_GRADES = range(GOOD + 1)
_BATCHES_TOGETHER = 64
"""Batches whose pairs are sorted by length among each other: padding would be a third of the work otherwise."""


@dataclass(frozen=True)
class Pair:
    """A source and a target, which says the same if it is good."""

    source: str
    target: str
    grade: int = GOOD


def read_pairs(path: Path) -> list[Pair]:
    """All pairs of a file of JSON lines, plain or .gz."""
    pairs = []
    for number, line in read_lines(path):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            pairs.append(Pair(row["source"], row["target"], _GRADES.index(row.get("grade", GOOD))))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            expected = 'a pair such as {"source": "...", "target": "..."}, with a "grade" of 0, 1 or 2 if it has one'
            raise DataError("not a pair", path=path, line=number, expected=expected) from error
    if not pairs:
        raise DataError("holds no pairs", path=path, expected='lines such as {"source": "...", "target": "..."}')
    return pairs


class PairExamples:
    """Encoded sources with their targets and the sketches of those."""

    def __init__(
        self, examples: Sequence[Example], *, ids: SketchIds, seed: int, batch_size: int, depth_dropout: float
    ) -> None:
        self._examples, self._ids = examples, ids
        self._seed, self._batch_size, self._dropout = seed, batch_size, depth_dropout
        self._lengths = np.array([each.length(ids.levels) for each in examples])

    def __len__(self) -> int:
        return len(self._examples)

    def order(self, epoch: int) -> NDArray[np.int64]:
        """A random order in which neighbours are of like length, so that batches have little padding."""
        random = np.random.default_rng([self._seed, epoch])
        shuffled = random.permutation(len(self))
        window = self._batch_size * _BATCHES_TOGETHER
        parts = []
        for start in range(0, len(shuffled), window):
            part = shuffled[start : start + window]
            part = part[np.argsort(self._lengths[part], kind="stable")]
            batches = np.split(part, range(self._batch_size, len(part), self._batch_size))
            parts += [batches[place] for place in random.permutation(len(batches))]
        return np.concatenate(parts)

    def batch(self, epoch: int, indices: NDArray[np.int64]) -> Rows:
        """Sources with their targets as rows, each target with the codes that depth dropout leaves it in this epoch."""
        return Rows.from_examples([self._example(epoch, int(index)) for index in indices], self._ids)

    def _example(self, epoch: int, index: int) -> Example:
        random = np.random.default_rng([self._seed, epoch, index])
        example = self._examples[index]
        targets = []
        for target in example.targets:
            dropped = random.random(self._ids.levels) < self._dropout
            depth = int(np.argmax(dropped)) if dropped.any() else self._ids.levels
            targets.append(replace(target, depth=depth))
        return Example(example.source, targets)


def by_source(pairs: Sequence[Pair], most: int) -> list[list[Pair]]:
    """The pairs of each source, in groups of `most` at most."""
    groups: dict[tuple[str, int], list[Pair]] = {}
    seen: Counter[str] = Counter()
    for pair in pairs:
        groups.setdefault((pair.source, seen[pair.source] // most), []).append(pair)
        seen[pair.source] += 1
    return list(groups.values())
