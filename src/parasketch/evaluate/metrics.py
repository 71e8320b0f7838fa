"""The paper's scores on sacreBLEU: BLEU, Self-BLEU, iBLEU, P-BLEU, and the mean iBLEU of k candidates.

Outputs are lists of k candidates per item, best first. BLEU, Self-BLEU and iBLEU judge the first candidates;
with k > 1, P-BLEU says how alike the candidates are and the mean iBLEU how good they are on average. All are
corpus-level, lower-cased, on the scale 0 to 100 (iBLEU: from 100 alpha - 100 to 100 alpha).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from parasketch.evaluate.statistics import (
    BLEU_COLUMNS,
    Counts,
    Floats,
    Measure,
    bleu_from_sums,
    bleu_signature,
    bleu_statistics,
    ratio,
)

DEFAULT_ALPHA = 0.8


@dataclass(frozen=True, kw_only=True)
class BleuCounts:
    """The statistics behind iBLEU: enough to recompute, resample and compare it without the texts."""

    bleu: Counts
    """(k, items, 10): candidates against the references."""
    self_bleu: Counts
    """(k, items, 10): candidates against the input."""
    signature: str
    """sacreBLEU's signature of `bleu`."""

    @property
    def candidates(self) -> int:
        """k, the number of candidates per item."""
        return len(self.bleu)

    def ibleu_rows(self) -> Floats:
        """(items, k * 20): BLEU and Self-BLEU counts of each candidate, side by side."""
        pairs = np.concatenate([self.bleu, self.self_bleu], axis=2)
        return np.concatenate(list(pairs), axis=1).astype(np.float64)


def count(inputs: Sequence[str], references: Sequence[Sequence[str]], outputs: Sequence[Sequence[str]]) -> BleuCounts:
    """Count n-grams once; every score of this module but P-BLEU follows from these counts."""
    ranks = list(zip(*outputs, strict=True))
    own = [[text] for text in inputs]
    return BleuCounts(
        bleu=np.stack([bleu_statistics(rank, references) for rank in ranks]),
        self_bleu=np.stack([bleu_statistics(rank, own) for rank in ranks]),
        signature=bleu_signature([len(item) for item in references]),
    )


def ibleu(bleu: Floats | float, self_bleu: Floats | float, alpha: float = DEFAULT_ALPHA) -> Floats:
    """alpha * BLEU - (1 - alpha) * Self-BLEU."""
    return np.asarray(alpha * bleu - (1.0 - alpha) * self_bleu)


def ibleu_from_sums(sums: Floats, alpha: float = DEFAULT_ALPHA) -> Floats:
    """iBLEU, (...), of summed BLEU and Self-BLEU counts, (..., 20)."""
    return ibleu(bleu_from_sums(sums[..., :BLEU_COLUMNS]), bleu_from_sums(sums[..., BLEU_COLUMNS:]), alpha)


def bleu_measures(counts: BleuCounts, alpha: float = DEFAULT_ALPHA) -> list[Measure]:
    """BLEU, Self-BLEU, iBLEU and the length ratio of the first candidates; with k > 1 the mean iBLEU of all k."""
    bleu, self_bleu = counts.bleu[0].astype(np.float64), counts.self_bleu[0].astype(np.float64)
    own_signature = bleu_signature([1])
    rows, width = counts.ibleu_rows(), 2 * BLEU_COLUMNS

    def mean_ibleu(sums: Floats) -> Floats:
        ranks = [ibleu_from_sums(sums[..., start : start + width], alpha) for start in range(0, sums.shape[-1], width)]
        return np.asarray(np.mean(ranks, axis=0))

    signature = f"{counts.signature}|alpha:{alpha:g}"
    measures = [
        Measure(name="bleu", statistics=bleu, from_sums=bleu_from_sums, signature=counts.signature),
        Measure(name="self_bleu", statistics=self_bleu, from_sums=bleu_from_sums, signature=own_signature),
        Measure(name="ibleu", statistics=rows[:, :width], from_sums=mean_ibleu, signature=signature),
        ratio("length_ratio", self_bleu[:, 0], self_bleu[:, 1], "output/input|words|tok:13a"),
    ]
    if counts.candidates > 1:
        signature += f"|k:{counts.candidates}"
        measures.append(Measure(name="mean_ibleu", statistics=rows, from_sums=mean_ibleu, signature=signature))
    return measures


def p_bleu_measure(outputs: Sequence[Sequence[str]]) -> Measure:
    """P-BLEU: the mean over the k (k - 1) ordered pairs of candidates of corpus BLEU of one given the other."""
    ranks = list(zip(*outputs, strict=True))
    pairs = [bleu_statistics(one, [[text] for text in other]) for one, other in permutations(ranks, 2)]

    def mean_bleu(sums: Floats) -> Floats:
        by_pair = sums.reshape(*sums.shape[:-1], len(pairs), BLEU_COLUMNS)
        return np.asarray(bleu_from_sums(by_pair).mean(axis=-1))

    return Measure(
        name="p_bleu",
        statistics=np.concatenate(pairs, axis=1).astype(np.float64),
        from_sums=mean_bleu,
        signature=f"{bleu_signature([1])}|k:{len(ranks)}",
    )
