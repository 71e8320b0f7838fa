"""Opposites: "raised" for "lowered", "blue" for "red", "unhappy" for "happy".

The table of words that exclude each other is made by hand (opposites.txt); its inflected forms are spelt out once, so
that looking a word up is all that a text costs. Opposites made by a prefix or by -ful and -less need no table: both
texts show the stem.
"""

import re
from collections.abc import Sequence, Set
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

_VOWELS = frozenset("aeiou")
_SHORT = re.compile(r"^[^aeiou]*[aeiou][^aeiouwxy]$")  # stop, big: the last letter is doubled
_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "mis", "ab")
_NOT_OPPOSITE = frozenset(["infront", "inside", "indeed", "inform", "informed", "impress", "impact"])
_FEW_LETTERS = 3
_LESS = frozenset(["less", "least"])
_DEGREES = frozenset(["more", "less", "most", "least", "fewer"])


class Lemmas(NamedTuple):
    """The words of a text as far as opposites need them."""

    of_table: dict[str, str]
    """Lemma in the table: the word as it is written."""
    all: frozenset[str]
    opening: str
    """The first word: who or what the text is about, if it is a simple sentence."""


class Exchange(NamedTuple):
    """A word of the source that gave way to one that excludes it."""

    before: str
    after: str
    opposite: bool
    """Whether a negation makes up for it."""


class _Table(NamedTuple):
    lemmas: dict[str, tuple[str, ...]]
    """Form: its lemmas ("left" has two)"""
    opposites: dict[str, frozenset[str]]
    exclusive: dict[str, frozenset[str]]
    sides: dict[str, frozenset[str]]
    in_place: dict[str, frozenset[str]]


def _forms(lemma: str) -> list[str]:
    """The regular inflected forms of a word, whatever it is."""
    stem = lemma[:-1] if lemma.endswith("e") else lemma
    plural = lemma + ("es" if lemma.endswith(("s", "x", "ch", "sh")) else "s")
    forms = [lemma, plural, stem + "ed", stem + "ing", stem + "er", stem + "est"]
    if lemma.endswith("y") and lemma[-2:-1] not in _VOWELS:
        forms += [lemma[:-1] + ending for ending in ("ies", "ied", "ier", "iest")]
    if _SHORT.match(lemma):
        forms += [lemma + lemma[-1] + ending for ending in ("ed", "ing", "er", "est")]
    return forms


@lru_cache(maxsize=1)
def _table() -> _Table:
    opposites: dict[str, set[str]] = {}
    exclusive: dict[str, set[str]] = {}
    sides: dict[str, set[str]] = {}
    in_place: dict[str, set[str]] = {}
    irregular: list[list[str]] = []
    for line in (files("parasketch.text.facts") / "opposites.txt").read_text("utf-8").splitlines():
        words = line.split()
        if words[0] == "=":
            irregular.append(words[1:])
            continue
        if words[0] == "#":
            continue
        marked = {"~": sides, "!": in_place}.get(words[0])
        kind = marked if marked is not None else opposites if len(words) == 2 else exclusive
        group = {word for word in words if word not in ("~", "!")}
        for word in group:
            kind.setdefault(word, set()).update(group - {word})
    inflected = dict.fromkeys([*opposites, *exclusive, *sides])
    lemmas: dict[str, tuple[str, ...]] = {word: (word,) for word in in_place if word not in inflected}
    for lemma, *forms in [*irregular, *([lemma, *_forms(lemma)] for lemma in inflected)]:
        for form in forms:
            if lemma not in lemmas.get(form, ()):
                lemmas[form] = (*lemmas.get(form, ()), lemma)
    kinds = (opposites, exclusive, sides, in_place)
    return _Table(lemmas, *({word: frozenset(others) for word, others in kind.items()} for kind in kinds))


def find_lemmas(keys: list[str]) -> Lemmas:
    """What a text with these folded words has of the table."""
    lemmas = _table().lemmas
    of_table = {lemma: key for key in keys if key in lemmas for lemma in lemmas[key]}
    return Lemmas(of_table, frozenset(keys), keys[0] if keys else "")


def exchanges(source: Lemmas, output: Lemmas) -> list[Exchange]:
    """The words of the source that the output lacks while it has words that exclude them and are new."""
    gone = source.of_table.keys() - output.of_table.keys()
    new = output.of_table.keys() - source.of_table.keys()
    found = [
        exchange
        for lemma in source.of_table
        if lemma in gone and (exchange := _exchange(lemma, new, source, output)) is not None
    ]
    gone_words, new_words = source.all - output.all, output.all - source.all
    found += [Exchange(word, other, True) for word, other in _affixed(gone_words, new_words)]
    found += [Exchange(word, other, True) for other, word in _affixed(new_words, gone_words)]
    if len(found) == 2 and any(_is_degree(exchange) for exchange in found):
        return []  # "less cheap" for "more expensive"
    if not _LESS.isdisjoint(gone_words | new_words):
        return [exchange for exchange in found if _is_degree(exchange)]  # "less expensive" for "cheaper"
    return found


def _exchange(lemma: str, new: Set[str], source: Lemmas, output: Lemmas) -> Exchange | None:
    """What a word that is gone was exchanged for, if for anything."""
    if not new:
        return None
    table = _table()
    opposites, exclusive, sides = (kind.get(lemma, frozenset()) for kind in table[1:4])
    if any(not table.opposites.get(other, frozenset()).isdisjoint(opposites) for other in new - opposites):
        return None  # another word of the same side: "the big and the little dog" for "the large and the small dog"
    opposites = opposites | sides if source.opening == output.opening else opposites - sides
    for others, is_opposite in ((opposites, True), (exclusive, False)):
        if others := others & new:
            return Exchange(source.of_table[lemma], output.of_table[min(others)], is_opposite)
    return None


def replaced_word(source: Sequence[str], output: Sequence[str]) -> Exchange | None:
    """The exchange, if a single word was replaced by one that excludes it; that word may stand elsewhere too."""
    if len(source) != len(output):
        return None
    pairs = [pair for pair in zip(source, output, strict=True) if pair[0] != pair[1]]
    if len(pairs) != 1:
        return None
    before, after = pairs[0]
    table = _table()
    before_lemmas, after_lemmas = table.lemmas.get(before, ()), table.lemmas.get(after, ())
    kinds = (table.opposites, table.exclusive, table.sides, table.in_place)
    if set(before_lemmas).isdisjoint(after_lemmas) and any(
        not kind.get(lemma, frozenset()).isdisjoint(after_lemmas) for lemma in before_lemmas for kind in kinds
    ):
        return Exchange(before, after, opposite=False)
    return None


def _is_degree(exchange: Exchange) -> bool:
    return exchange.before in _DEGREES and exchange.after in _DEGREES


def _affixed(plain: frozenset[str], affixed: frozenset[str]) -> list[tuple[str, str]]:
    """(word, word with a prefix or ending that makes it the opposite)"""
    found = []
    for word in affixed:
        if len(word) <= _FEW_LETTERS + 1 or word in _NOT_OPPOSITE:
            continue
        for prefix in _PREFIXES:
            if word.startswith(prefix) and (stem := word.removeprefix(prefix).lstrip("-")) in plain:
                if len(stem) > _FEW_LETTERS:
                    found.append((stem, word))
                break
        if word.endswith("less") and word[:-4] + "ful" in plain:
            found.append((word[:-4] + "ful", word))
    return found
