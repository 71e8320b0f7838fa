"""Candidates: what the model says in many sketches, and what else it might have said.

The likeliest sketches, or those that begin as the user wants, each give a sentence greedily; further sentences are
sampled. All are said at once, in one pass over the cache of their source. What says the same is one candidate.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice

import numpy as np

from parasketch.systems.sketchlm.base import BaseTokenizer
from parasketch.systems.sketchlm.decoding import Continuation, Decoding, Grid, Sampling
from parasketch.systems.sketchlm.model import SketchModel

Sketch = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """How candidates are made."""

    sketches: int = 14
    """How many of the likeliest sketches are said greedily."""
    samples: int = 3
    """Sentences that are sampled, in the same sketches and, where none is given, without one."""
    temperature: float = 0.8
    top_p: float = 0.9
    longest: float = 1.25
    """Tokens of an output for each of the source, besides 5: what is longer says something else."""


@dataclass(frozen=True)
class Candidate:
    """A sentence that the model says."""

    text: str
    sketch: Sketch
    """Empty where it was said without one."""
    log_prob: float
    """Mean of its tokens and its end, given source and sketch."""
    least_log_prob: float
    """Of the least likely of them."""
    sketch_log_prob: float
    """Of the sketch given the source; 0 without one."""
    grades: tuple[float, float]
    """The model's own log-odds that a reader finds it weak or better, and good."""


@dataclass(frozen=True)
class Wanted:
    """One source, and what is given of the form."""

    text: str
    tokens: tuple[int, ...]
    prefix: Sketch = ()
    depth: int | None = None


@dataclass(frozen=True)
class _Row:
    """A row to decode."""

    sketch: Sketch
    sketch_log_prob: float


class CandidateSearch:
    """Makes candidates with a model."""

    def __init__(self, model: SketchModel, tokenizer: BaseTokenizer, settings: SearchSettings) -> None:
        self._ids, self._tokenizer, self._settings = model.ids, tokenizer, settings
        self._decoding = Decoding(model)

    def __call__(self, wanted: Sequence[Wanted], *, seed: int = 0) -> list[list[Candidate]]:
        """Different candidates of each source, none of them its copy, in no order that matters."""
        settings = self._settings
        limits, grid, sketches = self._read(wanted, settings.sketches)
        rows = []
        for each, found in zip(wanted, sketches, strict=True):
            # Without a wish for a form, the last greedy row and every second sample have none.
            free = [_Row((), 0.0)] if not each.prefix else found[:1]
            greedy = _filled(found, settings.sketches) + free
            mixed = [row for pair in zip(_filled(found, settings.samples), cycle(free)) for row in pair]
            rows.append(greedy + mixed[: settings.samples])
        sampling = Sampling(
            [_seed_of(each.text, seed) for each in wanted],
            greedy=settings.sketches + 1,
            temperature=settings.temperature,
            top_p=settings.top_p,
        )
        said = self._say(grid, rows, limits, sampling if settings.samples else None)
        return [self._distinct(*each) for each in zip(rows, said, wanted, strict=True)]

    def likeliest(self, wanted: Sequence[Wanted], count: int) -> list[list[Candidate]]:
        """One sentence for each of the likeliest sketches, best sketch first, whatever it says."""
        limits, grid, sketches = self._read(wanted, count)
        said = self._say(grid, [_filled(rows, count) for rows in sketches], limits)
        return [
            [self._candidate(*row) for row in zip(rows, each, strict=False)]
            for rows, each in zip(sketches, said, strict=True)
        ]

    def _read(self, wanted: Sequence[Wanted], count: int) -> tuple[list[int], Grid, list[list[_Row]]]:
        """How long outputs may be, the sources' grid, and rows for the likeliest sketches of each."""
        sources = [each.tokens for each in wanted]
        limits = [5 + math.ceil(self._settings.longest * len(source)) for source in sources]
        grid, states = self._decoding.read(sources)
        best = self._decoding.sketches(grid, states, [each.prefix for each in wanted], count)
        rows = [
            [
                _Row(tuple(path[: each.depth]), chance)
                for path, chance in zip(paths, chances, strict=True)
                if chance > -math.inf  # others do not begin with the prefix
            ]
            for each, paths, chances in zip(wanted, best.codes.tolist(), best.log_probs.tolist(), strict=True)
        ]
        return limits, grid, [list(dict.fromkeys(each)) for each in rows]

    def _say(
        self, grid: Grid, rows: list[list[_Row]], limits: list[int], sampling: Sampling | None = None
    ) -> list[list[Continuation]]:
        """Decode rows, as many for each input."""
        codes = np.array([[self._ids.of(row.sketch) for row in each] for each in rows])  # (B, S, levels)
        return self._decoding.generate(*self._decoding.begin(grid, codes), limits=limits, sampling=sampling)

    def _distinct(self, rows: list[_Row], said: list[Continuation], source: Wanted) -> list[Candidate]:
        """Finished rows as candidates; of those that say the same, the likeliest."""
        best: dict[str, Candidate] = {}
        for asked, row in zip(rows, said, strict=True):
            candidate = self._candidate(asked, row)
            text = candidate.text
            if not row.finished or not text or text == source.text:
                continue
            if text not in best or candidate.log_prob > best[text].log_prob:
                best[text] = candidate
        return list(best.values())

    def _candidate(self, asked: _Row, row: Continuation) -> Candidate:
        text = " ".join(self._tokenizer.decode(row.tokens).split())
        mean = sum(row.log_probs) / len(row.log_probs)
        return Candidate(text, asked.sketch, mean, min(row.log_probs), asked.sketch_log_prob, row.grades)


def _filled(rows: list[_Row], count: int) -> list[_Row]:
    """Exactly so many rows: the first ones, again and again where there are too few."""
    return list(islice(cycle(rows), count))


def _seed_of(text: str, seed: int) -> int:
    """Random numbers of a text's own, so that no result depends on what else is in a batch."""
    return int.from_bytes(hashlib.blake2b(f"{seed} {text}".encode(), digest_size=7).digest(), "little")
