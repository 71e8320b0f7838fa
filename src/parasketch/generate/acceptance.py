"""Whether candidates may be accepted: what judges decides it, beside the facts, which are known of every candidate.

The model's own faithfulness and the order of the words have to reach thresholds that were fitted to the model; and
where the verifier is installed, it must not doubt that candidate and input mean the same. The verifier is loaded when
it is first asked.
"""

import math
from collections.abc import Sequence
from functools import cache

from parasketch.generate.candidates import Candidate
from parasketch.generate.settings import GenerateConfig
from parasketch.model.directory import WEIGHTS
from parasketch.text.fluency import fluency
from parasketch.verify import Verifier
from parasketch.verify.verifier import SHIPPED


def judge_trust(found: Sequence[tuple[str, Candidate]], config: GenerateConfig) -> None:
    """Trust those of the candidates, each with its source, that pass every check; others lose what trust they had."""
    for _, candidate in found:
        judge_alone(candidate, config)
    verify(found, config)


def judge_alone(candidate: Candidate, config: GenerateConfig) -> None:
    """Trust a candidate no more if its words are out of order, or its faithfulness is known and too low."""
    if not math.isnan(candidate.cycle) and math.exp(candidate.cycle) < config.least_faithfulness:
        candidate.trusted = False
    if candidate.trusted and fluency(candidate.text) < config.least_fluency:
        candidate.trusted = False


def verify(found: Sequence[tuple[str, Candidate]], config: GenerateConfig) -> int:
    """Ask the verifier about those candidates, each with its source, that are trusted and that it has not seen.

    Returns how many it refused.
    """
    asked = [(source, candidate) for source, candidate in found if candidate.trusted and not candidate.verified]
    verifier = installed_verifier() if asked and config.least_verified != 0 else None
    if verifier is None:
        return 0
    least = verifier.decision.threshold if config.least_verified is None else config.least_verified
    accepted = [sure >= least for sure in verifier([(source, candidate.written) for source, candidate in asked])]
    for (_, candidate), same in zip(asked, accepted, strict=True):
        candidate.verified, candidate.trusted = True, same
    return accepted.count(False)


@cache
def installed_verifier() -> Verifier | None:
    """The verifier inside the package; None in an installation without its weights."""
    return Verifier.from_pretrained() if (SHIPPED / WEIGHTS).is_file() else None
