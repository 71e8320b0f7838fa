"""Read the numbers of a text: digits, words, ordinals, fractions, money, measures, clock times."""

import re

from parasketch.text.facts.numbers import CLOCK, Number
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
    Unit,
)
from parasketch.text.facts.words import Token

_DIGIT = re.compile(r"\d")
_THOUSANDS = re.compile(r"^\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?$")  # 1,299.99 and 1,00,000
_TIME = re.compile(r"^([01]?\d|2[0-4])[:.]([0-5]\d)$")
_NOON = {"noon": 720, "midday": 720, "midnight": 0}
_HINTED = frozenset(["one", "first", "second"])
_VAGUE = frozenset(["several", "few", "many", "some"])  # "several dozen"
_STARTING_SCALES = frozenset(["hundred", "thousand", "million", "billion", "dozen"])
_NUMBER_WORDS = frozenset([*SMALL, *ORDINALS, *SCALES, *FRACTIONS, *HINTS, *_NOON])
_MONEY_SCALES = {"m": 10**6, "b": 10**9}
_ARTICLES = frozenset(["a", "an"])
_DENOMINATORS = frozenset(["2", "3", "4", "5", "8"])
_PARTS_OF_HOUR = {"half": 30, "quarter": 15}
_QUARTERS = (15, 30, 45)
_LAST_HOUR = 12  # of a clock with hands


def find_numbers(tokens: list[Token]) -> tuple[Number, ...]:
    """All numbers in order."""
    keys = {token.key for token in tokens}
    if keys.isdisjoint(_NUMBER_WORDS) and keys.isdisjoint(UNITS) and not _DIGIT.search(" ".join(keys)):
        return ()
    return tuple(_Reader(tokens).read())


