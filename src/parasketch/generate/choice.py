"""The choice: of many candidates the n best that differ from the input and from each other.

A candidate's score is the weighted sum of its features. Several outputs are chosen one by one, each by its score less a
penalty for overlap with those chosen before. A copy of the input is only chosen when nothing else is left, and is
marked; so is a repeat, when there are fewer candidates than outputs asked for.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from parasketch.generate.candidates import FEATURES, Candidate, Judged
from parasketch.generate.paraphrases import Paraphrase, Sketch, WordOrder
from parasketch.generate.settings import RerankWeights
from parasketch.generate.wording import overlap_matrix
from parasketch.text.sentences import SplitText

# Ranks, not weights: those that may be accepted come first, every candidate that was asked for before one of a wider
# search, and a copy after all.
_NOT_TRUSTED, _WIDER_SEARCH, _COPY = 1e3, 1e6, 1e9
COSTLY = ("cycle", "semantic")

NOT_FAITHFUL = "may not mean the same as the input"
IS_COPY = "the same as the input: nothing different was found"
IS_REPEAT = "repeats an earlier paraphrase: there were no more different ones"
IS_INPUT = "the input itself: nothing was generated"


def weight_vector(weights: RerankWeights, *, without: Sequence[str] = ()) -> NDArray[np.float64]:
    """The weights in the order of FEATURES, (len(FEATURES),); those named in `without` are 0."""
    return np.array([0.0 if name in without else getattr(weights, name) for name in FEATURES])


def find_finalists(judged: Judged, weights: RerankWeights, count: int) -> Judged:
    """The best candidates by all features but the costly ones, best first."""
    scores = judged.features @ weight_vector(weights, without=COSTLY) + _ranks(judged)
    return judged.select(np.argsort(-scores, kind="stable")[:count])


def choose(judged: Judged, weights: RerankWeights, *, n: int, diversity: float) -> list[tuple[Candidate, float]]:
    """At most n candidates, all different, with their scores."""
    scores = judged.features @ weight_vector(weights)
    adjusted = scores + _ranks(judged)
    penalty = np.zeros(len(scores))
    chosen: list[int] = []
    while len(chosen) < min(n, len(scores)):
        best = int(np.argmax(adjusted - diversity * penalty))
        chosen.append(best)
        adjusted[best] = -np.inf
        penalty = np.maximum(penalty, judged.overlap[best])
    return [(judged.candidates[place], float(scores[place])) for place in chosen]


def to_paraphrases(
    source: str, chosen: Sequence[tuple[Candidate, float]], *, n: int, warnings: tuple[str, ...]
) -> list[Paraphrase]:
    """Exactly n results, marked where they are not what was hoped for."""
    results = [_paraphrase(candidate, score, source, warnings) for candidate, score in chosen[:n]]
    if not results:
        results = [_input_itself(source, warnings)]
    repeats = [as_repeat(results[place % len(results)]) for place in range(n - len(results))]
    return results + repeats


def join_paraphrases(text: SplitText, source: str, parts: Sequence[Sequence[Paraphrase]]) -> list[Paraphrase]:
    """Paraphrases of a whole text from n of each of its sentences: the first ones together, the second ones, ..."""
    return [_joined(text, source, rank) for rank in zip(*parts, strict=True)]


def _joined(text: SplitText, source: str, parts: Sequence[Paraphrase]) -> Paraphrase:
    faithfulness = [part.faithfulness for part in parts if part.faithfulness is not None]
    orders = [part.order for part in parts if part.order is not None]
    whole = text.join([part.text for part in parts])
    return Paraphrase(
        text=whole,
        sketch=Sketch(),  # each sentence has its own
        score=sum(part.score for part in parts) / len(parts),
        difference=float(1 - overlap_matrix([source, whole])[0, 1]),
        faithfulness=min(faithfulness, default=None),
        lost=tuple(fact for part in parts for fact in part.lost),
        accepted=all(part.accepted for part in parts),
        warnings=tuple(dict.fromkeys(warning for part in parts for warning in part.warnings)),
        order=WordOrder.join(orders) if len(orders) == len(parts) else None,
        bow=tuple(word for part in parts for word in part.bow),
    )


def _ranks(judged: Judged) -> NDArray[np.float64]:
    return np.array(
        [
            -_NOT_TRUSTED * (not each.trusted) - _WIDER_SEARCH * each.attempt - _COPY * each.is_copy
            for each in judged.candidates
        ]
    )


def _paraphrase(candidate: Candidate, score: float, source: str, warnings: tuple[str, ...]) -> Paraphrase:
    doubts = (IS_COPY,) if candidate.is_copy else () if candidate.trusted else (NOT_FAITHFUL,)
    return Paraphrase(
        text=candidate.written,
        sketch=candidate.sketch,
        score=score,
        difference=float(1 - overlap_matrix([source, candidate.text])[0, 1]),
        faithfulness=None if math.isnan(candidate.cycle) else math.exp(candidate.cycle),
        lost=candidate.lost,
        accepted=candidate.trusted,
        warnings=(*warnings, *doubts),
    )


def as_repeat(paraphrase: Paraphrase) -> Paraphrase:
    """The same paraphrase where there are no more different ones."""
    return replace(paraphrase, accepted=False, warnings=(*paraphrase.warnings, IS_REPEAT))


def _input_itself(source: str, warnings: tuple[str, ...]) -> Paraphrase:
    return Paraphrase(
        text=source, sketch=Sketch(), score=0.0, difference=0.0, accepted=False, warnings=(*warnings, IS_INPUT)
    )
