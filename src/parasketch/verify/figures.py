"""How well scores tell right pairs from wrong ones, and what is fitted to scores: temperature and threshold."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Figures:
    """Of one group of pairs; parts are None where there is no pair of the label they need."""

    pairs: int
    right: int
    auc: float | None
    """The chance that a right pair scores above a wrong one."""
    precision: float | None
    """Of the accepted pairs, how many are right."""
    accepted: float | None
    """Of the right pairs, how many are accepted: recall."""
    rejected: float | None
    """Of the wrong pairs, how many are rejected."""


def judge(scores: Sequence[float] | Scores, same: Sequence[bool], threshold: float) -> Figures:
    """The figures of scored pairs."""
    values, labels = np.asarray(scores, dtype=np.float64), np.asarray(same, dtype=bool)
    passed = values >= threshold
    right, both = int(labels.sum()), bool(labels.any() and not labels.all())
    return Figures(
        pairs=len(values),
        right=right,
        auc=float(roc_auc_score(labels, values)) if both else None,
        precision=float(labels[passed].mean()) if both and passed.any() else None,
        accepted=float(passed[labels].mean()) if right else None,
        rejected=float(1 - passed[~labels].mean()) if right < len(values) else None,
    )


def fit_temperature(logits: Scores, same: Sequence[bool]) -> float:
    """The temperature at which the probabilities of these labels are highest, to a hundredth."""
    signs = np.where(np.asarray(same, dtype=bool), 1.0, -1.0)
    tries = np.exp(np.linspace(math.log(0.2), math.log(5.0), 400))
    losses = [float(np.logaddexp(0, -signs * logits / temperature).mean()) for temperature in tries]
    return round(float(tries[int(np.argmin(losses))]), 2)


def equal_error_threshold(scores: Sequence[float] | Scores, same: Sequence[bool]) -> float:
    """The threshold, to a hundredth, at which right pairs are rejected as often as wrong ones are accepted."""
    values, labels = np.asarray(scores, dtype=np.float64), np.asarray(same, dtype=bool)
    tries = np.arange(1, 100) / 100
    gaps = [abs(float((values[labels] < t).mean()) - float((values[~labels] >= t).mean())) for t in tries]
    return float(tries[int(np.argmin(gaps))])
