"""When something happens, seen from now: yesterday or tomorrow, last year or next year; and whether it happens again.

"Last year" may become "a year ago", but not "this year". Only such phrases are compared; tenses are left to checks that
learn.
"""

import re

_DAY, _WEEK, _MONTH, _YEAR, _AGAIN = "day", "week", "month", "year", "again"
_PAST, _NOW, _COMING = "past", "now", "coming"
_UNITS = {
    "day": _DAY, "night": _DAY, "morning": _DAY, "afternoon": _DAY, "evening": _DAY,
    "week": _WEEK, "weekend": _WEEK, "month": _MONTH, "year": _YEAR, "season": _YEAR,
    "summer": _YEAR, "winter": _YEAR, "spring": _YEAR, "autumn": _YEAR,
}  # fmt: skip
_SIDES = {
    "last": _PAST, "previous": _PAST, "past": _PAST,
    "this": _NOW, "current": _NOW,
    "next": _COMING, "coming": _COMING, "following": _COMING, "upcoming": _COMING,
}  # fmt: skip
_SEEN_FROM_NOW = "|".join(name for name in _UNITS if name != "day")  # "his last day", "twice in a day" are not
_RELATIVE = re.compile(rf"\b({'|'.join(_SIDES)}) ({_SEEN_FROM_NOW})\b")
_AGO = re.compile(rf"\b(?:a|an|one) ({'|'.join(_UNITS)}) ago\b")
_FROM_NOW = re.compile(rf"\bin (?:a|an|one) ({_SEEN_FROM_NOW})\b")
_SINGLE = {"yesterday": _PAST, "today": _NOW, "tonight": _NOW, "tomorrow": _COMING}
_REPEATED = re.compile(r"\b(?:again|once more|one more time|another|yet|anew|re\w+|always|keeps?|still|second)\b")


def find_times(lower: str) -> dict[tuple[str, str], str]:
    """What a plain text in lower case says of (unit, side), with the words that say it."""
    found = {(_UNITS[match[2]], _SIDES[match[1]]): match[0] for match in _RELATIVE.finditer(lower)}
    found |= {(_UNITS[match[1]], _PAST): match[0] for match in _AGO.finditer(lower)}
    found |= {(_UNITS[match[1]], _COMING): match[0] for match in _FROM_NOW.finditer(lower)}
    found |= {(_DAY, side): word for word, side in _SINGLE.items() if re.search(rf"\b{word}\b", lower)}
    if re.search(r"\bagain\b", lower):
        found[_AGAIN, _AGAIN] = "again"
    return found


def missing_times(source: dict[tuple[str, str], str], output: str) -> list[str]:
    """The phrases of a source that another plain text in lower case does not have in any wording."""
    there = find_times(output)
    missing = [phrase for (unit, side), phrase in source.items() if unit != _AGAIN and (unit, side) not in there]
    if (_AGAIN, _AGAIN) in source and not _REPEATED.search(output):
        missing.append("again")
    return missing
