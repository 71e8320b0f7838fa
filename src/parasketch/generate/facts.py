"""Numbers and names: what a paraphrase must not lose, and which of it a candidate lost.

Numbers and names are told from the spelling alone, in any language that has capitals. Where capitals say nothing (all
lower-case, all capitals, Title Case) only the numbers are known.
"""

import re

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_WORD = re.compile(r"[^\W\d_]\w*")
_NUMBER_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_SENTENCE_END = tuple(".?!")
_OPENING = " \"'“‘("
_PRONOUN = "I"  # capitalised by rule, not a name
_FEW_WORDS = 3  # of so many words all may be names


def numbers_in(text: str) -> tuple[str, ...]:
    """The different numbers written in digits, in order, without commas between thousands."""
    return tuple(dict.fromkeys(_THOUSANDS.sub("", number) for number in _NUMBER.findall(text)))


def names_in(text: str) -> tuple[str, ...]:
    """The different capitalised words inside sentences, in order, as they are written."""
    return tuple(dict.fromkeys(name.group() for name in _names(text)))


def fact_spans(text: str) -> list[tuple[int, int]]:
    """Where the numbers and names are, in order: the characters [start, end) of the first mention of each."""
    numbers = {_THOUSANDS.sub("", number.group()): number.span() for number in reversed([*_NUMBER.finditer(text)])}
    names = {name.group(): name.span() for name in reversed(_names(text))}
    return sorted([*numbers.values(), *names.values()])


def lost_facts(source: str, text: str) -> tuple[str, ...]:
    """Numbers and names of the source that the text lacks, however it is cased; "two" keeps a 2."""
    words = {word.casefold() for word in _WORD.findall(text)}
    numbers = {*numbers_in(text), *(str(number) for number, word in enumerate(_NUMBER_WORDS) if word in words)}
    return (
        *(number for number in numbers_in(source) if number not in numbers),
        *(name for name in names_in(source) if name.casefold() not in words),
    )


def _names(text: str) -> list[re.Match[str]]:
    inner = [word for word in _WORD.finditer(text) if _is_inside_sentence(text, word.start())]
    names = [word for word in inner if word.group()[0].isupper() and word.group() != _PRONOUN]
    if len(inner) > _FEW_WORDS and 2 * len(names) > len(inner):
        return []  # Title Case or SHOUTING
    return names


def _is_inside_sentence(text: str, start: int) -> bool:
    before = text[:start].rstrip(_OPENING)
    return before != "" and not before.endswith(_SENTENCE_END)
