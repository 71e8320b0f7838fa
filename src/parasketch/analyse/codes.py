"""What each code of a model goes with, as statements with a p-value.

Two questions, one null hypothesis: that codes are dealt out to sentences at random.

- How much does a level know of a property? The mutual information in bits, against that of shuffled codes.
- Does a code prefer a value of a property? Under shuffling, the number of sentences that have both is hypergeometric,
  so the p-value of the permutation test is known exactly, and nothing has to be shuffled. Over all codes, levels and
  values they are corrected by Holm's method.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parasketch.analyse.forms import Forms
from parasketch.analyse.properties import OTHER, Property, phrase
from parasketch.extras import needs

SIGNIFICANT = 0.001
PERMUTATIONS = 1000
LEAST_LIFT = 1.25
"""A value is worth telling if a code has it so many times as often as all sentences."""
_MOST_PHRASES, _SENTENCES, _LONGEST = 3, 3, 14


@dataclass(frozen=True, kw_only=True)
class Association:
    """A code prefers a value of a property."""

    property: str
    value: str
    share: float
    """Of the sentences with the code."""
    share_of_all: float
    p: float
    """Corrected."""


@dataclass(frozen=True, kw_only=True)
class CodeMeaning:
    """What is known of one code."""

    level: int
    """From 1."""
    code: int
    share: float
    """Of all sentences."""
    name: str
    associations: list[Association]
    """Significant ones, the most telling first; one for each property."""
    least_p: float
    """Corrected, of its strongest association of all."""
    sentences: list[str]
    """Typical ones."""


@dataclass(frozen=True, kw_only=True)
class Information:
    """How much a level knows of a property."""

    level: int
    property: str
    bits: float
    chance: float
    """The mean over shuffled codes."""
    entropy: float
    """Of the property: the most there is to know."""
    p: float


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """How often each code of a level meets each value of a property."""

    level: int
    property: str
    values: list[str]
    counts: list[list[int]]
    """(values, codes)."""


@dataclass(frozen=True, kw_only=True)
class CodeReport:
    """All that is known of the codes of a model."""

    model: str
    sentences: int
    tests: int
    """How many associations were tested, for which p-values are corrected."""
    permutations: int
    codes: list[CodeMeaning]
    information: list[Information]
    crossings: list[Crossing] = field(default_factory=list)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "CodeReport":
        """The way back from `dataclasses.asdict`."""
        codes = [
            CodeMeaning(**{**code, "associations": [Association(**each) for each in code["associations"]]})
            for code in values["codes"]
        ]
        information = [Information(**each) for each in values["information"]]
        crossings = [Crossing(**each) for each in values["crossings"]]
        return cls(**{**values, "codes": codes, "information": information, "crossings": crossings})


def explain_codes(
    forms: Forms,
    found: Sequence[Property],
    *,
    model: str,
    typical: Forms | None = None,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> CodeReport:
    """Cross the codes of sentences with their properties; typical sentences are taken from `typical`, or from them."""
    crossings = [
        _cross(forms.codes[:, level], one, level, forms.codes_a_level) for level in range(forms.levels) for one in found
    ]
    p_values = [_exact_p(np.array(crossing.counts)) for crossing in crossings]
    corrected = holm(np.concatenate([p.ravel() for p in p_values]))
    ends = np.cumsum([p.size for p in p_values])[:-1]
    tables = [part.reshape(p.shape) for part, p in zip(np.split(corrected, ends), p_values, strict=True)]
    shown = forms if typical is None else typical
    codes = [
        _meaning(level, code, list(zip(crossings, tables, strict=True)), shown)
        for level in range(forms.levels)
        for code in range(forms.codes_a_level)
    ]
    rng = np.random.default_rng(seed)
    information = [
        _information(forms.codes[:, level], one, level, forms.codes_a_level, permutations, rng)
        for level in range(forms.levels)
        for one in found
    ]
    return CodeReport(
        model=model,
        sentences=len(forms.sentences),
        tests=len(corrected),
        permutations=permutations,
        codes=codes,
        information=information,
        crossings=crossings,
    )


def holm(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Corrected p-values: the chance of a single false alarm among all of them stays below the level that is chosen."""
    order = np.argsort(p_values)
    scaled = p_values[order] * (len(p_values) - np.arange(len(p_values)))
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return corrected


def mutual_information(counts: NDArray[np.int64]) -> float:
    """Of the rows and columns of a table of counts, in bits."""
    joint = counts / counts.sum()
    expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    seen = joint > 0
    return float((joint[seen] * np.log2(joint[seen] / expected[seen])).sum())


