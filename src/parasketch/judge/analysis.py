"""What the judgements say: means of +1 and -1 with intervals, agreement, a ranking, and how careful each rater was."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parasketch.errors import DataError
from parasketch.judge.design import CHECK
from parasketch.judge.study import LEFT, QUESTIONS, Judgement

_CHECKED = ("fluency", "meaning")  # what a check has a right answer to
_PRIOR = 0.1  # of a win in each direction of each pair: keeps a system that lost everything at a finite strength


@dataclass(frozen=True)
class Estimate:
    """A mean of +1 (chosen) and -1 (not chosen) with its 95 % bootstrap interval over items."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Rater:
    """How a rater worked."""

    number: int
    pairs: int
    checks: int
    """Answers to checks that have a right one,"""
    passed: int
    """and how many were right."""
    left: float
    """Share of answers that were `left`; far from a half says that the sides, not the texts, decided."""
    seconds: float
    """Median for a pair."""
    counted: bool


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """All figures of a study."""

    systems: tuple[str, ...]
    means: dict[tuple[str, str], Estimate]
    """(system, question)"""
    strengths: dict[tuple[str, str], float]
    """Bradley-Terry: the log odds of being chosen, centred; (system, question)."""
    alpha: dict[str, float]
    """Krippendorff's, nominal, for each question; NaN where nothing was judged twice."""
    raters: list[Rater]
    judgements: int

    def ranking(self, question: str) -> list[str]:
        """The systems, strongest first."""
        return sorted(self.systems, key=lambda system: -self.strengths[system, question])


def analyse(
    judgements: Sequence[Judgement],
    systems: Sequence[str],
    *,
    least_passed: float = 0.7,
    resamples: int = 2_000,
    seed: int = 0,
) -> Analysis:
    """The figures, without raters who got less than that share of their attention checks right."""
    raters = _raters(judgements, least_passed)
    counted = {rater.number for rater in raters if rater.counted}
    real = [each for each in judgements if not each.is_check and each.rater in counted]
    if not real:
        raise DataError("there is no judgement of a rater who passed the checks", expected="some judged pairs")
    names = tuple(systems)
    means: dict[tuple[str, str], Estimate] = {}
    strengths: dict[tuple[str, str], float] = {}
    alphas: dict[str, float] = {}
    for question in QUESTIONS:
        own = [each for each in real if each.question == question]
        for system, estimate in zip(names, _means(own, names, resamples, seed), strict=True):
            means[system, question] = estimate
        for system, strength in zip(names, bradley_terry(_wins(own, names)), strict=True):
            strengths[system, question] = float(strength)
        alphas[question] = krippendorff_alpha(_units(own))
    return Analysis(systems=names, means=means, strengths=strengths, alpha=alphas, raters=raters, judgements=len(real))


def bradley_terry(wins: np.ndarray, *, steps: int = 10_000) -> np.ndarray:
    """Centred log strengths (S,) from wins[i, j] = how often i was chosen over j, (S, S), by Hunter's MM updates."""
    count = len(wins)
    smoothed = wins + _PRIOR * (1 - np.eye(count))
    games, won = smoothed + smoothed.T, smoothed.sum(axis=1)
    strength = np.ones(count)
    for _ in range(steps):
        pairs = strength[:, None] + strength[None, :]
        new = won / (games / pairs).sum(axis=1)
        new /= np.exp(np.log(new).mean())
        if np.abs(np.log(new / strength)).max() < 1e-10:
            break
        strength = new
    return np.asarray(np.log(new))


def krippendorff_alpha(units: Sequence[Sequence[str]]) -> float:
    """Agreement on nominal values: 1 for perfect, 0 for chance. Units with one value say nothing about it."""
    shared = [unit for unit in units if len(unit) > 1]
    values = sorted({value for unit in shared for value in unit})
    coincidences = np.zeros((len(values), len(values)))
    for unit in shared:
        counts = np.array([unit.count(value) for value in values], dtype=float)
        coincidences += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    totals = coincidences.sum(axis=1)
    total = totals.sum()
    expected = total**2 - (totals**2).sum()
    if not expected:
        return float("nan")
    observed = total - np.trace(coincidences)
    return float(1 - (total - 1) * observed / expected)


def _means(judgements: Sequence[Judgement], systems: Sequence[str], resamples: int, seed: int) -> list[Estimate]:
    """Of each system; whole items are drawn, because the judgements of one item hang together."""
    places = {system: place for place, system in enumerate(systems)}
    rows: dict[int, np.ndarray] = defaultdict(lambda: np.zeros((2, len(systems))))  # sums and counts of an item
    for each in judgements:
        for system in (each.first, each.second):
            rows[each.item][0, places[system]] += 1 if system == each.chosen else -1
            rows[each.item][1, places[system]] += 1
    table = np.stack([rows[item] for item in sorted(rows)]) if rows else np.zeros((1, 2, len(systems)))
    drawn = np.random.default_rng(seed).multinomial(len(table), np.full(len(table), 1 / len(table)), resamples)
    with np.errstate(invalid="ignore", divide="ignore"):
        sums = np.einsum("ri,isk->rsk", drawn, table)
        low, high = np.nanpercentile(sums[:, 0] / sums[:, 1], [2.5, 97.5], axis=0)
        mean = table[:, 0].sum(axis=0) / table[:, 1].sum(axis=0)
    return [Estimate(*map(float, each)) for each in zip(mean, low, high, strict=True)]


def _wins(judgements: Sequence[Judgement], systems: Sequence[str]) -> np.ndarray:
    wins = np.zeros((len(systems), len(systems)))
    for each in judgements:
        loser = each.second if each.chosen == each.first else each.first
        wins[systems.index(each.chosen), systems.index(loser)] += 1
    return wins


def _units(judgements: Sequence[Judgement]) -> list[list[str]]:
    """The answers to each pair, once as it stands and once with its two outputs exchanged.

    Which output is the first says nothing. Were it counted one way only, a better system that happens to be named first
    would make `first` the usual answer, and agreement on it would look like chance.
    """
    units: dict[tuple[int, str, str], list[bool]] = defaultdict(list)
    for each in judgements:
        units[each.item, each.first, each.second].append(each.chosen == each.first)
    names = {True: ("first", "second"), False: ("second", "first")}
    return [[names[is_first][way] for is_first in unit] for unit in units.values() for way in (0, 1)]


def _raters(judgements: Sequence[Judgement], least_passed: float) -> list[Rater]:
    found = []
    for number in sorted({each.rater for each in judgements}):
        own = [each for each in judgements if each.rater == number]
        checks = [each for each in own if each.is_check and each.question in _CHECKED]
        passed = sum(each.chosen == CHECK[0] for each in checks)
        found.append(
            Rater(
                number=number,
                pairs=sum(each.question == QUESTIONS[0] for each in own),
                checks=len(checks),
                passed=passed,
                left=sum(each.side == LEFT for each in own) / len(own),
                seconds=float(np.median([each.seconds for each in own])),
                counted=passed >= least_passed * len(checks),
            )
        )
    return found
