"""What can be expected of a run, said before it begins and after it ends: too little data or time is no secret.

The limits are rules of thumb, on the safe side: a run below them cannot have learnt to paraphrase.
"""

from parasketch.config import TrainConfig

FEW_EXAMPLES = 2000
FEW_MINUTES = 5.0
NOTHING_LEARNT, LITTLE_LEARNT = 200, 1000
"""Steps from random weights."""


def doubts_before(examples: int, config: TrainConfig) -> list[str]:
    """What speaks against a run from random weights on so many examples an epoch."""
    doubts = []
    if examples < FEW_EXAMPLES:
        doubts.append(f"{examples:,} examples are few to learn a language from: expect a model that knows little else")
    if config.minutes is not None and config.minutes < FEW_MINUTES:
        doubts.append(f"{config.minutes:g} minutes are little: good for a trial, not for a model")
    if config.minutes is None and config.steps < LITTLE_LEARNT:
        doubts.append(f"{config.steps:,} steps are few: good for a trial, not for a model")
    return doubts


def doubt_after(steps: int) -> str | None:
    """What is to be said of a model after so many steps from random weights; None if it had a fair chance."""
    if steps >= LITTLE_LEARNT:
        return None
    learnt = "nothing" if steps < NOTHING_LEARNT else "little"
    return f"{steps:,} steps: this model has learnt {learnt} yet; train longer, or on a faster machine"
