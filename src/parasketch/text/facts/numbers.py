"""Numbers of a text, however they are written: digits, words, ordinals, money, measures, clock times.

A number is *firm* (a fact of its own) or only a *hint*: "one", "first", "both", "a week" are so often said or left out
that neither is a change, but they keep the number of the other text ("both" keeps "two").
"""

import re
from typing import NamedTuple

from parasketch.text.facts.units import (
    FRACTIONS,
    HINTS,
    MONEY,
    ORDINAL_ENDINGS,
    ORDINALS,
    SCALES,
    SMALL,
    TIMES_OF_DAY,
    TOUCHING_SCALES,
    UNITS,
)
from parasketch.text.facts.words import Token

_CLOCK = "clock"
_HALF_DAY = 720
_DIGIT = re.compile(r"\d")
_THOUSANDS = re.compile(r"^\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?$")  # 1,299.99 and 1,00,000
_TIME = re.compile(r"^([01]?\d|2[0-4])[:.]([0-5]\d)$")
_HINTED = frozenset(["one", "first", "second"])
_NUMBER_WORDS = frozenset([*SMALL, *ORDINALS, *SCALES, *FRACTIONS, *HINTS, "noon", "midnight", "midday"])
_VAGUE = frozenset(["several", "few", "many", "some"])  # "several dozen"
_MONEY_SCALES = {"m": 10**6, "b": 10**9}
_ARTICLES = frozenset(["a", "an"])
_MONTHS = frozenset(
    "january february march april may june july august september october november december".split()
)


class Number(NamedTuple):
    """What is said once."""

    said: float
    """The number as it is said, before its unit; for clock times the hour, if it is a full one."""
    value: float
    """In the smallest unit of the dimension; for clock times the minute of the day."""
    dimension: str
    """Empty for a bare number."""
    firm: bool
    half_known: bool
    """For clock times: whether it is before or after noon."""
    ordinal: bool
    start: int
    end: int


def find_numbers(tokens: list[Token]) -> tuple[Number, ...]:
    """All numbers in order."""
    return tuple(_Reader(tokens).read())


def keeps(mine: Number, other: Number) -> bool:
    """Whether two numbers say the same, where a missing unit may mean any."""
    if mine.dimension == other.dimension:
        if mine.dimension == _CLOCK and not (mine.half_known and other.half_known):
            return mine.value % _HALF_DAY == other.value % _HALF_DAY
        return _equal(mine.value, other.value)
    return (not mine.dimension or not other.dimension) and _equal(mine.said, other.said)


def missing(source: tuple[Number, ...], output: tuple[Number, ...]) -> list[Number]:
    """The firm numbers of the source that the output does not keep; and hints for which it says other ones."""
    gone = [number for number in source if not any(keeps(number, other) for other in output)]
    if not gone:
        return []
    new_ordinal = any(
        other.ordinal and not any(keeps(other, number) for number in source) for other in output
    )
    return [number for number in gone if number.firm or (number.ordinal and new_ordinal)]


