"""Scores as functions of summed per-sentence statistics: exact, signed, and cheap to resample.

BLEU is a function of ten counts that add up over sentences, and a mean is a function of two. A `Measure`
keeps the counts of every sentence; its value, its bootstrap interval and its paired tests all come from sums
of the same rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU

Floats = NDArray[np.float64]
Counts = NDArray[np.int32]

ORDERS = 4
BLEU_COLUMNS = 2 + 2 * ORDERS
"""Output length, closest reference length, matches of order 1 to 4, n-grams of order 1 to 4."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A bootstrap confidence interval; `resamples` and `seed` say how it was drawn."""

    low: float
    high: float
    level: float
    resamples: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Score:
    """One number with the signature that says how it was computed."""

    name: str
    value: float
    signature: str
    interval: Interval | None = None


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A score that is a function of summed statistics."""

    name: str
    statistics: Floats
    """(items, columns): what each sentence adds."""
    from_sums: Callable[[Floats], Floats]
    """Sums of rows, (..., columns), to scores, (...)."""
    signature: str

    def value(self) -> float:
        """The score over all sentences."""
        return float(self.from_sums(self.statistics.sum(axis=0)))

    def score(self, interval: Interval | None = None) -> Score:
        """The score with its signature, and with its interval if there is one."""
        return Score(name=self.name, value=self.value(), signature=self.signature, interval=interval)


def share(name: str, part: Sequence[float] | Floats, whole: Sequence[float] | Floats, signature: str) -> Measure:
    """100 * sum of `part` / sum of `whole`, for shares of sentences or of things in sentences."""
    return Measure(name=name, statistics=_columns(part, whole), from_sums=_percentage, signature=signature)


def ratio(name: str, part: Sequence[float] | Floats, whole: Sequence[float] | Floats, signature: str) -> Measure:
    """Sum of `part` / sum of `whole`."""
    return Measure(name=name, statistics=_columns(part, whole), from_sums=_ratio, signature=signature)


def bleu_statistics(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> Counts:
    """The ten BLEU counts of every output, (items, 10), as sacreBLEU finds them.

    Lower-cased, 13a, any number of references per item; the reference length is the closest one, the shorter
    of two that are equally close.
    """
    # Effective order silences a warning about sentence-level scores; the counts do not depend on it.
    metric = BLEU(lowercase=True, effective_order=True)
    rows = np.zeros((len(outputs), BLEU_COLUMNS), dtype=np.int32)
    for row, output, item_references in zip(rows, outputs, references, strict=True):
        found = metric.sentence_score(output, item_references)
        row[:] = [found.sys_len, found.ref_len, *found.counts, *found.totals]
    return rows


def bleu_from_sums(sums: Floats) -> Floats:
    """Corpus BLEU, (...), of summed counts, (..., 10), with exponential smoothing."""
    output_length, reference_length = sums[..., 0], sums[..., 1]
    matches, totals = sums[..., 2 : 2 + ORDERS], sums[..., 2 + ORDERS :]
    # The i-th order without a match counts as 1 / 2^i of a match.
    smoothed = np.where(matches > 0, matches, 0.5 ** np.cumsum(matches == 0, axis=-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_precision = np.log(smoothed / totals).mean(axis=-1)
        log_brevity = np.minimum(0.0, 1.0 - reference_length / output_length)
        scores: Floats = 100.0 * np.exp(log_brevity + log_precision)
    # No match at all, or sentences so short that there is no 4-gram: sacreBLEU says 0.
    return np.where((matches.sum(axis=-1) > 0) & (totals[..., -1] > 0), scores, 0.0)


def bleu_signature(reference_counts: Sequence[int]) -> str:
    """sacreBLEU's own signature; `reference_counts` are the numbers of references of the items."""
    metric = BLEU(lowercase=True)
    distinct = set(reference_counts)
    metric.num_refs = distinct.pop() if len(distinct) == 1 else -1  # sacreBLEU's mark for a variable number
    return str(metric.get_signature())


def _columns(part: Sequence[float] | Floats, whole: Sequence[float] | Floats) -> Floats:
    return np.stack([np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)], axis=1)


def _ratio(sums: Floats) -> Floats:
    # A resample may hold no sentence that counts: its score is NaN, and the interval leaves it out.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[..., 0] / sums[..., 1])


def _percentage(sums: Floats) -> Floats:
    return 100.0 * _ratio(sums)
