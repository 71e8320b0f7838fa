"""Which candidates are shown: judged by a verifier, by facts and by the model, then chosen one by one.

A candidate is acceptable if no fact was lost or added, neither the model nor the verifier doubts it, and its wording
really differs from the input's. Those come first; among them, and among the rest when there are
too few, a weighted sum decides, less a penalty for overlap with what was chosen before.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from parasketch.generate.choice import as_repeat
from parasketch.generate.paraphrases import Paraphrase, Sketch
from parasketch.generate.wording import Overlaps, likeness
from parasketch.systems.sketchlm.candidates import Candidate
from parasketch.text.asking import changed_asking
from parasketch.text.facts import Changes, compare, facts_of

NOT_FAITHFUL = "may not mean the same as the input"
TOO_CLOSE = "nearly the same words as the input"
NOTHING = "the input itself: nothing different was found"


class Verifies(Protocol):
    """What is needed of `parasketch.verify.Verifier`."""

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> list[float]:
        """For each pair, the probability that the second says what the first says."""
        ...


@dataclass(frozen=True, kw_only=True)
class ChoiceSettings:
    """Weights of the choice, fitted to grades of blind readers (docs/everyday.md), and what is acceptable at all."""

    likelihood: float = 1.5
    """Of the mean log-probability of a token given the source."""
    surprise: float = 0.05
    """Of the log-probability of the least likely token: a word that came from nowhere."""
    verified: float = 0.15
    """Of the verifier's log-odds, which count up to 4 either way."""
    right: float = 0.0
    """Of the model's own log-odds that a reader would not find it wrong, which count up to 4 either way."""
    good: float = 0.0
    """Of its log-odds that a reader would find it good."""
    difference: float = 0.6
    """Of the share of the wording that changed, up to `enough`."""
    enough: float = 0.6
    length: float = 0.6
    """Against a much longer or shorter output: of the absolute log-ratio of words."""
    likeness: float = 4.0
    """Of the likeness to an exemplar, where one is given."""
    diversity: float = 0.3
    """Against overlap with outputs chosen before."""
    finalists: int = 16
    """Candidates that the verifier looks at."""
    least_verified: float = 0.27
    """The verifier's probability that an acceptable output needs."""
    least_score: float = -0.55
    """The score that an acceptable output needs."""
    least_difference: float = 0.15
    """The share of the wording that must have changed."""


@dataclass(frozen=True)
class Judged:
    """A candidate with what is known about it."""

    candidate: Candidate
    changes: Changes
    difference: float
    verified: float
    features: dict[str, float]
    """What the score is made of, by the names of the weights."""
    score: float

    def problems(self, settings: ChoiceSettings) -> tuple[str, ...]:
        """Why it is not acceptable; empty if it is."""
        unfaithful = self.changes or self.verified < settings.least_verified or self.score < settings.least_score
        too_close = self.difference < settings.least_difference
        return ((NOT_FAITHFUL,) if unfaithful else ()) + ((TOO_CLOSE,) if too_close else ())


class Judge:
    """Judges the candidates of a source and chooses among them."""

    def __init__(self, verifier: Verifies, settings: ChoiceSettings) -> None:
        self._verifier, self._settings = verifier, settings

    def judge(self, source: str, candidates: Sequence[Candidate], exemplar: str | None = None) -> list[Judged]:
        """The candidates that are worth it, by what is quickly seen, with all their features."""
        if not candidates:
            return []
        texts = [candidate.text for candidate in candidates]
        facts = facts_of(source)
        differences = 1 - Overlaps.among([source, *texts]).f1()[0, 1:]
        alike = np.zeros(len(texts)) if exemplar is None else likeness(exemplar, texts)
        changes = [_with_asking(compare(facts, facts_of(text)), source, text) for text in texts]
        quick = [
            self._quick_features(source, candidate, float(difference), float(like))
            for candidate, difference, like in zip(candidates, differences, alike, strict=True)
        ]
        scores = [self._score(features) - 100.0 * bool(each) for features, each in zip(quick, changes, strict=True)]
        finalists = sorted(range(len(texts)), key=lambda place: -scores[place])[: self._settings.finalists]
        verified = self._verifier([(source, texts[place]) for place in finalists])
        judged = []
        for place, sure in zip(finalists, verified, strict=True):
            features = quick[place] | {"verified": _log_odds(sure)}
            difference = float(differences[place])
            judged.append(Judged(candidates[place], changes[place], difference, sure, features, self._score(features)))
        return judged

    def choose(self, source: str, judged: Sequence[Judged], n: int, warnings: tuple[str, ...] = ()) -> list[Paraphrase]:
        """Exactly n paraphrases, best first, marked where they are not acceptable."""
        settings = self._settings
        scores = np.array([each.score - (100.0 if each.problems(settings) else 0.0) for each in judged])
        overlap = Overlaps.among([each.candidate.text for each in judged]).f1() if judged else np.zeros((0, 0))
        penalty: NDArray[np.float64] = np.zeros(len(judged))
        chosen: list[int] = []
        while len(chosen) < min(n, len(judged)):
            best = int(np.argmax(scores - settings.diversity * penalty))
            chosen.append(best)
            scores[best] = -np.inf
            penalty = np.maximum(penalty, overlap[best])
        results = [self._paraphrase(judged[place], warnings) for place in chosen]
        if not results:
            results = [_input_itself(source, warnings)]
        return results + [as_repeat(results[place % len(results)]) for place in range(n - len(results))]

    def _quick_features(self, source: str, candidate: Candidate, difference: float, alike: float) -> dict[str, float]:
        return {
            "likelihood": candidate.log_prob,
            "surprise": candidate.least_log_prob,
            "right": _bounded(candidate.grades[0]),
            "good": _bounded(candidate.grades[1]),
            "difference": min(difference, self._settings.enough),
            "length": -abs(math.log(len(candidate.text.split()) / max(len(source.split()), 1))),
            "likeness": alike,
        }

    def _score(self, features: dict[str, float]) -> float:
        weights: dict[str, float] = vars(self._settings)
        return sum(weights[name] * value for name, value in features.items())

    def _paraphrase(self, judged: Judged, warnings: tuple[str, ...]) -> Paraphrase:
        problems = judged.problems(self._settings)
        return Paraphrase(
            text=judged.candidate.text,
            sketch=Sketch(judged.candidate.sketch),
            score=judged.score,
            difference=judged.difference,
            faithfulness=judged.verified,
            lost=judged.changes.described(),
            accepted=not problems,
            warnings=(*warnings, *problems),
        )


def _with_asking(changes: Changes, source: str, output: str) -> Changes:
    """What changed, with a question that became a statement or the other way round: this model minds its marks."""
    gone, new = changed_asking(source.lower(), output.lower())
    return Changes(changes.lost + ("the question",) * gone, changes.added + ("a question",) * new)


def _input_itself(source: str, warnings: tuple[str, ...]) -> Paraphrase:
    return Paraphrase(
        text=source, sketch=Sketch(), score=0.0, difference=0.0, accepted=False, warnings=(*warnings, NOTHING)
    )


def _log_odds(probability: float) -> float:
    return _bounded(math.log(max(probability, 1e-6) / max(1 - probability, 1e-6)))


def _bounded(log_odds: float) -> float:
    """Between -4 and 4."""
    return min(max(log_odds, -4.0), 4.0)
