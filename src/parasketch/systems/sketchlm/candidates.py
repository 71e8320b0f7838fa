"""Candidates: what the model says in many sketches, and what it nearly said.

The likeliest sketches, or those that begin as the user wants, each give a sentence greedily. Then sentences fork: where
another token was nearly as likely as the chosen one, it is taken instead and the rest follows from it. So wording
departs from the input's at the places where the model knows another way to say it, which random sampling hits
by chance only; some samples without a sketch are added all the same. What says the same is one candidate.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from parasketch.systems.sketchlm.base import BaseTokenizer
from parasketch.systems.sketchlm.decoding import Continuation, Decoding, Grid, Sampling
from parasketch.systems.sketchlm.network import END, SketchLM

Sketch = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """How candidates are made."""

    sketches: int = 6
    """How many of the likeliest sketches are tried."""
    forks: int = 10
    """Sentences that fork off those of the round before."""
    rounds: int = 4
    """How often sentences fork."""
    novelty: float = 1.2
    """What each token that the source does not have may cost in log-probability, in the last round: one changed word is
    easy to find, but a sentence that people call different has several."""
    samples: int = 4
    """Sentences sampled without a sketch."""
    temperature: float = 0.7
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


@dataclass(frozen=True)
class Wanted:
    """One source, and what is given of the form."""

    text: str
    tokens: tuple[int, ...]
    prefix: Sketch = ()
    depth: int | None = None


@dataclass(frozen=True)
class _Row:
    """A row to decode: its sketch, and the tokens it must begin with."""

    sketch: Sketch
    sketch_log_prob: float
    beginning: tuple[int, ...] = ()


@dataclass
class _Found:
    """What has been said for one input so far."""

    rows: list[tuple[_Row, Continuation]] = field(default_factory=list)
    tried: set[tuple[Sketch, tuple[int, ...]]] = field(default_factory=set)


class CandidateSearch:
    """Makes candidates with a network whose adapters were merged."""

    def __init__(self, network: SketchLM, tokenizer: BaseTokenizer, settings: SearchSettings) -> None:
        self._network, self._tokenizer, self._settings = network, tokenizer, settings
        self._decoding = Decoding(network)

    @torch.inference_mode()
    def __call__(self, wanted: Sequence[Wanted], *, seed: int = 0) -> list[list[Candidate]]:
        """Different candidates of each source, none of them its copy, in no order that matters."""
        settings = self._settings
        sources = [each.tokens for each in wanted]
        limits, grid, sketches = self._read(wanted, settings.sketches)
        found = [_Found() for _ in wanted]
        free = [_Row((), 0.0)]
        self._say(grid, [rows + free * (not w.prefix) for rows, w in zip(sketches, wanted, strict=True)], found, limits)
        for number in range(settings.rounds):
            # The first rounds are careful, the last ones bold: what is shown is chosen from both.
            novelty = settings.novelty * number / max(settings.rounds - 1, 1)
            forks = [
                _forks(each, set(source), settings.forks, novelty) for each, source in zip(found, sources, strict=True)
            ]
            self._say(grid, forks, found, limits)
        if settings.samples:
            seeds = [_seed_of(each.text, seed) for each in wanted]
            sampling = Sampling(seeds, settings.samples, temperature=settings.temperature, top_p=settings.top_p)
            # Where the form is given, samples without one are not wanted: they are said and forgotten.
            listening = [_Found() if each.prefix else found[place] for place, each in enumerate(wanted)]
            self._say(grid, [free * settings.samples] * len(wanted), listening, limits, sampling)
        return [self._distinct(each, source) for each, source in zip(found, wanted, strict=True)]

    @torch.inference_mode()
    def likeliest(self, wanted: Sequence[Wanted], count: int) -> list[list[Candidate]]:
        """One sentence for each of the likeliest sketches, best sketch first, whatever it says."""
        limits, grid, sketches = self._read(wanted, count)
        found = [_Found() for _ in wanted]
        self._say(grid, sketches, found, limits)
        return [
            [self._candidate(asked, row) for asked, row in each.rows[: len(rows)]]
            for each, rows in zip(found, sketches, strict=True)
        ]

    def _read(self, wanted: Sequence[Wanted], count: int) -> tuple[list[int], Grid, list[list[_Row]]]:
        """How long outputs may be, the sources' grid, and rows for the likeliest sketches of each."""
        sources = [each.tokens for each in wanted]
        limits = [5 + math.ceil(self._settings.longest * len(source)) for source in sources]
        grid, states = self._decoding.read(sources, room=self._network.ids.levels + max(limits) + 1)
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
        self,
        grid: Grid,
        rows: list[list[_Row]],
        found: list[_Found],
        limits: list[int],
        sampling: Sampling | None = None,
    ) -> None:
        """Decode rows and remember what they said."""
        ids, rows = self._network.ids, _even(rows)
        codes = torch.tensor([[ids.of(row.sketch) for row in each] for each in rows])  # (B, S, levels)
        grown, states = self._decoding.begin(grid, codes)
        beginnings = [[row.beginning for row in each] for each in rows]
        said = self._decoding.generate(grown, states, limits=limits, forced=beginnings, sampling=sampling)
        for each, asked, continuations in zip(found, rows, said, strict=True):
            each.rows += zip(asked, continuations, strict=True)

    def _distinct(self, found: _Found, source: Wanted) -> list[Candidate]:
        """Finished rows as candidates; of those that say the same, the likeliest."""
        best: dict[str, Candidate] = {}
        for asked, row in found.rows:
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
        return Candidate(text, asked.sketch, mean, min(row.log_probs), asked.sketch_log_prob)


def _even(rows: list[list[_Row]]) -> list[list[_Row]]:
    """As many rows for each input: short lists repeat their last one."""
    longest = max(map(len, rows))
    return [each + each[-1:] * (longest - len(each)) for each in rows]


def _forks(found: _Found, source: set[int], count: int, novelty: float) -> list[_Row]:
    """The likeliest beginnings that depart from what was said at one further place, new words first.

    The likelihood of a fork is that of its beginning with what follows it in the sentence it departs from: what a
    fork costs is how much less likely its token is than the one that was chosen.
    """
    costs: dict[tuple[Sketch, tuple[int, ...]], tuple[float, _Row]] = {}
    for asked, row in found.rows:
        found.tried.add((asked.sketch, (*row.tokens,)))
        total = sum(row.log_probs)
        for place in range(len(asked.beginning), len(row.choices)):
            for token, chance in zip(row.choices[place], row.choice_log_probs[place], strict=True):
                beginning = (*row.tokens[:place], token)
                key = (asked.sketch, beginning)
                if (place < len(row.tokens) and token == row.tokens[place]) or token == END or key in found.tried:
                    continue
                fresh = sum(each not in source for each in (*beginning, *row.tokens[place + 1 :]))
                cost = total - row.log_probs[place] + chance + novelty * fresh
                if key not in costs or cost > costs[key][0]:
                    costs[key] = cost, _Row(asked.sketch, asked.sketch_log_prob, beginning)
    chosen = sorted(costs.items(), key=lambda item: -item[1][0])[:count]
    found.tried.update(key for key, _ in chosen)
    return [row for _, (_, row) in chosen] or [found.rows[0][0]]


def _seed_of(text: str, seed: int) -> int:
    """Random numbers of a text's own, so that no result depends on what else is in a batch."""
    return int.from_bytes(hashlib.blake2b(f"{seed} {text}".encode(), digest_size=7).digest(), "little")
