"""One evaluation from end to end: let a system generate, score what it wrote, and keep how it came about.

A trained model can be evaluated in several ways at once: with predicted sketches, with its input's own
sketch, with the sketch of a reference (the oracle), and with that sketch cut off after each level.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from parasketch.evaluate.outputs import Outputs
from parasketch.evaluate.results import EvalData, Results, collect
from parasketch.evaluate.scoring import Scorer
from parasketch.systems.base import System
from parasketch.systems.trained import Oracle, OwnSketch, Plain, PlainOracle, Trained


@dataclass(frozen=True, kw_only=True)
class Run:
    """A system under the name that tables give it, and how many candidates it makes per item."""

    name: str
    system: System
    candidates: int = 1


def evaluate_run(run: Run, data: EvalData, scorer: Scorer, *, command: str, seed: int) -> tuple[Results, Outputs]:
    """Generate and score; references are shown to upper bounds alone."""
    references = [item.references for item in data.items] if run.system.uses_references else None
    start = time.perf_counter()
    outputs = run.system.generate([item.input for item in data.items], run.candidates, references)
    seconds = time.perf_counter() - start
    results = collect(
        scorer.evaluate(data.items, outputs),
        data,
        system=run.name,
        alpha=scorer.alpha,
        command=command,
        seed=seed,
        seconds=round(seconds, 1),
        model_sha256=run.system.fingerprint(),
        uses_references=run.system.uses_references,
    )
    return results, outputs


def evaluate_outputs(
    outputs: Outputs, data: EvalData, scorer: Scorer, *, name: str, command: str, seed: int
) -> Results:
    """Score outputs that some other system wrote."""
    evaluation = scorer.evaluate(data.items, outputs)
    return collect(evaluation, data, system=name, alpha=scorer.alpha, command=command, seed=seed, seconds=None)


def model_runs(
    predicted: Trained,
    *,
    name: str,
    top: int = 1,
    plain: bool = False,
    own: bool = False,
    oracle: bool = False,
    depths: bool = False,
) -> Sequence[Run]:
    """The ways to evaluate one model; `depths` adds the oracle with 0 to D codes, of which D is `oracle` itself.

    With `plain` it also adds plain without any code: what predicted sketches have to beat.
    """
    runs = [Run(name=name, system=predicted, candidates=top)]
    if plain:
        runs.append(Run(name=f"{name} plain", system=Plain.like(predicted), candidates=top))
        if depths:
            runs.append(Run(name=f"{name} plain depth 0", system=Plain.like(predicted, cut=0)))
    if own:
        runs.append(Run(name=f"{name} own sketch", system=OwnSketch.like(predicted)))
    if depths:
        for depth in range(predicted.depth):
            runs.append(Run(name=f"{name} oracle depth {depth}", system=Oracle.like(predicted, cut=depth)))
    if oracle or depths:
        runs.append(Run(name=f"{name} oracle", system=Oracle.like(predicted)))
        if plain:
            runs.append(Run(name=f"{name} plain oracle", system=PlainOracle.like(predicted)))
    return runs