class _Reader:
    """Goes from left to right; whatever reads a number moves the place behind it."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.place = 0
        self.found: list[Number] = []

    def read(self) -> list[Number]:
        while self.place < len(self.tokens):
            first = self.place
            key = self._key(0)
            if self.tokens[first].text[0].isdecimal():
                self._digits(first)
            elif key in _NUMBER_WORDS:
                self._words(first)
            elif key in _ARTICLES and (unit := UNITS.get(self._key(1))):
                self.place += 2
                self._add(first, 1, unit=unit, firm=False)
            if self.place == first:
                self.place += 1
        return self.found

    def _key(self, ahead: int) -> str:
        place = self.place + ahead
        return self.tokens[place].key if 0 <= place < len(self.tokens) else ""

    def _touches(self, place: int) -> bool:
        return 0 < place < len(self.tokens) and self.tokens[place - 1].end == self.tokens[place].start

    def _add(
        self, first: int, said: float, *, unit: Unit | None = None, firm: bool = True, ordinal: bool = False
    ) -> None:
        dimension, factor = unit or ("", 1.0)
        start, end = self.tokens[first].start, self.tokens[self.place - 1].end
        self.found.append(Number(said, said * factor, dimension, start, end, firm, ordinal))

    def _add_time(self, first: int, hour: int, minute: int) -> None:
        """Add a clock time, with the am or pm that follows."""
        half = self._key(0) if self._key(0) in TIMES_OF_DAY else ""
        self.place += bool(half)
        said = hour if minute == 0 else -1
        if half:
            hour = hour % 12 + 12 * (half == "pm")
        start, end = self.tokens[first].start, self.tokens[self.place - 1].end
        known = bool(half) or hour > _LAST_HOUR
        self.found.append(Number(said, 60 * (hour % 24) + minute, CLOCK, start, end, half_known=known))

    def _digits(self, first: int) -> None:
        text = self.tokens[first].text
        self.place += 1
        time = _TIME.match(text)
        if time and (":" in text or self._key(0) in TIMES_OF_DAY):
            self._add_time(first, int(time[1]), int(time[2]))
        elif self._is_hour() and text.isdecimal() and len(text) <= 2:
            self._full_hour(first, int(text) % 24)
        else:
            for part in text.split(":"):
                self._figure(first, part)

    def _is_hour(self) -> bool:
        return self._key(0) in TIMES_OF_DAY or self._key(0) == "o'clock"

    def _full_hour(self, first: int, hour: int) -> None:
        self.place += self._key(0) == "o'clock"
        self._add_time(first, hour, 0)

    def _figure(self, first: int, text: str) -> None:
        text = text.replace(",", "") if _THOUSANDS.match(text) else text.replace(",", ".")
        if text.count(".") > 1:  # 1.2.3
            for part in text.split("."):
                self._add(first, float(part))
            return
        said = float(text)
        if self._touches(first) and self.tokens[first - 1].text == "-" and not self._touches(first - 1):
            said, first = -said, first - 1
        touching = self._touches(self.place)
        ordinal = touching and self._key(0) in ORDINAL_ENDINGS
        if ordinal or (touching and self._key(0) == "s"):  # 4th, 1990s
            self.place += 1
        elif touching and self._is_fraction(said):
            said /= float(self._key(1))
            self.place += 2
        self._finish(first, self._scaled(said, first), ordinal=ordinal)

    def _is_fraction(self, said: float) -> bool:
        if self._key(0) != "/" or self._key(1) not in _DENOMINATORS or said >= float(self._key(1)):
            return False
        return "/" not in (self._key(2), self._key(-2))  # not a date

    def _scaled(self, said: float, first: int) -> float:
        while (scale := SCALES.get(self._key(0))) is not None:
            said *= scale
            self.place += 1
        if self._key(0) in _MONEY_SCALES and self._touches(self.place) and self.tokens[first - 1].key in MONEY:
            said *= _MONEY_SCALES[self._key(0)]
            self.place += 1
        return said

    def _words(self, first: int) -> None:
        key = self._key(0)
        if key in _NOON:
            self.place += 1
            start, end = self.tokens[first].start, self.tokens[first].end
            self.found.append(Number(12, _NOON[key], CLOCK, start, end, firm=False, half_known=True))
        elif key in _PARTS_OF_HOUR and self._past_the_hour(first):
            return
        elif key == "half" or (key in ("quarter", "third") and self._key(-1) in _ARTICLES and self._key(1) == "of"):
            self._fraction(first)
        elif key in ORDINALS and not (key == "second" and self._key(-1) in ("a", "per", "any", "-")):
            self.place += 1
            self._add(first, ORDINALS[key], firm=key not in _HINTED, ordinal=True)
        elif key in SMALL or key in _STARTING_SCALES:
            self._cardinal(first)
        elif key in HINTS:
            self.place += 1
            self._add(first, HINTS[key], firm=False)

    def _past_the_hour(self, first: int) -> bool:
        """Half past four, a quarter to nine."""
        part, relation, of = self._key(0), self._key(1), self._key(2)
        hour = SMALL.get(of) or (int(of) if of.isdecimal() and len(of) <= 2 else 0)
        if relation not in ("past", "to", "after", "till") or not 1 <= hour <= _LAST_HOUR:
            return False
        self.place += 3
        if relation in ("to", "till"):
            self._add_time(first, hour - 1 or 12, 60 - _PARTS_OF_HOUR[part])
        else:
            self._add_time(first, hour, _PARTS_OF_HOUR[part])
        return True

    def _fraction(self, first: int) -> None:
        """Half an hour, a quarter of a mile."""
        part = FRACTIONS[self._key(0)]
        self.place += 1
        ahead = int(self._key(0) == "of")
        ahead += self._key(ahead) in ("a", "an", "-")
        unit = UNITS.get(self._key(ahead))
        self.place += ahead + 1 if unit else 0
        self._add(first, part, unit=unit, firm=unit is not None)

    def _cardinal(self, first: int) -> None:
        total, group = 0.0, float(self._key(0) not in SMALL)  # "hundred" is one hundred
        while True:
            key, joined = self._key(0), 0
            begun = self.place > first
            if begun and key in ("-", "and"):
                # "twenty-one", "one hundred and five"; but "five and six", "20-30" are two numbers
                if (key == "-" and self._lacks_units(group)) or (key == "and" and group % 100 == 0):
                    key, joined = self._key(1), 1
                if key not in SMALL and key not in ORDINALS:
                    break
            if key in SMALL and (not begun or group % 100 == 0 or (self._lacks_units(group) and SMALL[key] <= 9)):
                group += SMALL[key]
            elif key in ORDINALS and begun and (group % 100 == 0 or self._lacks_units(group)):
                self.place += joined + 1
                self._add(first, total + group + ORDINALS[key], ordinal=True)
                return
            elif key == "hundred":
                group *= 100
            elif key in SCALES and key not in TOUCHING_SCALES:
                total, group = total + (group or 1) * SCALES[key], 0.0
            else:
                break
            self.place += joined + 1
        self._after_cardinal(first, total + group)

    def _lacks_units(self, group: float) -> bool:
        return group % 100 >= 20 and group % 10 == 0

    def _after_cardinal(self, first: int, said: float) -> None:
        one_word = self.place == first + 1
        ahead = int(self._key(0) == "-")
        if self._is_hour():
            self._full_hour(first, int(said) % 24)
            return
        if one_word and said <= _LAST_HOUR and SMALL.get(self._key(ahead)) in _QUARTERS:  # four thirty
            minute = SMALL[self._key(ahead)]
            self.place += ahead + 1
            self._add_time(first, int(said), minute)
            return
        if self._key(0) == "and" and self._key(1) == "a" and self._key(2) in _PARTS_OF_HOUR:  # two and a half
            said += FRACTIONS[self._key(2)]
            self.place += 3
        elif self._key(0) in FRACTIONS and self._key(0) not in _PARTS_OF_HOUR:  # two thirds
            said *= FRACTIONS[self._key(0)]
            self.place += 1
        vague = one_word and (self.tokens[first].key == "one" or self.tokens[first - 1].key in _VAGUE)
        self._finish(first, said, firm=not vague)

    def _finish(self, first: int, said: float, *, firm: bool = True, ordinal: bool = False) -> None:
        """Add a number with its unit, which is before it or after it."""
        before = self.tokens[first - 1].key if first else ""
        if before in MONEY:
            self.place += UNITS.get(self._key(0)) == UNITS[before]
            self._add(first - 1, said, unit=UNITS[before], firm=firm)
            return
        ahead = int(self._key(0) == "-")
        unit = None if ordinal else UNITS.get(self._key(ahead))
        if self._key(0) == "per" and self._key(1) == "cent":
            self.place += 2
            self._add(first, said, unit=UNITS["percent"], firm=firm)
        elif unit:
            self.place += ahead + 1
            self._add(first, said, unit=unit, firm=firm)
        else:
            self._add(first, said, firm=firm, ordinal=ordinal)