def _cross(codes: NDArray[np.int64], one: Property, level: int, number: int) -> Crossing:
    values = [value for value, _ in sorted(Counter(one.values).items(), key=lambda pair: (-pair[1], pair[0]))]
    counts = _counts(_places(one.values, values), codes, len(values), number)
    return Crossing(level=level + 1, property=one.name, values=values, counts=counts.tolist())


def _places(values: Sequence[str], known: Sequence[str]) -> NDArray[np.int64]:
    place = {value: at for at, value in enumerate(known)}
    return np.array([place[value] for value in values], dtype=np.int64)


def _counts(rows: NDArray[np.int64], columns: NDArray[np.int64], height: int, width: int) -> NDArray[np.int64]:
    return np.bincount(rows * width + columns, minlength=height * width).reshape(height, width)


def _exact_p(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The share of all permutations in which a code meets a value at least as often, (values, codes)."""
    with needs("eval", "the test of codes"):
        from scipy.stats import hypergeom

    with_value, with_code = counts.sum(axis=1, keepdims=True), counts.sum(axis=0, keepdims=True)
    return np.asarray(hypergeom.sf(counts - 1, counts.sum(), with_value, with_code), dtype=np.float64)


def _information(
    codes: NDArray[np.int64], one: Property, level: int, number: int, permutations: int, rng: np.random.Generator
) -> Information:
    values = sorted(set(one.values))
    rows = _places(one.values, values)
    bits = mutual_information(_counts(rows, codes, len(values), number))
    drawn = np.array(
        [mutual_information(_counts(rows, rng.permutation(codes), len(values), number)) for _ in range(permutations)]
    )
    shares = np.bincount(rows) / len(rows)
    return Information(
        level=level + 1,
        property=one.name,
        bits=bits,
        chance=float(drawn.mean()),
        entropy=float(-(shares * np.log2(shares)).sum()),
        p=float((1 + (drawn >= bits).sum()) / (1 + permutations)),
    )


def _meaning(
    level: int, code: int, tables: Sequence[tuple[Crossing, NDArray[np.float64]]], shown: Forms
) -> CodeMeaning:
    """The associations of one code, the most telling value of each property, and sentences."""
    found: list[tuple[float, Association]] = []
    least, share = 1.0, 0.0
    for crossing, corrected in tables:
        if crossing.level != level + 1:
            continue
        counts = np.array(crossing.counts)
        mine, everybody = counts[:, code], counts.sum(axis=1)
        share = float(mine.sum() / counts.sum())
        least = min(least, float(corrected[:, code].min()))
        best: tuple[float, Association] | None = None
        for row in range(len(crossing.values)):
            inside, overall = mine[row] / max(1, mine.sum()), everybody[row] / counts.sum()
            if corrected[row, code] >= SIGNIFICANT or inside < LEAST_LIFT * overall or crossing.values[row] == OTHER:
                continue
            told = float(inside * np.log2(inside / overall))  # what the value adds to the information of the code
            association = Association(
                property=crossing.property,
                value=crossing.values[row],
                share=float(inside),
                share_of_all=float(overall),
                p=float(corrected[row, code]),
            )
            if best is None or told > best[0]:
                best = (told, association)
        if best is not None:
            found.append(best)
    associations = [association for _, association in sorted(found, key=lambda pair: -pair[0])]
    return CodeMeaning(
        level=level + 1,
        code=code,
        share=share,
        name=_name(associations),
        associations=associations,
        least_p=least,
        sentences=_typical(shown, level, code),
    )


def _name(associations: Sequence[Association]) -> str:
    """The most telling values in words."""
    told = [phrase(each.property, each.value) for each in associations if each.share >= 0.3][:_MOST_PHRASES]
    told = told or [phrase(each.property, each.value) for each in associations[:1]]
    return ", ".join(told) or "nothing that could be named"


def _typical(forms: Forms, level: int, code: int) -> list[str]:
    """The sentences nearest to the code: first those that are not long and do not begin alike."""
    places = np.flatnonzero(forms.codes[:, level] == code)
    near = [forms.sentences[place] for place in places[np.argsort(forms.distances(level)[places], kind="stable")]]
    different: dict[tuple[str, ...], str] = {}
    for sentence in near:
        words = sentence.lower().split()
        if len(words) <= _LONGEST:
            different.setdefault(tuple(words[:4]), sentence)
    return list(dict.fromkeys([*different.values(), *near]))[:_SENTENCES]
