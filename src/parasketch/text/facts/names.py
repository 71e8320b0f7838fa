"""Names of a text, part by part: people, places, peoples, languages, months, products, acronyms.

Capitals tell a name from other words inside a sentence; at its beginning, whatever is not an ordinary English word is
one. Lands, peoples, months and weekdays are known however they are written. Where everything has a capital (a title,
shouting), only words that are not ordinary ones count.
"""

import re
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from parasketch.text.facts.words import Token
from parasketch.text.templates import STOP_WORDS

_DATA = files("parasketch.text.facts")
_NOT_NAMES = frozenset(
    """i ok okay internet web moon earth sun god lord mom mum mommy mummy dad daddy papa mama sir madam ma'am mr mrs ms
    miss dr prof professor doctor tv television am pm ad bc etc ps vs bible net website email
    president king queen prince princess mayor senator governor captain minister pope no nope yes""".split()
)
_EMPHASIS = frozenset(
    """best better good great bad worst major minor top big small new old real true free main full high low long short
    first last next most more all any some every only very own same other such well really one two three four five six
    seven eight nine ten""".split()
)
_HEADS = frozenset(
    """university college school institute empire city state county river lake mount mountain company inc ltd corp
    corporation republic kingdom prophet saint lord secretary general hotel park street road prime minister party
    team club magazine newspaper day""".split()
)
"""Words that say what is named; the name is known without them."""
_STRESSED = frozenset("not the and you are can did was has how why who for".split())
"""Words that people like to write with a capital; names only beside other names."""
_FEW_WORDS = 3  # of so many words all may be names
_INNER_CAPITAL = re.compile(r"[a-z][A-Z]")
_LONG = 5  # letters; a name so long is found inside other words too
_SMALL_WORDS = frozenset("of the and for de la in".split())


class Name(NamedTuple):
    """One part of a name."""

    key: str
    acronym: bool
    run: int
    """Parts of one name have the same number."""
    last: bool
    """Whether it is the last part of its name."""
    start: int
    end: int


class Names(NamedTuple):
    """The names of a text, and what names of another text are looked up in."""

    parts: tuple[Name, ...]
    keys: frozenset[str]
    """All words, and the keys of lands and peoples."""
    squeezed: str
    """All letters and digits without anything between them: "face book" has "facebook"."""
    initials: str
    """First letters of all words but of, the, and..."""


def _load_places() -> tuple[dict[str, str], dict[str, str]]:
    always: dict[str, str] = {}
    capitalised: dict[str, str] = {}
    for line in (_DATA / "places.txt").read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        words = line.split()
        key = words[0].lstrip("/")
        for word in words:
            capitalised[word.lstrip("/")] = key
            if not word.startswith("/"):
                always[word] = key
    return always, capitalised


_ALWAYS, _CAPITALISED = _load_places()
_SEVERAL_WORDS = frozenset(["united", "great", "european", "soviet", "new"])
_ORDINARY = frozenset((_DATA / "ordinary.txt").read_text("utf-8").split("\n---\n", 1)[1].split())


@lru_cache(maxsize=1 << 16)
def is_ordinary(key: str) -> bool:
    """Whether a folded word is one of the common English words, in any of its forms."""
    if "'" in key or key in _ORDINARY:
        return True
    for ending, put in _ENDINGS:
        if key.endswith(ending) and len(key) - len(ending) >= 2:  # noqa: PLR2004
            stem = key[: -len(ending)]
            if stem + put in _ORDINARY or (len(stem) > 2 and stem[-1] == stem[-2] and stem[:-1] in _ORDINARY):
                return True
    return len(key) > 6 and key.endswith(("ness", "tion", "ment", "ing", "ings", "ology", "ism", "ility"))


_ENDINGS = [
    *[("s", ""), ("es", ""), ("ies", "y"), ("ed", ""), ("ed", "e"), ("ied", "y"), ("ing", ""), ("ing", "e")],
    *[("ly", ""), ("ily", "y"), ("ly", "le"), ("er", ""), ("er", "e"), ("ier", "y"), ("est", ""), ("est", "e")],
    *[("iest", "y"), ("ers", ""), ("ers", "e"), ("men", "man"), ("less", ""), ("ful", ""), ("able", ""), ("able", "e")],
    *[("y", ""), ("y", "e"), ("or", ""), ("or", "e"), ("ors", "e"), ("ors", "")],
]


