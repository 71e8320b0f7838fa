"""Whether candidates may be accepted: what judges decides it, beside the facts, which are known of every candidate.

The model's own faithfulness has to reach a threshold that was fitted to it; and where the verifier is installed, it has
to say that candidate and input mean the same. The verifier is loaded when it is first asked.
"""

import math
from collections.abc import Sequence
from functools import cache

from parasketch.generate.candidates import Candidate
from parasketch.model.directory import WEIGHTS
from parasketch.verify import Verifier
from parasketch.verify.verifier import SHIPPED


def judge_trust(found: Sequence[tuple[str, Candidate]], *, least_faithfulness: float) -> None:
    """Trust those of the candidates, each with its source, that pass every check; others lose what trust they had."""
    for _, candidate in found:
        judge_faithfulness(candidate, least_faithfulness)
    verify(found)


def judge_faithfulness(candidate: Candidate, least: float) -> None:
    """Trust a candidate no more if its faithfulness is known, and below the least."""
    if not math.isnan(candidate.cycle) and math.exp(candidate.cycle) < least:
        candidate.trusted = False


def verify(found: Sequence[tuple[str, Candidate]]) -> int:
    """Ask the verifier about those candidates, each with its source, that are trusted and that it has not seen.

    Returns how many it refused.
    """
    asked = [(source, candidate) for source, candidate in found if candidate.trusted and not candidate.verified]
    verifier = installed_verifier()
    if verifier is None or not asked:
        return 0
    accepted = verifier.accepts([(source, candidate.written) for source, candidate in asked])
    for (_, candidate), same in zip(asked, accepted, strict=True):
        candidate.verified, candidate.trusted = True, same
    return accepted.count(False)


@cache
def installed_verifier() -> Verifier | None:
    """The verifier inside the package; None in an installation without its weights."""
    return Verifier.from_pretrained() if (SHIPPED / WEIGHTS).is_file() else None
