"""Whether a text is one that the models were made for: English sentences.

Anything gets a paraphrase, but of another language, of code or of a list of keywords it is not to be trusted. What is
told here is told from the words alone and meant to be sure: an odd English sentence passes.
"""

import re
import unicodedata

from parasketch.text.facts.vocabulary import is_ordinary, place_of
from parasketch.text.facts.words import cut, plain
from parasketch.text.templates import STOP_WORDS

OTHER_LANGUAGE = "not English, as far as its words tell: the models know no other language"
CODE = "looks like code: the models know sentences only"
KEYWORDS = "looks like a list of keywords: the models know sentences only"

_FEWEST_WORDS = 3
_KNOWN_SHARE = 0.4  # of the words that are no names
_LATIN_SHARE = 0.5  # of the letters
_CODE = re.compile(
    r"[;{}]\s*$|[{};]\s*\n|^\s*(?:def|class|import|from|return|function|var|let|const|public|private|#include)\b.*[(){};=:]"
    r"|=>|->|::|==|!=|\+=|&&|\|\||</\w|/>|\w\(\w*\)\s*[;{:.]|^\s*(?:SELECT|INSERT|UPDATE|DELETE)\b.*\b(?:FROM|INTO|SET)\b"
    r"|\w+\[\w+\]\s*=|^\s*\w+\s*=\s*\S+\(",
    re.MULTILINE,
)
_END = re.compile(r"[.?!…]\W*$")
_LIST = re.compile(r"\s*[,;|]\s*")
_VERB_ENDING = ("ing", "ed")


def unsuitable(text: str) -> str | None:
    """What the text seems to be that the models were not made for; None for English sentences."""
    if _is_other_script(text):
        return OTHER_LANGUAGE
    if _CODE.search(text):
        return CODE
    words = [token for token in cut(plain(text)) if token.text[0].isalpha()]
    common = [word.key for word in words if word.opens or not word.text[0].isupper()]
    if len(common) >= _FEWEST_WORDS:
        known = sum(key in STOP_WORDS or is_ordinary(key) or bool(place_of(key)) for key in common)
        if known < _KNOWN_SHARE * len(common) and (len(common) > _FEWEST_WORDS or not known):
            return OTHER_LANGUAGE
    return KEYWORDS if _is_keywords(text, [word.key for word in words]) else None


def _is_other_script(text: str) -> bool:
    letters = [letter for letter in text if letter.isalpha()]
    latin = sum(letter.isascii() or unicodedata.name(letter, "").startswith("LATIN") for letter in letters)
    return len(letters) >= _FEWEST_WORDS and latin < _LATIN_SHARE * len(letters)


def _is_keywords(text: str, keys: list[str]) -> bool:
    """Several words of content and nothing that would make a sentence of them."""
    if len(keys) < _FEWEST_WORDS or _END.search(text) or any(key in STOP_WORDS for key in keys):
        return False
    parts = [part for part in _LIST.split(text) if part]
    if len(parts) >= _FEWEST_WORDS and all(len(part.split()) <= _FEWEST_WORDS for part in parts):
        return True
    return not any(key.endswith(_VERB_ENDING) for key in keys)
