"""Comparison of results: the paper's tables for any set of systems and data sets, and who is really better.

Results are only put side by side if that is fair: equal data under one name, equal settings of the scores,
one result for each system and data set.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from parasketch.errors import DataError, UsageError
from parasketch.evaluate.bootstrap import RESAMPLES, PairedTest, paired_bootstrap
from parasketch.evaluate.results import Record, Results
from parasketch.evaluate.scoring import Scores

SHOWN = {
    "bleu": ("BLEU", 2),
    "self_bleu": ("Self-BLEU", 2),
    "ibleu": ("iBLEU", 2),
    "mean_ibleu": ("mean iBLEU", 2),
    "p_bleu": ("P-BLEU", 2),
    "cosine_input": ("cosine to input", 3),
    "cosine_reference": ("cosine to reference", 3),
    "retrieval": ("retrieval@100 %", 1),
    "bertscore_input": ("BERTScore to input", 3),
    "bertscore_reference": ("BERTScore to reference", 3),
    "template_change": ("new template %", 1),
    "copies": ("copies %", 1),
    "empty": ("empty %", 1),
    "numbers_kept": ("numbers kept %", 1),
    "names_kept": ("names kept %", 1),
    "length_ratio": ("length ratio", 2),
    "distinct_1": ("distinct-1 %", 1),
    "distinct_2": ("distinct-2 %", 1),
}
"""Every score: its label and how many decimals are shown."""

_TABLE_1 = ("bleu", "self_bleu", "ibleu")
_TOP_K = ("mean_ibleu", "p_bleu")
_MEANING = ("cosine_input", "cosine_reference", "retrieval", "bertscore_input", "bertscore_reference")
_FORM = tuple(name for name in SHOWN if name not in _TABLE_1 + _TOP_K + _MEANING)
_BEST_OF = {"ibleu": max, "mean_ibleu": max, "p_bleu": min}
HUMAN = "people (first reference)"
R = TypeVar("R", bound=Record)


@dataclass(frozen=True, kw_only=True)
class Table:
    """Cells of text; `best` holds the (row, column) of those to stand out."""

    title: str
    header: list[str]
    rows: list[list[str]]
    best: set[tuple[int, int]] = field(default_factory=set)
    words: frozenset[int] = frozenset([0])
    """Columns that hold words, not numbers."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A paired test of `against` over `system` on one data set."""

    data: str
    against: str
    system: str
    result: PairedTest


def check_comparable(results: Sequence[Record]) -> None:
    """Refuse what cannot stand in one table."""
    seen: dict[tuple[str, str], Record] = {}
    by_data: dict[str, Record] = {}
    for one in results:
        first = by_data.setdefault(one.data, one)
        if first.data_sha256 != one.data_sha256:
            raise DataError(
                f"{first.system} and {one.system} were evaluated on different items of {one.data} "
                f"({first.items} and {one.items} items, hashes {first.data_sha256[:8]} and {one.data_sha256[:8]})",
                expected="the same data and the same --limit",
            )
        if (one.system, one.data) in seen:
            raise DataError(
                f"there are two results of {one.system} on {one.data}", expected="one; rename it with --name"
            )
        seen[one.system, one.data] = one
        if _settings(one) != _settings(results[0]):
            raise DataError(
                f"the scores of {results[0].system} and {one.system} were computed differently: "
                f"{_settings(results[0])} and {_settings(one)}"
            )


def paired_tests(
    results: Sequence[Results], against: str, *, resamples: int = RESAMPLES, seed: int = 0
) -> list[Verdict]:
    """Test one system against every other one, for iBLEU, on each data set that it has results on."""
    check_comparable(results)
    if against not in {one.system for one in results}:
        known = ", ".join(dict.fromkeys(one.system for one in results))
        raise UsageError(f"there are no results of {against!r} (there are {known})")
    tests = []
    for data, group in _by_data(results).items():
        ours = next((one for one in group if one.system == against), None)
        for one in group if ours is not None else []:
            if ours is not None and one is not ours:
                found = paired_bootstrap(ours.counts, one.counts, alpha=ours.alpha, resamples=resamples, seed=seed)
                tests.append(Verdict(data=data, against=against, system=one.system, result=found))
    return tests


def data_without(results: Sequence[Record], system: str) -> list[str]:
    """The data sets that a system has no results on."""
    return [data for data, group in _by_data(results).items() if all(one.system != system for one in group)]


