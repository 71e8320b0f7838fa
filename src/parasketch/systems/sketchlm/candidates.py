"""Candidates: what the model says in many sketches.

The likeliest sketches, or those that begin as the user wants, give one sentence greedily and one by sampling each; some
more are sampled without a sketch. What says the same is one candidate.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from parasketch.systems.sketchlm.base import BaseTokenizer
from parasketch.systems.sketchlm.decoding import Continuation, Decoding, Noise
from parasketch.systems.sketchlm.network import SketchLM

Sketch = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """How candidates are made."""

    sketches: int = 10
    """How many of the likeliest sketches are tried, each greedily and by sampling."""
    free_rows: int = 8
    """Samples without any sketch."""
    temperature: float = 0.7
    top_p: float = 0.9
    longest: float = 1.5
    """Tokens of an output for each of the source, besides 8."""


@dataclass(frozen=True)
class Candidate:
    """A sentence that the model says."""

    text: str
    sketch: Sketch
    """Empty where it was said without one."""
    log_prob: float
    """Mean of its tokens and its end, given source and sketch."""
    sketch_log_prob: float
    """Of the sketch given the source; 0 without one."""


@dataclass(frozen=True)
class Wanted:
    """One source, and what is given of the form."""

    text: str
    tokens: tuple[int, ...]
    prefix: Sketch = ()
    depth: int | None = None


class CandidateSearch:
    """Makes candidates with a network whose adapters were merged."""

    def __init__(self, network: SketchLM, tokenizer: BaseTokenizer, settings: SearchSettings) -> None:
        self._network, self._tokenizer, self._settings = network, tokenizer, settings
        self._decoding = Decoding(network)

    @torch.inference_mode()
    def __call__(self, wanted: Sequence[Wanted], *, seed: int = 0) -> list[list[Candidate]]:
        """Different candidates of each source, in no order that matters."""
        settings, ids = self._settings, self._network.ids
        sources = [each.tokens for each in wanted]
        most = 8 + math.ceil(settings.longest * max(map(len, sources)))
        grid, states = self._decoding.read(sources, room=ids.levels + most + 1)
        found = self._decoding.sketches(grid, states, [each.prefix for each in wanted], settings.sketches)
        count = found.codes.shape[1]
        sketches = self._sketches(found.codes, wanted)
        shown = torch.tensor([[ids.of(sketch) for sketch in each] for each in sketches])  # (B, rows, levels)
        rows, states = self._decoding.truncated(grid, shown)
        warm = torch.zeros(len(wanted), shown.shape[1])
        warm[:, count:] = settings.temperature
        noise = Noise([_seed_of(each.text, seed) for each in wanted], shown.shape[1])
        said = self._decoding.generate(
            rows, states, most_tokens=most, temperatures=warm, noise=noise, top_p=settings.top_p
        )
        return [
            self._distinct(said[place], sketches[place], found.log_probs[place].tolist(), each)
            for place, each in enumerate(wanted)
        ]

    def _distinct(
        self, rows: Sequence[Continuation], sketches: Sequence[Sketch], log_probs: Sequence[float], wanted: Wanted
    ) -> list[Candidate]:
        """Finished rows as candidates; of those that say the same, the likeliest."""
        best: dict[str, Candidate] = {}
        for number, (row, sketch) in enumerate(zip(rows, sketches, strict=True)):
            text = " ".join(self._tokenizer.decode(row.tokens).split())
            if not row.finished or not text:
                continue
            chance = log_probs[number % len(log_probs)] if sketch else 0.0
            candidate = Candidate(text, sketch, sum(row.log_probs) / len(row.log_probs), chance)
            if text not in best or candidate.log_prob > best[text].log_prob:
                best[text] = candidate
        return [candidate for candidate in best.values() if candidate.text != wanted.text]

    def _sketches(self, codes: Tensor, wanted: Sequence[Wanted]) -> list[list[Sketch]]:
        """The sketch of every row: the likeliest ones twice, then none; truncated where that is wanted."""
        free = 0 if any(each.prefix for each in wanted) else self._settings.free_rows
        result = []
        for paths, each in zip(codes.tolist(), wanted, strict=True):
            cut = [tuple(path[: each.depth]) for path in paths]
            result.append([*cut, *cut, *[()] * free])
        return result


def _seed_of(text: str, seed: int) -> int:
    """Random numbers of a text's own, so that no result depends on what else is in a batch."""
    return int.from_bytes(hashlib.blake2b(f"{seed} {text}".encode(), digest_size=7).digest(), "little")
