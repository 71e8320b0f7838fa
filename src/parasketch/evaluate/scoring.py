"""From outputs to scores: one object that holds what the scores need and applies it to any number of systems.

The tagger and the sentence encoder are loaded once, however many systems are scored.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from parasketch.data.corpora import EvalItem
from parasketch.errors import DataError, UsageError
from parasketch.evaluate.bootstrap import intervals
from parasketch.evaluate.metrics import DEFAULT_ALPHA, BleuCounts, bleu_measures, count, p_bleu_measure
from parasketch.evaluate.outputs import Outputs, check_outputs
from parasketch.evaluate.semantic import Encoder, semantic_measures
from parasketch.evaluate.statistics import Measure, Score
from parasketch.evaluate.surface import distinct, surface_measures, template_change
from parasketch.text.tagger import Tagger
from parasketch.text.templates import TemplateKind, build_template, template_text

Scores = dict[str, Score]
"""By name, in the order in which they are shown."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The scores of one system on one data set, and the counts from which iBLEU can be resampled."""

    scores: Scores
    human: Scores
    """The scores of meaning for the first references; empty without an encoder."""
    counts: BleuCounts
    empty_outputs: int
    """How many candidates are empty; they are scored like any other."""


@dataclass(frozen=True, kw_only=True)
class Scorer:
    """Scores outputs; without `tagger` no template change, without `encoder` no scores of meaning."""

    alpha: float = DEFAULT_ALPHA
    tagger: Tagger | None = None
    templates: TemplateKind = "chunk"
    encoder: Encoder | None = None
    resamples: int = 0
    """Bootstrap resamples for confidence intervals; 0 for none."""
    seed: int = 0
    """Of the bootstrap."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.alpha <= 1.0:
            raise UsageError(f"alpha must lie between 0 and 1, not {self.alpha}")

    def evaluate(self, items: Sequence[EvalItem], outputs: Outputs) -> Evaluation:
        """Score the outputs, k per item, for the items."""
        _check(items, outputs)
        inputs, references = [item.input for item in items], [item.references for item in items]
        counts = count(inputs, references, outputs)
        measures = bleu_measures(counts, self.alpha)
        if counts.candidates > 1:
            measures.append(p_bleu_measure(outputs))
        measures += surface_measures(inputs, outputs)
        if self.tagger is not None:
            measures.append(self._template_change(self.tagger, inputs, outputs))
        human: list[Measure] = []
        if self.encoder is not None:
            firsts = [candidates[0] for candidates in outputs]
            semantic = semantic_measures(self.encoder, inputs, references, firsts)
            measures, human = measures + semantic.outputs, semantic.human
        scores = self._scores(measures)
        scores.update({score.name: score for score in (distinct(outputs, 1), distinct(outputs, 2))})
        empty = sum(not text.strip() for candidates in outputs for text in candidates)
        return Evaluation(scores=scores, human=self._scores(human), counts=counts, empty_outputs=empty)

    def _scores(self, measures: Sequence[Measure]) -> Scores:
        if not self.resamples:
            return {measure.name: measure.score() for measure in measures}
        found = intervals(measures, resamples=self.resamples, seed=self.seed)
        return {measure.name: measure.score(interval) for measure, interval in zip(measures, found, strict=True)}

    def _template_change(self, tagger: Tagger, inputs: Sequence[str], outputs: Outputs) -> Measure:
        def template_of(texts: Sequence[str]) -> list[str]:
            return [template_text(build_template(tokens, self.templates)) for tokens in tagger.tag(texts)]

        return template_change(inputs, outputs, template_of, f"templates:{self.templates}|tagger:{tagger.name}")


def _check(items: Sequence[EvalItem], outputs: Outputs) -> None:
    if not items:
        raise DataError("there is nothing to evaluate: no items")
    if len(items) != len(outputs):
        raise DataError(f"there are {len(outputs)} outputs for {len(items)} items", expected="one entry per item")
    for number, item in enumerate(items, start=1):
        if not item.references:
            raise DataError(
                f"item {number} has no reference: {item.input!r}", expected="at least one reference per item"
            )
    check_outputs(outputs)
