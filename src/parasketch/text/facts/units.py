"""Number words and units: what they are worth, and which of them measure the same thing.

A unit is a dimension and a factor, so that half an hour is thirty minutes and 1.5 km are 1,500 m; a dimension of its
own tells dollars from euros.
"""

from typing import NamedTuple


class Unit(NamedTuple):
    """What a number measures, and how much one of it is in the smallest unit of the dimension."""

    dimension: str
    factor: float


def _units(dimension: str, factor: float, names: str) -> dict[str, Unit]:
    return dict.fromkeys(names.split(), Unit(dimension, factor))


UNITS: dict[str, Unit] = {
    **_units("time", 1, "second seconds sec secs"),
    **_units("time", 60, "minute minutes min mins"),
    **_units("time", 3600, "hour hours hr hrs"),
    **_units("time", 86400, "day days"),
    **_units("time", 604800, "week weeks wk wks"),
    **_units("time", 1209600, "fortnight fortnights"),
    **_units("months", 1, "month months"),
    **_units("months", 12, "year years yr yrs"),
    **_units("months", 120, "decade decades"),
    **_units("months", 1200, "century centuries"),
    **_units("metres", 0.001, "mm millimeter millimeters millimetre millimetres"),
    **_units("metres", 0.01, "cm centimeter centimeters centimetre centimetres"),
    **_units("metres", 1, "m meter meters metre metres"),
    **_units("metres", 1000, "km kms kilometer kilometers kilometre kilometres"),
    **_units("miles", 1, "mile miles mi"),
    **_units("feet", 1, "foot feet ft"),
    **_units("inches", 1, "inch inches"),
    **_units("yards", 1, "yard yards"),
    **_units("grams", 0.001, "mg milligram milligrams"),
    **_units("grams", 1, "g gram grams gramme grammes"),
    **_units("grams", 1000, "kg kgs kilo kilos kilogram kilograms"),
    **_units("grams", 1e6, "tonne tonnes"),
    **_units("litres", 0.001, "ml milliliter milliliters millilitre millilitres"),
    **_units("litres", 1, "l liter liters litre litres"),
    **_units("gallons", 1, "gallon gallons"),
    **_units("ounces", 1, "ounce ounces oz"),
    **_units("pounds", 1, "pound pounds lb lbs £ gbp quid"),  # money or weight: nothing is gained by guessing
    **_units("dollars", 1, "dollar dollars buck bucks $ usd"),
    **_units("euros", 1, "euro euros € eur"),
    **_units("yen", 1, "yen ¥ jpy"),
    **_units("rupees", 1, "rupee rupees rs inr ₹"),
    **_units("cents", 1, "cent cents"),
    **_units("percent", 1, "% percent pct"),
    **_units("bytes", 1, "kb kilobyte kilobytes"),
    **_units("bytes", 1e3, "mb megabyte megabytes"),
    **_units("bytes", 1e6, "gb gigabyte gigabytes gig gigs"),
    **_units("bytes", 1e9, "tb terabyte terabytes"),
    **_units("watts", 1, "watt watts w"),
    **_units("watts", 1000, "kw kilowatt kilowatts"),
    **_units("volts", 1, "volt volts v"),
}
MONEY = frozenset(["$", "€", "£", "¥", "₹", "rs", "inr", "usd", "eur", "gbp", "jpy"])
"""Units that stand before their number."""

TIMES_OF_DAY = frozenset(["am", "pm"])
ORDINAL_ENDINGS = frozenset(["st", "nd", "rd", "th"])

_UP_TO_TWENTY = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
fifteenth sixteenth seventeenth eighteenth nineteenth"""
_ORDINAL_TENS = "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth"

SMALL: dict[str, int] = {
    **{word: value for value, word in enumerate(_UP_TO_TWENTY.split())},
    **{word: 10 * value for value, word in enumerate(_TENS.split(), 2)},
    "fourty": 40,
}
"""Number words below a hundred."""

ORDINALS: dict[str, int] = {
    **{word: value for value, word in enumerate(_ORDINALS.split(), 1)},
    **{word: 10 * value for value, word in enumerate(_ORDINAL_TENS.split(), 2)},
    "hundredth": 100,
    "thousandth": 1000,
    "millionth": 10**6,
}

SCALES: dict[str, float] = {
    "hundred": 100,
    "thousand": 1000,
    "k": 1000,
    "lakh": 10**5,
    "lakhs": 10**5,
    "lac": 10**5,
    "lacs": 10**5,
    "million": 10**6,
    "mn": 10**6,
    "crore": 10**7,
    "crores": 10**7,
    "billion": 10**9,
    "bn": 10**9,
    "trillion": 10**12,
    "dozen": 12,
}
"""Words that multiply what stands before them; "k" and the like only where they touch a number."""
TOUCHING_SCALES = frozenset(["k", "mn", "bn"])

FRACTIONS: dict[str, float] = {
    **{"half": 1 / 2, "halves": 1 / 2, "third": 1 / 3, "thirds": 1 / 3, "quarter": 1 / 4, "quarters": 1 / 4},
    **{"fourths": 1 / 4, "fifths": 1 / 5, "tenths": 1 / 10},
}

HINTS: dict[str, float] = {
    **{"once": 1, "single": 1, "sole": 1, "twice": 2, "both": 2, "couple": 2, "pair": 2, "double": 2, "duo": 2},
    **{"twins": 2, "twin": 2, "either": 2, "thrice": 3, "triple": 3, "trio": 3, "triplets": 3, "quadruple": 4},
    **{"decade": 10, "century": 100, "teen": 13, "dual": 2, "bi": 2, "tri": 3, "solo": 1, "alone": 1},
}
"""Words that keep a number without being one: "both men" for "the two men"."""