def find_names(tokens: list[Token], text: str) -> Names:
    """The names among the tokens of a plain text, in order."""
    words = [token for token in tokens if token.text[0].isalpha()]
    keys = {token.key for token in tokens}
    keys.update([key[:-1] for key in keys if key.endswith("s")])
    inner = [word for word in words if not word.opens]
    capitals = len([word for word in inner if word.text[0].isupper() and word.key != "i"])
    cased = len(inner) <= _FEW_WORDS or 2 * capitals <= len(inner)
    if len(inner) <= _FEW_WORDS and len(words) > 1 and text.isupper():
        cased = False
    parts: list[Name] = []
    run = 0
    end_of_last = -2
    skip = 0
    for place, word in enumerate(words):
        if skip:
            skip -= 1
            continue
        key, start, end, acronym, known = word.key, word.start, word.end, False, None
        if key not in _ALWAYS and key not in _SEVERAL_WORDS and word.text.islower():
            continue
        capital = word.text[0].isupper()
        if key in _SEVERAL_WORDS:
            known, skip = _several_words(words, place)
            if known:
                end = words[place + skip].end
        if known is None:
            known = _CAPITALISED.get(key) if capital and (cased or key not in _ORDINARY) else _ALWAYS.get(key)
            if known and key == "us" and not (word.text.isupper() and cased):
                known = None
            if known and word.opens and known == key and key in ("march", "may", "will"):
                known = None
        if known:
            keys.add(known)
            key = known
        elif not _is_name(word, capital=capital, cased=cased):
            continue
        elif _is_emphasis(word) and not _has_named_neighbour(words, place):
            continue
        else:
            acronym = len(key) > 1 and word.text.rstrip("s'").isupper()
        if start > end_of_last + 1:
            run += 1
        elif parts:
            parts[-1] = parts[-1]._replace(last=False)
        parts.append(Name(key, acronym, run, True, start, end))
        end_of_last = end
    squeezed = "".join([token.key for token in tokens if token.key[0].isalnum()]).replace("'", "")
    initials = "".join([word.key[0] for word in words if word.key not in _SMALL_WORDS])
    return Names(tuple(parts), frozenset(keys), squeezed, initials)


def _several_words(words: list[Token], place: int) -> tuple[str | None, int]:
    """The key of a known name of several words that begins here, and how many more words it has."""
    for more in (2, 1):
        if place + more < len(words):
            known = _ALWAYS.get("".join(word.key for word in words[place : place + more + 1]))
            if known:
                return known, more
    return None, 0


def _is_name(word: Token, *, capital: bool, cased: bool) -> bool:
    if _INNER_CAPITAL.search(word.text) and not word.text.endswith("s") and cased:
        return True  # iPhone, McDonald
    if not capital or word.key in _NOT_NAMES or "'" in word.key or word.text.capitalize() == word.text and word.key in STOP_WORDS:
        return False
    if word.opens or not cased:
        return len(word.key) > 1 and not is_ordinary(word.key) and (cased or not word.text.isupper())
    return True


def _is_emphasis(word: Token) -> bool:
    """Whether a capital or capitals may only stress an ordinary word."""
    if word.text.isupper() and len(word.text) > _FEW_WORDS:
        return is_ordinary(word.key)
    return word.key in _EMPHASIS or (word.text.isupper() and word.key in _STRESSED)


def _has_named_neighbour(words: list[Token], place: int) -> bool:
    near = (words[place - 1] if place else None, words[place + 1] if place + 1 < len(words) else None)
    here = words[place]
    return any(
        other is not None
        and other.text[0].isupper()
        and other.key != "i"
        and not _is_emphasis(other)
        and not other.opens
        and -1 <= max(other.start, here.start) - min(other.end, here.end) <= 1
        for other in near
    )


def missing_names(source: Names, output: Names) -> list[Name]:
    """The parts of names of the source that the output does not have, in any casing."""
    gone = [name for name in source.parts if not _has(output, name)]
    if not gone:
        return gone
    kept = [name for name in source.parts if _has(output, name)]
    runs = {name.run for name in kept if name.last or any(other.key in _HEADS for other in gone if other.run == name.run)}
    spelt = {name.run for name in gone if _is_spelt_by_acronym(source, output, name.run)}
    new = any(not _has(source, name) for name in output.parts)
    return [
        name
        for name in gone
        if name.run not in spelt
        # "Trump" for "Donald Trump"; but not "Tiffany Hall" for "Laura Hall", nor "Korea" for "South Korea"
        and not (name.run in runs and not new and (name.key in _HEADS or not is_ordinary(name.key)))
    ]


def _has(names: Names, name: Name) -> bool:
    key = name.key
    if key in names.keys or (key.endswith("s") and key[:-1] in names.keys):
        return True
    if len(key) >= _LONG and key in names.squeezed:
        return True
    if name.acronym and key in names.initials:
        return True
    return len(key) >= _LONG and any(_is_near(key, other) for other in names.keys)


def _is_near(key: str, other: str) -> bool:
    """Whether a name is the other one with an ending ("Marxist", "Marx"), or with one letter mistyped."""
    if abs(len(key) - len(other)) > 1:
        return len(other) >= _LONG - 1 and key.startswith(other) and len(key) - len(other) <= 3  # noqa: PLR2004
    if key[0] != other[0] or len(key) <= _LONG:
        return False
    same = 0
    for one, two in zip(key, other, strict=False):
        if one != two:
            break
        same += 1
    rest, tail = key[same:], other[same:]
    return rest[1:] == tail[1:] or rest[1:] == tail or rest == tail[1:] or rest[2:] == tail[2:] == "" and same >= _LONG


def _is_spelt_by_acronym(source: Names, output: Names, run: int) -> bool:
    first_letters = "".join(name.key[0] for name in source.parts if name.run == run)
    return len(first_letters) > 1 and any(name.acronym and name.key == first_letters for name in output.parts)
