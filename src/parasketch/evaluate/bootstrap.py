"""Bootstrap resampling (Koehn 2004): confidence intervals, and paired tests between systems for iBLEU.

A resample draws as many sentences as there are, with replacement. Drawing is done as counts (how often each
sentence was drawn), so that the sums of a whole block of resamples are one matrix product with the
statistics.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from parasketch.errors import DataError, UsageError
from parasketch.evaluate.metrics import DEFAULT_ALPHA, BleuCounts, ibleu_from_sums
from parasketch.evaluate.statistics import BLEU_COLUMNS, Floats, Interval, Measure

RESAMPLES = 10_000
LEVEL = 0.95
_BLOCK_ELEMENTS = 2_000_000  # drawn counts held at a time: 16 MB


@dataclass(frozen=True, kw_only=True)
class PairedTest:
    """Is system A better than system B? Over the same resampled sentences for both."""

    difference: float
    """iBLEU of A minus iBLEU of B, over all sentences."""
    interval: Interval
    """Of the difference."""
    p_value: float
    """The share of the resamples in which A was not better than B."""


def resampled_sums(statistics: Floats, *, resamples: int, seed: int) -> Iterator[Floats]:
    """Yield sums over resampled rows, block by block: (items, columns) to blocks of (some, columns).

    The draws depend on the number of items, `resamples` and `seed` alone, so two systems that are resampled
    with the same seed are resampled with the same sentences.
    """
    if resamples < 1:
        raise UsageError(f"the number of resamples must be positive, not {resamples}")
    items = len(statistics)
    generator = np.random.default_rng(seed)
    block = max(1, _BLOCK_ELEMENTS // items)
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        drawn = generator.integers(items, size=(size, items)) + items * np.arange(size)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=size * items).reshape(size, items)
        yield counts.astype(np.float64) @ statistics


def intervals(measures: Sequence[Measure], *, resamples: int = RESAMPLES, seed: int = 0) -> list[Interval]:
    """A 95 % percentile interval for each measure, all from the same resamples."""
    if not measures:
        return []
    ends = np.cumsum([measure.statistics.shape[1] for measure in measures])[:-1]
    together = np.concatenate([measure.statistics for measure in measures], axis=1)
    blocks = [
        [measure.from_sums(part) for measure, part in zip(measures, np.split(sums, ends, axis=1), strict=True)]
        for sums in resampled_sums(together, resamples=resamples, seed=seed)
    ]
    return [_interval(np.concatenate(values), seed) for values in zip(*blocks, strict=True)]


def paired_bootstrap(
    one: BleuCounts,
    other: BleuCounts,
    *,
    alpha: float = DEFAULT_ALPHA,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> PairedTest:
    """Test whether `one` has a higher iBLEU (first candidates) than `other` on the same items."""
    return paired_bootstrap_of_means([one], [other], alpha=alpha, resamples=resamples, seed=seed)


def paired_bootstrap_of_means(
    ones: Sequence[BleuCounts],
    others: Sequence[BleuCounts],
    *,
    alpha: float = DEFAULT_ALPHA,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> PairedTest:
    """Test whether the mean iBLEU of `ones`, such as runs with several seeds, is higher than that of `others`."""
    sizes = {counts.bleu.shape[1] for counts in (*ones, *others)}
    if len(sizes) != 1:
        raise DataError(f"a paired test needs outputs for the same items, not {' and '.join(map(str, sorted(sizes)))}")
    width = 2 * BLEU_COLUMNS
    rows = np.concatenate([counts.ibleu_rows()[:, :width] for counts in (*ones, *others)], axis=1)

    def difference(sums: Floats) -> Floats:
        each = np.stack([ibleu_from_sums(part, alpha) for part in np.split(sums, len(ones) + len(others), axis=-1)])
        return np.asarray(each[: len(ones)].mean(axis=0) - each[len(ones) :].mean(axis=0))

    drawn = np.concatenate([difference(sums) for sums in resampled_sums(rows, resamples=resamples, seed=seed)])
    return PairedTest(
        difference=float(difference(rows.sum(axis=0))),
        interval=_interval(drawn, seed),
        p_value=float(np.mean(drawn <= 0.0)),
    )


def _interval(values: Floats, seed: int) -> Interval:
    tail = 50.0 * (1.0 - LEVEL)
    low, high = np.nanpercentile(values, [tail, 100.0 - tail])
    return Interval(low=float(low), high=float(high), level=LEVEL, resamples=len(values), seed=seed)
