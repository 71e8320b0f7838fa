"""Names of a text, part by part: people, places, peoples, languages, months, products, acronyms.

Capitals tell a name from other words inside a sentence; at its beginning, whatever is not an ordinary English word is
one. Lands, peoples, months and weekdays are known however they are written. Where everything has a capital (a title,
shouting), only words that are not ordinary ones count.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from parasketch.text.facts.units import TOUCHING_SCALES
from parasketch.text.facts.vocabulary import is_ordinary, place_of, place_of_capitalised, place_of_several
from parasketch.text.facts.words import Token
from parasketch.text.templates import STOP_WORDS

_COMMON = """
i ok okay internet web moon earth sun god lord mom mum mommy mummy dad daddy papa mama sir madam ma'am mr mrs ms miss dr
prof professor doctor tv television am pm ad bc etc ps vs bible net website email president king queen prince princess
mayor senator governor captain minister pope no nope yes rs
"""
_NOT_NAMES = frozenset(_COMMON.split())
_STRESSED = """
best better good great bad worst major minor top big small new old real true free main full high low long short first
last next most more all any some every only very own same other such well really one two three four five six seven eight
nine ten
"""
_EMPHASIS = frozenset(_STRESSED.split())
"""Words that people like to write with a capital; names only beside other names."""
_KINDS = """
university college school institute empire city state county river lake mount mountain company inc ltd corp corporation
republic kingdom prophet saint lord secretary general hotel park street road prime minister party team club magazine
newspaper day
"""
_HEADS = frozenset(_KINDS.split())
"""Words that say what is named; the name is known without them."""
_BETWEEN = frozenset(["of", "the", "and", "for", "de", "la", "in"])
_FEW = 3  # of so many words all may be names; so many letters in capitals are an acronym
_INNER_CAPITAL = re.compile(r"[a-z][A-Z]")
_LONG = 5  # letters; a name so long is found inside other words too
_LONGEST_ENDING = 3


class Name(NamedTuple):
    """One part of a name."""

    key: str
    start: int
    end: int
    acronym: bool
    run: int = 0
    """Parts of one name have the same number."""
    last: bool = True
    """Whether it is the last part of its name."""


class Names(NamedTuple):
    """The names of a text, and what names of another text are looked up in."""

    parts: tuple[Name, ...]
    keys: frozenset[str]
    """All words, and the keys of lands and peoples."""
    squeezed: str
    """All letters and digits without anything between them: "face book" has "facebook"."""
    initials: str
    """First letters of all words but of, the, and..."""


def find_names(tokens: list[Token]) -> Names:
    """The names among the tokens of a text, in order."""
    words = [token for token in tokens if token.text[0].isalpha()]
    parts: list[Name] = []
    for name in _find_parts(words, cased=_is_cased(words)):
        run = parts[-1].run + 1 if parts else 0
        if parts and name.start <= parts[-1].end + 1:
            parts[-1] = parts[-1]._replace(last=False)
            run = parts[-1].run
        parts.append(name._replace(run=run))
    keys = {token.key for token in tokens}
    keys.update([key[:-1] for key in keys if key.endswith("s")])
    keys.update([name.key for name in parts])
    squeezed = "".join([token.key for token in tokens if token.key[0].isalnum()]).replace("'", "")
    initials = "".join([word.key[0] for word in words if word.key not in _BETWEEN])
    return Names(tuple(parts), frozenset(keys), squeezed, initials)


def _is_cased(words: list[Token]) -> bool:
    """Whether capitals say anything."""
    inner = [word for word in words if not word.opens]
    capitals = len([word for word in inner if word.text[0].isupper() and word.key != "i"])
    if len(inner) <= _FEW:
        return len(words) <= 1 or not all(word.text.isupper() for word in words)
    return 2 * capitals <= len(inner)


def _find_parts(words: list[Token], *, cased: bool) -> Iterator[Name]:
    """Single names, as parts of which they are joined later."""
    known_until = 0
    for place, word in enumerate(words):
        if place < known_until:
            continue
        land, length = place_of_several(words, place)
        if land:
            known_until = place + length
            yield Name(land, word.start, words[known_until - 1].end, acronym=False)
        elif land := _land(word, cased=cased):
            yield Name(land, word.start, word.end, acronym=False)
        elif word.text.islower() or not _is_name(word, cased=cased):
            continue
        elif not _is_emphasis(word) or _has_named_neighbour(words, place):
            acronym = len(word.key) > 1 and word.text.rstrip("s'").isupper()
            yield Name(word.key, word.start, word.end, acronym)


def _land(word: Token, *, cased: bool) -> str:
    """The key of a land, people, month or weekday, empty for other words."""
    if not word.text[0].isupper() or (not cased and is_ordinary(word.key)):
        return place_of(word.key)
    if (word.key == "us" and not (cased and word.text.isupper())) or (word.opens and word.key in ("may", "march")):
        return ""
    return place_of_capitalised(word.key)


def _is_name(word: Token, *, cased: bool) -> bool:
    if (len(word.text) == 1 and word.hyphened) or (word.key in TOUCHING_SCALES and word.after_digit):
        return False  # T-shirt, 10K
    if cased and _INNER_CAPITAL.search(word.text) and not word.text.endswith("s"):
        return True  # iPhone, McDonald
    if not word.text[0].isupper() or word.key in _NOT_NAMES or "'" in word.key:
        return False
    if word.key in STOP_WORDS and not word.text.isupper():
        return False
    if word.opens or not cased:
        return len(word.key) > 1 and not is_ordinary(word.key) and (cased or not word.text.isupper())
    return True


def _is_emphasis(word: Token) -> bool:
    """Whether a capital or capitals may only stress an ordinary word."""
    if word.text.isupper() and len(word.text) > 1:
        return is_ordinary(word.key) if len(word.text) > _FEW else word.key in STOP_WORDS and word.key != "it"
    return word.key in _EMPHASIS


def _has_named_neighbour(words: list[Token], place: int) -> bool:
    here = words[place]
    return any(
        other.text[0].isupper()
        and other.key != "i"
        and not other.opens
        and not _is_emphasis(other)
        and max(other.start, here.start) - min(other.end, here.end) <= 1
        for other in (*words[max(0, place - 1) : place], *words[place + 1 : place + 2])
    )


def missing_names(source: Names, output: Names) -> list[Name]:
    """The parts of names of the source that the output does not have, in any casing."""
    gone = [name for name in source.parts if not _has(output, name)]
    if not gone:
        return []
    kept_runs = {name.run for name in source.parts if name not in gone}
    last_kept = {name.run for name in source.parts if name.last and name not in gone}
    is_new = any(not _has(source, name) for name in output.parts)

    def is_needed(name: Name) -> bool:
        if _is_spelt_by_acronym(source, output, name.run):
            return False
        # "Trump" for "Donald Trump", "Oxford" for "Oxford University"; but not "Tiffany Hall" for "Laura Hall", nor
        # "Korea" for "South Korea"
        is_head = name.key in _HEADS and name.run in kept_runs
        is_first_name = name.run in last_kept and not is_ordinary(name.key)
        return is_new or not (is_head or is_first_name)

    return [name for name in gone if is_needed(name)]


def _has(names: Names, name: Name) -> bool:
    key = name.key
    if key in names.keys or (key.endswith("s") and key[:-1] in names.keys):
        return True
    if name.acronym and key in names.initials:
        return True
    return len(key) >= _LONG and (key in names.squeezed or any(_is_near(key, other) for other in names.keys))


def _is_near(key: str, other: str) -> bool:
    """Whether a name is the other one with an ending ("Marxist", "Marx"), or with one letter mistyped."""
    if abs(len(key) - len(other)) > 1:
        return len(other) >= _LONG - 1 and key.startswith(other) and len(key) - len(other) <= _LONGEST_ENDING
    if key[0] != other[0] or len(key) <= _LONG:
        return False
    same = 0
    while same < min(len(key), len(other)) and key[same] == other[same]:
        same += 1
    rest, tail = key[same:], other[same:]
    return rest[1:] == tail[1:] or rest[1:] == tail or rest == tail[1:]


def _is_spelt_by_acronym(source: Names, output: Names, run: int) -> bool:
    first_letters = "".join(name.key[0] for name in source.parts if name.run == run)
    return len(first_letters) > 1 and any(name.acronym and name.key == first_letters for name in output.parts)
