"""Cut a text into words, numbers and marks the way facts need them: folded for comparison, with their places.

`text/words.py` cuts as the tagger was trained; here "4th" and "5km" come apart, "p.m." and "U.S." stay whole, endings
such as 's and diacritics are folded away, and words know whether they open a sentence, where a capital says nothing.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

_TOKEN = re.compile(
    r"\b[^\W\d_](?:\.[^\W\d_])+\b\.?"  # p.m., U.S.
    r"|\d+(?:[.,:]\d+)*"
    r"|[^\W\d_]+(?:'[^\W\d_]+)*"
    r"|\S"
)
_SHORT_FORM = re.compile(r"'(?:s|ll|re|ve|d|m)$")
_SAME_LENGTH = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "\u00a0": " ", "\u2011": "-", "‐": "-"})
_ABBREVIATED = "mr mrs ms dr prof st jr sr vs no rs mt gen sen rep gov lt col sgt rev"
_TITLES = frozenset(_ABBREVIATED.split())
_OPENERS = frozenset(".!?…:;")
_INVISIBLE = frozenset("\"'“”«»„()[]{}*-–—•")


class Token(NamedTuple):
    """A word, number or mark."""

    text: str
    key: str
    """Lower case, without diacritics, possessive and short verb form: what is compared."""
    start: int
    end: int
    opens: bool
    """Whether it is the first word of a sentence, or the first after "(4)"."""
    hyphened: bool = False
    """Whether a hyphen follows at once,"""
    after_digit: bool = False
    """or a digit stands before it."""


def plain(text: str) -> str:
    """Typographic apostrophes, hyphens and spaces made plain ones; every character keeps its place."""
    return text.translate(_SAME_LENGTH)


@lru_cache(maxsize=1 << 16)
def fold(word: str) -> str:
    """What of a word is compared: "Café's" is "cafe", "p.m." is "pm"."""
    if not word.isascii():
        decomposed = unicodedata.normalize("NFKD", word)
        word = "".join(character for character in decomposed if not unicodedata.combining(character)) or word
    key = word.casefold()
    if "'" in key:
        key = _SHORT_FORM.sub("", key)
    if "." in key and not key[0].isdigit():
        key = key.replace(".", "")
    return key or word


def cut(text: str) -> list[Token]:
    """The tokens of a plain text, in order."""
    tokens = []
    opens = True
    last = ""
    for match in _TOKEN.finditer(text):
        found = match[0]
        key = fold(found)
        start, end = match.span()
        hyphened, after_digit = text[end : end + 1] == "-", text[start - 1 : start].isdigit()
        tokens.append(Token(found, key, start, end, opens, hyphened, after_digit))
        if key in _OPENERS:
            # "Mr. Smith", "George W. Bush" go on
            opens = opens or not (found == "." and (last in _TITLES or len(last) == 1))
        elif found == ")" and len(tokens) > 1 and tokens[-2].opens and tokens[-2].text.isdigit():
            opens = True
        elif found not in _INVISIBLE:
            opens = False
            last = key
    return tokens
