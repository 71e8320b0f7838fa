"""The candidates for one input: the different sentences that its sketches led to, and what can be said of each.

The same sentence often comes from several sketches. It counts once, under the sketch it was found with first, and its
probability is the sum over all of them.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parasketch.generate.paraphrases import Sketch
from parasketch.generate.tokens import Hypothesis
from parasketch.generate.wording import ORDERS, Overlaps, count_repeats, likeness
from parasketch.text.casing import restore_case
from parasketch.text.facts import compare, facts_of
from parasketch.text.normalise import normalise

FEATURES = (
    *("sketch", "likelihood", "cycle", "consensus", "difference"),
    *(f"{name}_{order}" for name in ("agree", "kept") for order in range(1, ORDERS + 1)),
    *("brevity", "length", "odd_length", "lost", "repeats", "likeness", "semantic"),
)
"""The columns of a feature matrix, named as the weights are."""


MOST_SURPRISE = 1.0
"""log p per token by which a sentence that must contain something may be less likely than the best that need not."""
MOST_JUDGED = 2048
"""Candidates of one input."""


@dataclass(kw_only=True)
class Candidate:
    """One sentence that might be returned."""

    text: str
    """In lower case, as the model writes."""
    written: str
    """With the capitals of the input."""
    tokens: tuple[int, ...]
    sketch: Sketch
    sketch_log_prob: float
    likelihood: float
    """log p per token."""
    support: float
    """log of its weight among the candidates, summed over the sketches that lead to it."""
    attempt: int
    """0 for candidates of the sketches that were asked for, more for those found by widening the search."""
    is_copy: bool
    """Equal to the input, but for case, spacing and final punctuation."""
    lost: tuple[str, ...]
    """Facts of the input that are gone, and facts that were added."""
    trusted: bool
    """Whether it may be accepted: no copy, no fact lost or added, and nothing that judged it found it unfaithful."""
    verified: bool = False
    """Whether the verifier has been asked."""
    cycle: float = math.nan
    """log p of the input per token; not a number until it is judged."""
    semantic: float = 0.0


@dataclass
class CandidateSet:
    """All candidates for one input, in the order they were found."""

    source: str
    exemplar: str | None = None
    """The sentence whose form they should have, where one is given."""
    keep_repeats: bool = False
    candidates: list[Candidate] = field(default_factory=list)
    _by_text: dict[str, Candidate] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._same, self._facts = normalise(self.source), facts_of(self.source)

    def add(
        self,
        text: str,
        hypothesis: Hypothesis,
        sketch: Sketch,
        sketch_log_prob: float,
        attempt: int,
        *,
        again: bool = False,
    ) -> None:
        """Add what a sketch led to; an empty text is dropped, a text seen before adds to its support.

        `again`: the sketch was decoded before, so that a text seen before may have counted for it already.
        """
        key = normalise(text)
        if not key:
            return
        likelihood = hypothesis.likelihood
        support = sketch_log_prob + likelihood
        if (known := self._by_text.get(key)) is not None and not self.keep_repeats:
            if known.attempt == attempt and not again:  # a wider search finds the same sketches again as well
                known.support = float(np.logaddexp(known.support, support))
            return
        written, is_copy = restore_case(text, self.source), key == self._same
        lost = compare(self._facts, facts_of(_without_opening_capital(text, written))).described()
        self._by_text[key] = Candidate(
            text=text,
            written=written,
            tokens=hypothesis.tokens,
            sketch=sketch,
            sketch_log_prob=sketch_log_prob,
            likelihood=likelihood,
            support=support,
            attempt=attempt,
            is_copy=is_copy,
            lost=lost,
            trusted=not is_copy and not lost,
        )
        self.candidates.append(self._by_text[key])

    def is_likely(self, hypothesis: Hypothesis) -> bool:
        """Whether the model would say this: one that it finds far less likely than the best it said freely is salad."""
        best = max((candidate.likelihood for candidate in self.candidates), default=-math.inf)
        return hypothesis.likelihood >= best - MOST_SURPRISE

    @property
    def num_different(self) -> int:
        """How many candidates are no copies of the input."""
        return sum(not candidate.is_copy for candidate in self.candidates)

    @property
    def keeps_facts(self) -> bool:
        """Whether a candidate that is no copy has all facts, and no others."""
        return any(not candidate.is_copy and not candidate.lost for candidate in self.candidates)


@dataclass(frozen=True)
class Judged:
    """Candidates for one input with their features, ready to be chosen from."""

    source: str
    candidates: list[Candidate]
    features: NDArray[np.float64]
    """(m, len(FEATURES)); the columns `cycle` and `semantic` are 0 until those judgements are made."""
    overlap: NDArray[np.float64]
    """(m, m), of the candidates among each other."""

    def select(self, places: Iterable[int]) -> "Judged":
        """Some of the candidates; what they got in comparison with the others stays as it is."""
        kept = list(places)
        candidates = [self.candidates[place] for place in kept]
        return Judged(self.source, candidates, self.features[kept], self.overlap[np.ix_(kept, kept)])

    def with_costly_features(self) -> "Judged":
        """The same after `cycle` and `semantic` of candidates became known; an unknown cycle is the best possible."""
        features = self.features.copy()
        cycles = np.array([candidate.cycle for candidate in self.candidates])
        features[:, FEATURES.index("cycle")] = np.where(np.isnan(cycles), 0.0, cycles)
        features[:, FEATURES.index("semantic")] = [candidate.semantic for candidate in self.candidates]
        return Judged(self.source, self.candidates, features, self.overlap)


def judge(found: CandidateSet) -> Judged:
    """The features that need no model; of very many candidates those of the likeliest."""
    candidates = found.candidates
    if len(candidates) > MOST_JUDGED:  # all are compared with all
        candidates = sorted(candidates, key=lambda one: (one.attempt, -one.support))[:MOST_JUDGED]
    texts = [candidate.text for candidate in candidates]
    overlaps = Overlaps.among([found.source, *texts])
    overlap, length = overlaps.f1(), _length(texts)
    columns: dict[str, ArrayLike] = {
        "sketch": [candidate.sketch_log_prob for candidate in candidates],
        "likelihood": [candidate.likelihood for candidate in candidates],
        "consensus": _consensus(overlap[1:, 1:], np.array([candidate.support for candidate in candidates])),
        "difference": 1 - overlap[0, 1:],
        "brevity": [-_brevity(found.source, text) for text in texts],
        "length": length,
        "odd_length": -np.abs(length),
        "lost": [-len(candidate.lost) for candidate in candidates],
        "repeats": [-count_repeats(found.source, text) for text in texts],
    }
    for order, (matches, sizes) in enumerate(zip(overlaps.matches, overlaps.sizes, strict=True), 1):
        columns[f"agree_{order}"] = _agreement(matches[1:, 1:], sizes[1:])
        columns[f"kept_{order}"] = matches[0, 1:] / max(1.0, sizes[0])
    if found.exemplar is not None:
        columns["likeness"] = likeness(found.exemplar, texts)
    features = np.zeros((len(candidates), len(FEATURES)))
    for name, column in columns.items():
        features[:, FEATURES.index(name)] = np.asarray(column)
    return Judged(found.source, candidates, features, overlap[1:, 1:])


def _without_opening_capital(text: str, written: str) -> str:
    """A text with the capitals of names alone: that of its first word was put there, and makes no name of it."""
    return text[:1] + written[1:] if written[1:2].islower() else written


def _brevity(source: str, text: str) -> float:
    """How much shorter in words a text is than the source, 0 (not shorter) to 1."""
    return max(0.0, 1 - len(text.split()) / max(1, len(source.split())))


def _length(texts: Sequence[str]) -> NDArray[np.float64]:
    """log of the length of each text in words over their mean length, (m,)."""
    lengths = np.array([max(1, len(text.split())) for text in texts], dtype=np.float64)
    return np.log(lengths / lengths.mean()) if len(lengths) else lengths


def _consensus(overlap: NDArray[np.float64], support: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean overlap of each candidate with the others, weighted by their probability, (m,): minimum Bayes risk."""
    if len(support) < 2:
        return np.zeros(len(support))
    weights = np.exp(support - support.max())
    others = weights.sum() - weights
    return np.asarray((overlap @ weights - weights) / np.maximum(others, 1e-12))


def _agreement(matches: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of a candidate's n-grams that another candidate has, mean over the others, (m,)."""
    others = max(1, len(sizes) - 1)
    return np.asarray((matches.sum(axis=1) - sizes) / np.maximum(sizes, 1) / others)
