"""Numbers of a text and whether another text keeps them, however they are written.

A number is *firm* (a fact of its own) or only a *hint*: "one", "first", "both", "a week" are so often said or left out
that neither is a change, but they keep the number of the other text ("both" keeps "two").
"""

from typing import NamedTuple

CLOCK = "clock"
"""The dimension of times of day, in minutes."""
_HALF_DAY = 720


class Number(NamedTuple):
    """What is said once."""

    said: float
    """The number as it is said, before its unit; for clock times the hour, -1 if it is not a full one."""
    value: float
    """In the smallest unit of the dimension; for clock times the minute of the day."""
    dimension: str
    """Empty for a bare number."""
    start: int
    end: int
    firm: bool = True
    ordinal: bool = False
    half_known: bool = False
    """For clock times: whether it is before or after noon."""


def keeps(mine: Number, other: Number) -> bool:
    """Whether two numbers say the same, where a missing unit may mean any."""
    if mine.dimension == other.dimension:
        if mine.dimension == CLOCK and not (mine.half_known and other.half_known):
            return mine.value % _HALF_DAY == other.value % _HALF_DAY
        return _equal(mine.value, other.value)
    return (not mine.dimension or not other.dimension) and _equal(mine.said, other.said)


def missing_numbers(source: tuple[Number, ...], output: tuple[Number, ...]) -> list[Number]:
    """The firm numbers of the source that the output does not keep; and ordinals for which it says other ones."""
    gone = [number for number in source if not any(keeps(number, other) for other in output)]
    if not gone:
        return []
    new_ordinal = any(other.ordinal and not any(keeps(other, number) for number in source) for other in output)
    return [number for number in gone if number.firm or (number.ordinal and new_ordinal)]


def _equal(one: float, other: float) -> bool:
    return one == other or abs(one - other) <= 1e-6 * max(1.0, abs(one), abs(other))