def _equal(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * max(1.0, abs(one), abs(other))


class _Reader:
    """Reads numbers from left to right."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.place = 0
        self.found: list[Number] = []

    def read(self) -> list[Number]:
        tokens = self.tokens
        keys = {token.key for token in tokens}
        if keys.isdisjoint(_NUMBER_WORDS) and keys.isdisjoint(UNITS) and not _DIGIT.search(" ".join(keys)):
            return []
        while self.place < len(tokens):
            before = self.place
            token = tokens[before]
            if token.text[0].isdecimal():
                self._digits()
            elif token.key in _NUMBER_WORDS:
                self._words()
            elif token.key in _ARTICLES and self._key(1) in UNITS:
                unit = UNITS[self._key(1)]
                self.place += 2
                self._add(before, 1, unit=unit, firm=False)
            if self.place == before:
                self.place += 1
        return self.found

    def _key(self, ahead: int) -> str:
        place = self.place + ahead
        return self.tokens[place].key if 0 <= place < len(self.tokens) else ""

    def _touches(self, place: int) -> bool:
        return 0 < place < len(self.tokens) and self.tokens[place - 1].end == self.tokens[place].start

    def _add(self, first: int, said: float, *, unit: tuple[str, float] | None = None, firm: bool = True,
             ordinal: bool = False) -> None:
        dimension, factor = unit or ("", 1.0)
        start, end = self.tokens[first].start, self.tokens[self.place - 1].end
        self.found.append(Number(said, said * factor, dimension, firm, False, ordinal, start, end))

    def _add_time(self, first: int, hour: int, minute: int, half: str) -> None:
        known = bool(half) or hour > 12
        if half:
            hour = hour % 12 + 12 * (half == "pm")
        said = float(hour % 12 or 12) if minute == 0 and hour <= 24 else -1.0
        if minute == 0 and not half:
            said = float(hour)
        start, end = self.tokens[first].start, self.tokens[self.place - 1].end
        self.found.append(Number(said, 60.0 * (hour % 24) + minute, _CLOCK, True, known, False, start, end))

    def _digits(self) -> None:
        first = self.place
        text = self.tokens[first].text
        self.place += 1
        time = _TIME.match(text)
        half = self._key(0) if self._key(0) in TIMES_OF_DAY else ""
        if time and (":" in text or half):
            self.place += bool(half)
            self._add_time(first, int(time[1]), int(time[2]), half)
            return
        if half and text.isdigit() and int(text) <= 12:
            self.place += 1
            self._add_time(first, int(text), 0, half)
            return
        if self._key(0) == "o'clock":
            self.place += 1
            self._add_time(first, int(text) % 24 if text.isdigit() else 0, 0, "")
            return
        for part in [text] if ":" not in text else text.split(":"):
            self._figure(first, part)

    def _figure(self, first: int, text: str) -> None:
        text = text.replace(",", "") if _THOUSANDS.match(text) else text.replace(",", ".")
        try:
            said = float(text)
        except ValueError:  # 1.2.3
            for part in text.split("."):
                self._add(first, float(part))
            return
        if first and self._touches(first) and self.tokens[first - 1].text == "-":
            before = self.tokens[first - 2] if first > 1 else None
            if before is None or before.end < self.tokens[first - 1].start:
                said = -said
        ordinal = self._key(0) in ORDINAL_ENDINGS and self._touches(self.place)
        if ordinal or (self._key(0) == "s" and self._touches(self.place)):  # 4th, 1990s
            self.place += 1
        elif self._key(0) == "/" and self._touches(self.place) and self._key(1) in "2 3 4 5 8".split():
            denominator = self._key(1)
            if said < float(denominator) and self._key(2) != "/" and self._key(-2) != "/":
                self.place += 2
                said /= float(denominator)
        said = self._scaled(said, first)
        self._finish(first, said, ordinal=ordinal)

    def _scaled(self, said: float, first: int) -> float:
        while (scale := SCALES.get(self._key(0))) is not None:
            if self._key(0) in TOUCHING_SCALES and self.tokens[self.place].text == "K" and not self._touches(self.place):
                break
            said *= scale
            self.place += 1
        if self._key(0) in _MONEY_SCALES and self._touches(self.place) and first and self.tokens[first - 1].key in MONEY:
            said *= _MONEY_SCALES[self._key(0)]
            self.place += 1
        return said

    def _words(self) -> None:
        first = self.place
        key = self._key(0)
        if key in ("noon", "midday", "midnight"):
            self.place += 1
            start, end = self.tokens[first].start, self.tokens[first].end
            minutes = 0.0 if key == "midnight" else 720.0
            self.found.append(Number(12, minutes, _CLOCK, False, True, False, start, end))
        elif key in ("half", "quarter") and self._past_the_hour(first):
            return
        elif key == "half" or (key in ("quarter", "third") and self._key(-1) in _ARTICLES and self._key(1) == "of"):
            self.place += 1
            ahead = 0 + (self._key(0) == "of")
            ahead += self._key(ahead) in (*_ARTICLES, "-")
            unit = UNITS.get(self._key(ahead))
            self.place += ahead + 1 if unit else 0
            self._add(first, FRACTIONS[key], unit=unit, firm=unit is not None)
        elif key in ORDINALS and not (key == "second" and self._key(-1) in (*_ARTICLES, "per", "any", "-")):
            self.place += 1
            self._add(first, ORDINALS[key], firm=key not in _HINTED, ordinal=True)
        elif key in SMALL or key in ("hundred", "thousand", "million", "billion", "dozen"):
            self._cardinal(first)
        elif key in HINTS:
            self.place += 1
            self._add(first, HINTS[key], firm=False)

    def _past_the_hour(self, first: int) -> bool:
        relation = self._key(1)
        hour = SMALL.get(self._key(2)) or (int(self._key(2)) if self._key(2).isdigit() else 0)
        if relation not in ("past", "to", "after", "till") or not 1 <= hour <= 12:
            return False
        minutes = 30 if self._key(0) == "half" else 15
        late = relation in ("to", "till")
        self.place += 3
        half = self._key(0) if self._key(0) in TIMES_OF_DAY else ""
        self.place += bool(half)
        self._add_time(first, (hour - 1 or 12) if late else hour, 60 - minutes if late else minutes, half)
        return True

    def _cardinal(self, first: int) -> None:
        total = group = 0.0
        words = 0
        bare_scale = self._key(0) not in SMALL
        if bare_scale:
            group = 1.0
        while True:
            key = self._key(0)
            ahead = 0
            if words and key in ("-", "and") and (self._key(1) in SMALL or self._key(1) in ORDINALS):
                # "twenty-one", "one hundred and five"; but "five and six" are two numbers
                if (key == "-" and group % 100 >= 20 and group % 10 == 0) or (key == "and" and group % 100 == 0):
                    ahead, key = 1, self._key(1)
                else:
                    break
            if key in SMALL:
                value = SMALL[key]
                if words and not (group % 100 == 0 or (20 <= group % 100 and group % 10 == 0 and value < 10)):
                    break
                if words and group % 100 == 0 and value >= 100:
                    break
                group += value
            elif key in ORDINALS and words and group >= 20:
                total, group = total + group + ORDINALS[key], 0
                self.place += ahead + 1
                self._add(first, total, ordinal=True)
                return
            elif key == "hundred":
                group *= 100
            elif key in SCALES and key not in TOUCHING_SCALES:
                total, group = total + (group or 1) * SCALES[key], 0.0
            else:
                break
            words += 1
            self.place += ahead + 1
        said = total + group
        if self._key(0) == "and" and self._key(1) in _ARTICLES and self._key(2) in ("half", "quarter"):
            said += FRACTIONS[self._key(2)]
            self.place += 3
        elif self._key(0) in FRACTIONS and self._key(0).endswith(("s", "d")) and self._key(0) != "halves":
            said *= FRACTIONS[self._key(0)]
            self.place += 1
        if self._key(0) in TIMES_OF_DAY or self._key(0) == "o'clock":
            half = self._key(0) if self._key(0) in TIMES_OF_DAY else ""
            self.place += 1
            self._add_time(first, int(said) % 24, 0, half)
            return
        ahead = 1 if self._key(0) == "-" else 0
        if said <= 12 and SMALL.get(self._key(ahead), 0) in (15, 30, 45) and words == 1:  # "four thirty"
            minute = SMALL[self._key(ahead)]
            self.place += ahead + 1
            half = self._key(0) if self._key(0) in TIMES_OF_DAY else ""
            self.place += bool(half)
            self._add_time(first, int(said), minute, half)
            return
        vague = words == 1 and (self.tokens[first].key == "one" or self.tokens[first - 1].key in _VAGUE)
        self._finish(first, said, firm=not vague)

    def _finish(self, first: int, said: float, *, firm: bool = True, ordinal: bool = False) -> None:
        """Add a number with its unit, which is before it or after it."""
        before = self.tokens[first - 1].key if first else ""
        if before in MONEY:
            self._add(first - 1, said, unit=UNITS[before], firm=firm)
            if self._key(0) in UNITS and UNITS[self._key(0)] == UNITS[before]:
                self.place += 1
            return
        ahead = 1 if self._key(0) == "-" else 0
        unit = None if ordinal else UNITS.get(self._key(ahead))
        single = len(self._key(ahead)) == 1 and self._key(ahead).isalpha()
        if unit and (not single or self._touches(self.place) or self.tokens[self.place].text.islower()):
            self.place += ahead + 1
            self._add(first, said, unit=unit, firm=firm or unit.dimension not in ("time", "months"))
        elif self._key(0) == "per" and self._key(1) == "cent":
            self.place += 2
            self._add(first, said, unit=UNITS["percent"], firm=firm)
        else:
            self._add(first, said, firm=firm, ordinal=ordinal)
