"""Which candidates are shown: judged by a verifier, by facts and by the model, then chosen one by one.

A candidate is acceptable if the verifier says that it means the same, no fact was lost or added, and its wording really
differs from the input's. Those come first; among them, and among the rest when there are too few, a weighted sum
decides, less a penalty for overlap with what was chosen before.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parasketch.generate.paraphrases import Paraphrase, Sketch
from parasketch.generate.wording import Overlaps, likeness
from parasketch.systems.sketchlm.candidates import Candidate
from parasketch.text.facts import Changes, compare, facts_of
from parasketch.verify import Verifier

NOT_FAITHFUL = "may not mean the same as the input"
TOO_CLOSE = "nearly the same words as the input"
NOTHING = "the input itself: nothing different was found"
REPEAT = "repeats an earlier paraphrase: there were no more different ones"


@dataclass(frozen=True, kw_only=True)
class ChoiceSettings:
    """Weights of the choice, and what is acceptable at all."""

    likelihood: float = 1.0
    """Of the mean log-probability of a token."""
    verified: float = 0.6
    """Of the verifier's log-odds, which count up to 4 either way."""
    difference: float = 3.0
    """Of the share of the wording that changed, up to `enough`."""
    enough: float = 0.7
    length: float = 1.0
    """Against a much longer or shorter output: of the absolute log-ratio of words."""
    likeness: float = 4.0
    """Of the likeness to an exemplar, where one is given."""
    diversity: float = 2.0
    """Against overlap with outputs chosen before."""
    least_verified: float = 0.5
    """The verifier's probability that an acceptable output needs."""
    least_difference: float = 0.25
    """The share of the wording that must have changed."""


@dataclass(frozen=True)
class Judged:
    """A candidate with what is known about it."""

    candidate: Candidate
    verified: float
    changes: Changes
    difference: float
    score: float

    def problems(self, settings: ChoiceSettings) -> tuple[str, ...]:
        """Why it is not acceptable; empty if it is."""
        found = []
        if self.verified < settings.least_verified or self.changes:
            found.append(NOT_FAITHFUL)
        if self.difference < settings.least_difference:
            found.append(TOO_CLOSE)
        return tuple(found)


class Judge:
    """Judges the candidates of a source and chooses among them."""

    def __init__(self, verifier: Verifier, settings: ChoiceSettings) -> None:
        self._verifier, self._settings = verifier, settings

    def judge(self, source: str, candidates: Sequence[Candidate], exemplar: str | None = None) -> list[Judged]:
        """All candidates with their scores."""
        if not candidates:
            return []
        texts = [candidate.text for candidate in candidates]
        verified = self._verifier([(source, text) for text in texts])
        facts = facts_of(source)
        overlaps = Overlaps.among([source, *texts]).f1()[0, 1:]
        alike = np.zeros(len(texts)) if exemplar is None else likeness(exemplar, texts)
        return [
            self._judged(source, *parts, compare(facts, facts_of(parts[0].text)))
            for parts in zip(candidates, verified, 1 - overlaps, alike, strict=True)
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
        return results + [_repeat(results[place % len(results)]) for place in range(n - len(results))]

    def _judged(
        self, source: str, candidate: Candidate, verified: float, difference: float, alike: float, changes: Changes
    ) -> Judged:
        settings = self._settings
        odds = math.log(max(verified, 1e-6) / max(1 - verified, 1e-6))
        ratio = math.log(len(candidate.text.split()) / max(len(source.split()), 1))
        score = (
            settings.likelihood * candidate.log_prob
            + settings.verified * min(max(odds, -4.0), 4.0)
            + settings.difference * min(difference, settings.enough)
            - settings.length * abs(ratio)
            + settings.likeness * alike
        )
        return Judged(candidate, verified, changes, float(difference), float(score))

    def _paraphrase(self, judged: Judged, warnings: tuple[str, ...]) -> Paraphrase:
        problems = judged.problems(self._settings)
        return Paraphrase(
            text=judged.candidate.text,
            sketch=Sketch(judged.candidate.sketch),
            score=judged.score,
            difference=judged.difference,
            faithfulness=judged.verified,
            lost=(*judged.changes.lost, *(f"added: {fact}" for fact in judged.changes.added)),
            accepted=not problems,
            warnings=(*warnings, *problems),
        )


def _input_itself(source: str, warnings: tuple[str, ...]) -> Paraphrase:
    return Paraphrase(
        text=source, sketch=Sketch(), score=0.0, difference=0.0, accepted=False, warnings=(*warnings, NOTHING)
    )


def _repeat(paraphrase: Paraphrase) -> Paraphrase:
    return Paraphrase(
        text=paraphrase.text,
        sketch=paraphrase.sketch,
        score=paraphrase.score,
        difference=paraphrase.difference,
        faithfulness=paraphrase.faithfulness,
        lost=paraphrase.lost,
        accepted=False,
        warnings=(*paraphrase.warnings, REPEAT),
    )
