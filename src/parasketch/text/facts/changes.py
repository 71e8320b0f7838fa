"""The facts of a text, read once, and the comparison of two texts' facts."""

from dataclasses import dataclass

from parasketch.text.facts.literals import Literal, blank, find_literals, find_quoted, is_kept
from parasketch.text.facts.names import Names, find_names, missing_names
from parasketch.text.facts.negation import Negation, changed_negation, find_negation
from parasketch.text.facts.numbers import Number, missing_numbers
from parasketch.text.facts.opposites import Lemmas, exchanges, find_lemmas, replaced_word
from parasketch.text.facts.persons import Persons, changed_person, find_persons, may_be_anybody
from parasketch.text.facts.reading import find_numbers
from parasketch.text.facts.roles import exchanged_parts
from parasketch.text.facts.times import find_times, missing_times
from parasketch.text.facts.units import UNITS
from parasketch.text.facts.words import Token, cut, plain


@dataclass(frozen=True, slots=True)
class Facts:
    """What `facts_of` found in a text."""

    text: str
    flat: str
    """The text in lower case."""
    keys: tuple[str, ...]
    """Its words, folded."""
    words: str
    """The same between single spaces, one before and one after."""
    literals: tuple[Literal, ...]
    numbers: tuple[Number, ...]
    names: Names
    negation: Negation
    lemmas: Lemmas
    persons: Persons
    times: dict[tuple[str, str], str]


@dataclass(frozen=True, slots=True)
class Changes:
    """How an output differs from its source."""

    lost: tuple[str, ...] = ()
    """Facts of the source that the output does not have, and what it says instead."""
    added: tuple[str, ...] = ()
    """Facts of the output that the source does not have."""

    def __bool__(self) -> bool:
        return bool(self.lost or self.added)

    def described(self) -> tuple[str, ...]:
        """All of them for people to read, what was added marked as such."""
        return (*self.lost, *(f"added: {fact}" for fact in self.added))


def facts_of(text: str) -> Facts:
    """The facts of a text; keep them to compare the text with many others."""
    written = plain(text)
    literals = find_literals(written)
    rest = blank(written, literals)
    tokens = cut(rest)
    quoted = find_quoted(text, tokens)
    lower = rest.casefold()
    keys = [token.key for token in tokens if token.key[0].isalnum()]
    return Facts(
        text=text,
        flat=written.casefold(),
        keys=tuple(keys),
        words=f" {' '.join(keys)} ",
        literals=(*literals, *quoted),
        numbers=find_numbers(tokens),
        names=find_names(tokens),
        negation=find_negation(lower, frozenset(keys)),
        lemmas=find_lemmas(keys),
        persons=find_persons(frozenset(token.key for token in tokens if not _is_land(token)), lower),
        times=find_times(lower),
    )


def compare(source: Facts, output: Facts) -> Changes:
    """What an output lost of its source, and what it added."""
    lost = [*_missing_literals(source, output), *_missing_numbers(source, output), *_missing_parts(source, output)]
    added = [*_missing_literals(output, source), *_missing_numbers(output, source), *_missing_parts(output, source)]
    exchanged = exchanges(source.lemmas, output.lemmas)
    person = changed_person(source.persons, output.persons)
    if not exchanged and not person and (replaced := replaced_word(source.keys, output.keys)):
        generic = source.persons.generic and may_be_anybody(replaced.before)
        exchanged = [] if generic else [replaced]
    no_more, new = changed_negation(source.negation, output.negation, exchanged)
    if no_more:
        lost.append(f"negation ({no_more})")
    if new:
        added.append(f"negation ({new})")
    made_up_for = (
        len(source.negation.cues) % 2 != len(output.negation.cues) % 2
        or source.negation.either_way != output.negation.either_way
    )
    lost += [
        f"{exchange.before} → {exchange.after}"
        for exchange in exchanged
        if not (exchange.opposite and made_up_for)
        # "ten years" for "one decade": the numbers were compared
        and not (exchange.before in UNITS and exchange.after in UNITS and source.numbers and output.numbers)
    ]
    if person:
        lost.append(person)
    named = " ".join(lost)
    lost += [time for time in missing_times(source.times, output.flat) if time not in named]
    added += [time for time in missing_times(output.times, source.flat) if time not in named]
    if parts := exchanged_parts(source.keys, output.keys):
        lost.append(parts)
    return Changes(tuple(dict.fromkeys(lost)), tuple(dict.fromkeys(added)))


def required_spans(facts: Facts) -> list[tuple[int, int]]:
    """What has to be said again as it is written: the characters [start, end) of the first mention of each literal,
    firm number and name, in order."""
    spans: dict[object, tuple[int, int]] = {}
    for literal in facts.literals:
        spans.setdefault(literal.needle, (literal.start, literal.end))
    for number in facts.numbers:
        if number.firm:
            spans.setdefault((number.value, number.dimension), (number.start, number.end))
    for name in facts.names.parts:
        spans.setdefault(name.key, (name.start, name.end))
    return [
        (start, end)
        for start, end in sorted(spans.values())
        if not any(first <= start and end <= last and (first, last) != (start, end) for first, last in spans.values())
    ]


def _is_land(token: Token) -> bool:
    """Whether "US" or the "U" of "U. S." only looks like a pronoun."""
    return token.key in ("us", "u") and token.text.isupper()


def _missing_literals(source: Facts, output: Facts) -> list[str]:
    return [
        source.text[literal.start : literal.end]
        for literal in source.literals
        if not is_kept(literal, flat=output.flat, words=output.words)
    ]


def _missing_numbers(source: Facts, output: Facts) -> list[str]:
    return [source.text[number.start : number.end] for number in missing_numbers(source.numbers, output.numbers)]


def _missing_parts(source: Facts, output: Facts) -> list[str]:
    return [source.text[name.start : name.end] for name in missing_names(source.names, output.names)]
