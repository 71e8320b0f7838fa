"""What is known of words without a text: ordinary English ones; names of lands, peoples, months and weekdays."""

from functools import lru_cache
from importlib.resources import files

from parasketch.text.facts.words import Token

_DATA = files("parasketch.text.facts")
_ORDINARY = frozenset((_DATA / "ordinary.txt").read_text("utf-8").split("\n---\n", 1)[1].split())
_ENDINGS = [
    *[("s", ""), ("es", ""), ("ies", "y"), ("ed", ""), ("ed", "e"), ("ied", "y"), ("ing", ""), ("ing", "e")],
    *[("ly", ""), ("ily", "y"), ("ly", "le"), ("er", ""), ("er", "e"), ("ier", "y"), ("est", ""), ("est", "e")],
    *[("iest", "y"), ("ers", ""), ("ers", "e"), ("men", "man"), ("less", ""), ("ful", ""), ("able", ""), ("able", "e")],
    *[("y", ""), ("y", "e"), ("or", ""), ("or", "e"), ("ors", "e"), ("ors", "")],
]
_ENDINGS_OF_NO_NAME = ("ness", "tion", "ment", "ing", "ings", "ology", "ism", "ility")
_SHORTEST_STEM = 2
_SHORT = 6


def _load_places() -> tuple[dict[str, str], dict[str, str]]:
    """(word: key for all casings, word: key for words with a capital)"""
    always: dict[str, str] = {}
    capitalised: dict[str, str] = {}
    for line in (_DATA / "places.txt").read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        key, *_ = words = line.split()
        for word in words:
            capitalised[word.lstrip("/")] = key.lstrip("/")
            if not word.startswith("/"):
                always[word] = key.lstrip("/")
    return always, capitalised


_ALWAYS, _CAPITALISED = _load_places()
_FIRST_OF_SEVERAL = frozenset(["united", "great", "european", "soviet", "new"])


@lru_cache(maxsize=1 << 16)
def is_ordinary(key: str) -> bool:
    """Whether a folded word is one of the common English words, in any of its forms."""
    if "'" in key or key in _ORDINARY:
        return True
    for ending, put in _ENDINGS:
        stem = key.removesuffix(ending)
        if stem == key or len(stem) < _SHORTEST_STEM:
            continue
        doubled = len(stem) > _SHORTEST_STEM and stem[-1] == stem[-2]  # stopped
        if stem + put in _ORDINARY or (doubled and stem[:-1] in _ORDINARY):
            return True
    return len(key) > _SHORT and key.endswith(_ENDINGS_OF_NO_NAME)


def place_of(key: str) -> str:
    """The key of a land, people, month... by a word in any casing; empty if it is none, or only with a capital."""
    return _ALWAYS.get(key, "")


def place_of_capitalised(key: str) -> str:
    """The same by a word with a capital: "Turkey", "May"."""
    return _CAPITALISED.get(key, "")


def place_of_several(words: list[Token], place: int) -> tuple[str, int]:
    """The same by several words ("United States"), and how many there are."""
    if words[place].key in _FIRST_OF_SEVERAL:
        for length in range(min(3, len(words) - place), 1, -1):
            if key := _ALWAYS.get("".join(word.key for word in words[place : place + length])):
                return key, length
    return "", 1
