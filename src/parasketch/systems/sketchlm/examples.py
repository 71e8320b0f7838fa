"""Pairs to learn from, `{"source": ..., "target": ...}` a line: read once, drawn as a function of seed and epoch."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parasketch.errors import DataError
from parasketch.files import read_lines
from parasketch.systems.sketchlm.network import Example, Rows, SketchIds, Target

_BATCHES_TOGETHER = 64
"""Batches whose pairs are sorted by length among each other: padding would be a third of the work otherwise."""


@dataclass(frozen=True)
class Pair:
    """A source and a target that says the same."""

    source: str
    target: str


def read_pairs(path: Path) -> list[Pair]:
    """All pairs of a file of JSON lines, plain or .gz."""
    pairs = []
    for number, line in read_lines(path):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            pairs.append(Pair(source=row["source"], target=row["target"]))
        except (ValueError, KeyError, TypeError) as error:
            expected = 'a pair such as {"source": "...", "target": "..."}'
            raise DataError("not a pair", path=path, line=number, expected=expected) from error
    if not pairs:
        raise DataError("holds no pairs", path=path, expected='lines such as {"source": "...", "target": "..."}')
    return pairs


class PairExamples:
    """Encoded sources with their targets and the sketches of those."""

    def __init__(
        self,
        sources: Sequence[list[int]],
        targets: Sequence[Sequence[list[int]]],
        sketches: Sequence[Sequence[tuple[int, ...]]],
        *,
        ids: SketchIds,
        seed: int,
        batch_size: int,
        depth_dropout: float,
    ) -> None:
        self._sources, self._targets, self._sketches = sources, targets, sketches
        self._ids, self._seed, self._batch_size, self._dropout = ids, seed, batch_size, depth_dropout
        self._lengths = np.array([len(a) + sum(map(len, b)) for a, b in zip(sources, targets, strict=True)])

    def __len__(self) -> int:
        return len(self._sources)

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
        targets = []
        for tokens, sketch in zip(self._targets[index], self._sketches[index], strict=True):
            dropped = random.random(self._ids.levels) < self._dropout
            depth = int(np.argmax(dropped)) if dropped.any() else self._ids.levels
            targets.append(Target(tokens, sketch, depth))
        return Example(self._sources[index], targets)


def by_source(pairs: Sequence[Pair], most: int) -> dict[tuple[str, int], list[str]]:
    """The targets of each source, in groups of `most` at most; the key is the source and the number of the group."""
    groups: dict[tuple[str, int], list[str]] = {}
    seen: Counter[str] = Counter()
    for pair in pairs:
        groups.setdefault((pair.source, seen[pair.source] // most), []).append(pair.target)
        seen[pair.source] += 1
    return groups