def tables(results: Sequence[Record], tests: Sequence[Verdict] = ()) -> list[Table]:
    """Table 1 (BLEU, Self-BLEU, iBLEU), the top-k table, the other scores per data set, and the tests."""
    check_comparable(results)
    found = [_matrix("BLEU, Self-BLEU and iBLEU", results, _TABLE_1)]
    several = [one for one in results if one.candidates > 1]
    for k in sorted({one.candidates for one in several}):
        group = [one for one in several if one.candidates == k]
        found.append(_matrix(f"Top {k}: mean iBLEU and P-BLEU", group, _TOP_K))
    for data, group in _by_data(results).items():
        judged = [one for one in group if one.human]
        if judged:
            found.append(_meaning(data, judged))
        found.append(_listing(f"Form: {data}", group, _scored(group, _FORM)))
    for against in dict.fromkeys(test.against for test in tests):
        found.append(_test_table([test for test in tests if test.against == against]))
    return found


def format_score(name: str, value: float | None) -> str:
    """A value with the decimals of its score, or a dash."""
    return "–" if value is None else f"{value:.{SHOWN[name][1]}f}"


def _matrix(title: str, results: Sequence[Record], names: Sequence[str]) -> Table:
    """Systems down, data sets with their scores across."""
    by_data = _by_data(results)
    systems = list(dict.fromkeys(one.system for one in results))
    cells = {(one.system, one.data): one for one in results}
    columns = [(data, name) for data in by_data for name in names]
    rows = [[system, *(_cell(cells.get((system, data)), name) for data, name in columns)] for system in systems]
    best = {
        (systems.index(one.system), column)
        for column, (data, name) in enumerate(columns, start=1)
        for one in _best(by_data[data], name)
    }
    header = ["system", *(f"{data} {SHOWN[name][0]}" for data, name in columns)]
    return Table(title=title, header=header, rows=rows, best=best)


def _meaning(data: str, results: Sequence[Record]) -> Table:
    """The scores of meaning, and below them what people reach."""
    names = _scored(results, _MEANING)
    table = _listing(f"Meaning: {data}", results, names)
    table.rows.append([HUMAN, *(format_score(name, _value(results[0].human, name)) for name in names)])
    return table


def _listing(title: str, results: Sequence[Record], names: Sequence[str]) -> Table:
    """Systems down, scores across."""
    rows = [[one.system, *(_cell(one, name) for name in names)] for one in results]
    return Table(title=title, header=["system", *(SHOWN[name][0] for name in names)], rows=rows)


def _scored(results: Sequence[Record], names: Sequence[str]) -> list[str]:
    """Those of the scores that some system has."""
    return [name for name in names if any(name in one.scores for one in results)]


def _test_table(tests: Sequence[Verdict]) -> Table:
    first = tests[0]
    rows = [
        [
            test.data,
            test.system,
            f"{test.result.difference:+.2f}",
            f"{test.result.interval.low:+.2f} to {test.result.interval.high:+.2f}",
            format_p(test.result),
        ]
        for test in tests
    ]
    resamples = first.result.interval.resamples
    return Table(
        title=f"iBLEU of {first.against} minus iBLEU of the other system (paired bootstrap, {resamples} resamples)",
        header=["data", "system", "difference", "95 % interval", f"p ({first.against} is not better)"],
        rows=rows,
        words=frozenset([0, 1]),
    )


def format_p(test: PairedTest) -> str:
    """A p-value; one that no resample contradicted is smaller than the bootstrap can tell."""
    return f"{test.p_value:.4f}" if test.p_value > 0 else f"< {1 / test.interval.resamples:g}"


def _best(results: Sequence[Record], name: str) -> list[Record]:
    """The best of a column, ties included; upper bounds do not take part."""
    values = {
        one.system: round(value, SHOWN[name][1])
        for one in results
        if not one.uses_references and (value := one.score(name)) is not None
    }
    if name not in _BEST_OF or not values:
        return []
    best = _BEST_OF[name](values.values())
    return [one for one in results if values.get(one.system) == best]


def _cell(one: Record | None, name: str) -> str:
    return format_score(name, None if one is None else one.score(name))


def _value(scores: Scores, name: str) -> float | None:
    return scores[name].value if name in scores else None


def _by_data(results: Sequence[R]) -> dict[str, list[R]]:
    groups: dict[str, list[R]] = {}
    for one in results:
        groups.setdefault(one.data, []).append(one)
    return groups


def _settings(one: Record) -> str:
    """The part of iBLEU's signature that must agree: neither the number of references nor sacreBLEU's version."""
    parts = one.scores["ibleu"].signature.split("|")
    return "|".join(part for part in parts if not part.startswith(("nrefs:", "version:")))
