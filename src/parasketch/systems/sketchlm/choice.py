"""Which candidates are shown: judged by a verifier, by facts and by the model, then chosen one by one.

A candidate is acceptable if no fact was lost or added, neither the model nor the verifier doubts it, and its wording
really differs from the input's. Those come first; among them, and among the rest when there are
too few, the grade decides that a strict reader can be expected to give, less a penalty for overlap with what was
chosen before.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from parasketch.generate.choice import as_repeat
from parasketch.generate.paraphrases import Paraphrase, Sketch
from parasketch.generate.wording import Overlaps, compared_words, likeness
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
class Weights:
    """Of a logistic fit to grades of blind readers (docs/everyday.md): the log-odds are the weighted sum."""

    constant: float
    likelihood: float
    """Of the mean log-probability of a token given the source."""
    surprise: float
    """Of the log-probability of the least likely token: a word that came from nowhere."""
    verified: float
    """Of the verifier's log-odds, which count up to 4 either way, as do the next two."""
    right: float
    """Of the model's own log-odds that a reader would not find it wrong."""
    good: float
    """Of its log-odds that a reader would find it good."""
    difference: float
    """Of the share of the wording that changed, up to `enough`."""
    length: float
    """Against a much longer or shorter output: of the absolute log-ratio of words, negative."""

    def chance(self, features: Mapping[str, float]) -> float:
        """The probability, given features by the names above."""
        odds = self.constant + sum(weight * features[name] for name, weight in vars(self).items() if name in features)
        return 1 / (1 + math.exp(-odds))


@dataclass(frozen=True, kw_only=True)
class ChoiceSettings:
    """What a reader would think of a candidate, and what is acceptable at all."""

    right: Weights = Weights(
        constant=0.24,
        likelihood=1.9,
        surprise=0.42,
        verified=0.27,
        right=0.9,
        good=-0.34,
        difference=-1.1,
        length=1.7,
    )
    """Of the chance that a reader would not find it wrong."""
    good: Weights = Weights(
        constant=-2.3,
        likelihood=5.1,
        surprise=0.32,
        verified=-0.04,
        right=0.23,
        good=0.6,
        difference=1.9,
        length=2.8,
    )
    """Of the chance that a reader would find it good."""
    enough: float = 0.6
    """The share of the wording above which more difference counts no more."""
    likeness: float = 1.5
    """Of the likeness to an exemplar, where one is given, beside the grade."""
    diversity: float = 0.3
    """Against overlap with outputs chosen before, beside the grade."""
    finalists: int = 16
    """Candidates that the verifier looks at."""
    least_verified: float = 0.04
    """The verifier's probability that an acceptable output needs."""
    least_right: float = 0.6
    """The chance that a reader would not find it wrong that an acceptable output needs."""
    least_difference: float = 0.1
    """The share of the wording that must have changed."""


@dataclass(frozen=True)
class Judged:
    """A candidate with what is known about it."""

    candidate: Candidate
    changes: Changes
    difference: float
    alike: float
    """To an exemplar; 0 without one."""
    verified: float
    features: dict[str, float]
    """What a reader's grade is foretold from, by the names of the weights."""
    right: float
    """The chance that a reader would not find it wrong."""
    score: float
    """The grade that a reader can be expected to give, 0 to 2, and likeness to an exemplar."""

    def problems(self, settings: ChoiceSettings) -> tuple[str, ...]:
        """Why it is not acceptable; empty if it is."""
        unfaithful = self.changes or self.verified < settings.least_verified or self.right < settings.least_right
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
        plain = _plain_words(source)
        differences = [
            float(difference) if _plain_words(text) != plain else 0.0
            for text, difference in zip(texts, 1 - Overlaps.among([source, *texts]).f1()[0, 1:], strict=True)
        ]
        alike = [0.0] * len(texts) if exemplar is None else likeness(exemplar, texts).tolist()
        changes = [_with_asking(compare(facts, facts_of(text)), source, text) for text in texts]
        quick = [self._judged(source, *each) for each in zip(candidates, changes, differences, alike, strict=True)]
        quick.sort(key=lambda each: each.score - 100.0 * bool(each.changes), reverse=True)
        finalists = quick[: self._settings.finalists]
        verified = self._verifier([(source, each.candidate.text) for each in finalists])
        return [
            self._judged(source, each.candidate, each.changes, each.difference, each.alike, sure)
            for each, sure in zip(finalists, verified, strict=True)
        ]

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

    def _judged(
        self,
        source: str,
        candidate: Candidate,
        changes: Changes,
        difference: float,
        alike: float,
        verified: float = 0.5,
    ) -> Judged:
        """All that is known of a candidate, `verified` as long as the verifier has not seen it."""
        settings = self._settings
        features = {
            "likelihood": candidate.log_prob,
            "surprise": candidate.least_log_prob,
            "verified": _bounded(math.log(max(verified, 1e-6) / max(1 - verified, 1e-6))),
            "right": _bounded(candidate.grades[0]),
            "good": _bounded(candidate.grades[1]),
            "difference": min(difference, settings.enough),
            "length": -abs(math.log(len(candidate.text.split()) / max(len(source.split()), 1))),
        }
        right = settings.right.chance(features)
        score = right + settings.good.chance(features) + settings.likeness * alike
        return Judged(candidate, changes, difference, alike, verified, features, right, score)

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


def _plain_words(text: str) -> list[str]:
    """Without casing and marks, which alone are no difference."""
    return [word for word in compared_words(text) if word[0].isalnum()]


def _input_itself(source: str, warnings: tuple[str, ...]) -> Paraphrase:
    return Paraphrase(
        text=source, sketch=Sketch(), score=0.0, difference=0.0, accepted=False, warnings=(*warnings, NOTHING)
    )


def _bounded(log_odds: float) -> float:
    """Between -4 and 4."""
    return min(max(log_odds, -4.0), 4.0)
