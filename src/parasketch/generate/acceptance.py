"""Whether candidates may be accepted: what judges decides it, beside the facts, which are known of every candidate.

The model's own faithfulness has to reach a threshold that was fitted to it; and where the verifier is installed, it has
to say that candidate and input mean the same. The verifier is loaded when it is first asked.
"""

import math
from collections.abc import Iterable
from functools import cache

from parasketch.generate.candidates import Candidate
from parasketch.model.storage import WEIGHTS
from parasketch.verify import Verifier
from parasketch.verify.verifier import SHIPPED


def judge_trust(found: Iterable[tuple[str, Candidate]], *, least_faithfulness: float) -> None:
    """Trust those of the candidates, each with its source, that pass every check; others lose what trust they had."""
    trusted = []
    for source, candidate in found:
        unfaithful = not math.isnan(candidate.cycle) and math.exp(candidate.cycle) < least_faithfulness
        candidate.trusted = candidate.trusted and not unfaithful
        if candidate.trusted:
            trusted.append((source, candidate))
    verifier = installed_verifier()
    if verifier is None or not trusted:
        return
    accepted = verifier.accepts([(source, candidate.written) for source, candidate in trusted])
    for (_, candidate), same in zip(trusted, accepted, strict=True):
        candidate.trusted = same


@cache
def installed_verifier() -> Verifier | None:
    """The verifier inside the package; None in an installation without its weights."""
    return Verifier.from_pretrained() if (SHIPPED / WEIGHTS).is_file() else None
