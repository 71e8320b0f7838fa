"""Who does it to whom, as far as it is certain: the same words with two of their parts exchanged.

"The dog chased the cat" and "The cat chased the dog" have all facts in common. Nothing is parsed; only a text that is
the other one but for the exchange is caught, and only around a word that gives its two sides different roles.
"""

from collections.abc import Sequence

from parasketch.text.templates import STOP_WORDS

_ONE_CASE = {"me": "i", "him": "he", "her": "she", "them": "they", "us": "we"}
_SYMMETRIC = """
    and or nor if when because that which who married marry marries engaged connected close near similar different
    related meet meets met resemble resembles equal equals friend friends acquaintance cousin neighbor neighbour partner
    vs versus same like between compared far apart dating dated divorced suppose think guess
"""
_EQUAL_SIDES = frozenset(_SYMMETRIC.split())
_PREPOSITIONS = frozenset(["in", "on", "at", "by", "for", "with", "from", "to", "of", "after", "before"])
_PRONOUNS = frozenset(_ONE_CASE.values())
_MOST_WORDS = 60
_LONGEST_PART = 4


def exchanged_parts(source: Sequence[str], output: Sequence[str]) -> str:
    """The two parts that changed places, as "dog ↔ cat"; empty if none did."""
    if len(source) != len(output) or len(source) > _MOST_WORDS:
        return ""
    mine, other = ([_ONE_CASE.get(word, word) for word in words] for words in (source, output))
    if mine == other or sorted(mine) != sorted(other):
        return ""
    start = next(place for place, word in enumerate(mine) if word != other[place])
    end = next(place for place in range(len(mine), 0, -1) if mine[place - 1] != other[place - 1])
    middle, moved = mine[start:end], other[start:end]
    length = len(middle)
    for first in range(1, min(length - 1, _LONGEST_PART + 1)):
        for last in range(1, min(length - first, _LONGEST_PART + 1)):
            between = middle[first : length - last]
            if (
                middle[:first] == moved[length - first :]
                and middle[length - last :] == moved[:last]
                and between == moved[last : length - first]
                and _gives_roles(between, mine[start - 1] if start else "")
                and _can_change_places(middle[:first], middle[length - last :])
            ):
                return f"{' '.join(source[start : start + first])} ↔ {' '.join(source[end - last : end])}"
    return ""


def _can_change_places(one: list[str], other: list[str]) -> bool:
    """Whether the parts are of one kind: not a clause, not "in an old castle", not a name and its pronoun."""
    if not _EQUAL_SIDES.isdisjoint(one + other) or one[0] in _PREPOSITIONS or other[0] in _PREPOSITIONS:
        return False
    return (one[0] in _PRONOUNS) == (other[0] in _PRONOUNS)


def _gives_roles(between: list[str], before: str) -> bool:
    if not _EQUAL_SIDES.isdisjoint(between):
        return False
    return any(word not in STOP_WORDS for word in between) or (before == "from" and between == ["to"])
