"""Who compares what: every pair of systems on every item, the same number of ratings each, sides and order balanced.

A rater gets equally many pairs (give or take one) in an order of their own, an attention check after every few; of the
ratings of one pair, each output stands on the left as often as on the right, as far as their number allows.
"""

import random
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from parasketch.errors import DataError, UsageError
from parasketch.judge.study import Assigned, Comparison

CHECK = "(check: faithful)", "(check: scrambled)"
"""What stands for the systems of an attention check."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """An input with a faithful rewording, which is what checks are made of."""

    text: str
    rewording: str


@dataclass(frozen=True)
class Design:
    """Comparisons, and for each rater's token what they are to compare."""

    comparisons: list[Comparison]
    plan: dict[str, list[Assigned]]


def design(
    sources: Sequence[Source],
    outputs: Mapping[str, Sequence[str]],
    *,
    items: int,
    ratings: int,
    raters: int,
    check_every: int = 10,
    seed: int = 0,
) -> Design:
    """Draw `items` sources and plan all comparisons of the systems' outputs for them."""
    _check(sources, outputs, items, ratings, raters)
    rng = random.Random(seed)
    # A pair whose two outputs are the same sentence tells nothing: such items come last.
    order = rng.sample(range(len(sources)), len(sources))
    order.sort(key=lambda place: len({texts[place] for texts in outputs.values()}) < len(outputs))
    drawn = order[:items]
    real = [
        Comparison(
            item=place, source=sources[place].text, first=one, second=other,
            first_text=outputs[one][place], second_text=outputs[other][place],
        )
        for place in drawn
        for one, other in combinations(outputs, 2)
    ]  # fmt: skip
    checks = [_attention_check(sources, place, rng) for place in drawn]
    shuffled = rng.sample(range(len(real)), len(real))
    queues: list[list[Assigned]] = [[] for _ in range(raters)]
    for turn, comparison in enumerate(shuffled):
        flipped = rng.random() < 0.5
        for rating in range(ratings):
            rater = (turn * ratings + rating) % raters
            queues[rater].append(Assigned(comparison, flipped ^ bool(rating % 2)))
    plan = {
        secrets.token_urlsafe(16): _with_checks(queue, len(real), len(checks), check_every, rng) for queue in queues
    }
    return Design(real + checks, plan)


def _with_checks(queue: list[Assigned], first: int, count: int, every: int, rng: random.Random) -> list[Assigned]:
    """A rater's pairs in an order of their own, with a check, none twice, somewhere in each run of so many."""
    rng.shuffle(queue)
    checks = rng.sample(range(first, first + count), count)
    result: list[Assigned] = []
    for start in range(0, len(queue), every):
        run = queue[start : start + every]
        if checks:
            run.insert(rng.randint(0, len(run)), Assigned(checks.pop(), rng.random() < 0.5))
        result += run
    return result


def _attention_check(sources: Sequence[Source], place: int, rng: random.Random) -> Comparison:
    """A faithful rewording against the shuffled words of another item: neither fluent nor faithful."""
    other = rng.choice([each for each in range(len(sources)) if each != place] or [place])
    words = sources[other].text.split()
    words = words[::-2] + words[-2::-2]  # every other word from the end: a random order may be a sensible one
    return Comparison(
        item=place, source=sources[place].text, first=CHECK[0], second=CHECK[1], is_check=True,
        first_text=sources[place].rewording, second_text=" ".join(words),
    )  # fmt: skip


def _check(
    sources: Sequence[Source], outputs: Mapping[str, Sequence[str]], items: int, ratings: int, raters: int
) -> None:
    if len(outputs) < 2:
        raise UsageError("a comparison needs at least two systems")
    for name, texts in outputs.items():
        if len(texts) != len(sources):
            raise DataError(f"{name} has {len(texts)} outputs for {len(sources)} items")
    if not 1 <= items <= len(sources):
        raise UsageError(f"{items} items were asked for (expected 1 to {len(sources)}, as many as the data has)")
    if not 1 <= ratings <= raters:
        raise UsageError(f"{ratings} ratings of each pair by {raters} raters: there must be at least as many raters")
