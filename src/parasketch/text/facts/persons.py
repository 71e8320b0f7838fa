"""Who speaks of whom: the persons that the pronouns of a text name.

Leaving a person out or adding one changes little ("Please send it", "Could you send it?"); one for another does.
"""

import re
from typing import NamedTuple

_FIRST, _SECOND, _HE, _SHE, _THEY = "I", "you", "he", "she", "they"
_WORDS = {
    _FIRST: "i me my mine myself we us our ours ourselves",
    _SECOND: "you your yours yourself yourselves u ur",
    _HE: "he him his himself",
    _SHE: "she her hers herself",
    _THEY: "they them their theirs themselves",
}
_PERSON = {word: person for person, words in _WORDS.items() for word in words.split()}
_GENERIC = re.compile(
    r"^(?:so |and |but )?(?:how|what|which|where|when|who|is there|are there|is it|can|should|could|do i|do we|do you"
    r"|why (?:do|should|would|can't|don't))\b"
    r".*\b(?:i|we|you|one|someone|people|a person|anyone)\b.*\?"
    r"|\bhow (?:do|can|should|could|would|to|did|does)\b|\bbest way\b|\bways? to\b"
)


class Persons(NamedTuple):
    """The persons of a text."""

    named: frozenset[str]
    generic: bool
    """Whether I, you and we may mean anybody ("How do I...?")."""


def find_persons(keys: frozenset[str], lower: str) -> Persons:
    """The persons that these folded words of a plain text in lower case name."""
    named = frozenset(_PERSON[key] for key in keys & _PERSON.keys())
    return Persons(named, bool(named) and _GENERIC.search(lower) is not None)


def may_be_anybody(word: str) -> bool:
    """Whether the folded word is one of I, you, we... that a generic text exchanges freely."""
    return _PERSON.get(word) in (_FIRST, _SECOND)


def changed_person(source: Persons, output: Persons) -> str:
    """Which person became which, as "I → you"; empty if none did."""
    gone, new = source.named - output.named, output.named - source.named
    if source.generic or output.generic:
        gone, new = gone - {_FIRST, _SECOND, _THEY}, new - {_FIRST, _SECOND, _THEY}
    if gone <= {_THEY}:  # of somebody whose sex is not said
        new = new - {_HE, _SHE}
    if new <= {_THEY}:
        gone = gone - {_HE, _SHE}
    if not gone or not new:
        return ""
    return f"{', '.join(sorted(gone))} → {', '.join(sorted(new))}"
