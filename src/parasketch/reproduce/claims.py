"""Plain sentences on what the numbers say: which claims of the paper hold here, and which do not."""

from collections.abc import Iterable

from parasketch.evaluate.bootstrap import PairedTest
from parasketch.evaluate.compare import format_p
from parasketch.reproduce.paper import ABLATIONS
from parasketch.reproduce.plan import PLAIN
from parasketch.reproduce.summary import Summary

LEVEL = 0.05


def claims(summary: Summary) -> list[str]:
    """Sentences on a part; none where nothing was tested."""
    return [*_sketches(summary), *_systems(summary), *_ablations(summary)]


def outcome(test: PairedTest) -> str:
    """Which of the two is better: `first`, `second`, or `open` where the interval holds 0."""
    if test.interval.low > 0:
        return "first"
    return "second" if test.interval.high < 0 else "open"


def _sketches(summary: Summary) -> Iterable[str]:
    """Are predicted sketches better than none?"""
    for data in _data(summary):
        test = summary.verdict(data, summary.against, f"{summary.against}, no codes")
        if test is not None:
            said = {
                "first": "predicted sketches are better than none",
                "second": "predicted sketches are worse than none",
                "open": "predicted sketches are no better than none",
            }[outcome(test)]
            yield f"{data}: {said} (iBLEU {_change(test.difference, test)})."


def _systems(summary: Summary) -> Iterable[str]:
    """Is HRQ-VAE above the other systems?"""
    runs = {row.run for row in summary.rows if row.way == PLAIN and row.run != summary.against}
    if any(test.against != summary.against for test in summary.tests):
        return  # a part in which runs have other opponents is no comparison of systems
    for data in _data(summary):
        tests = [one for one in summary.tests if one.data == data and one.system in runs]
        better = [one.system for one in tests if outcome(one.result) == "first"]
        others = [f"{one.system} ({one.result.difference:+.2f})" for one in tests if one.system not in better]
        if better:
            yield f"{data}: {summary.against} is above {', '.join(better)} in iBLEU."
        if others:
            yield f"{data}: {summary.against} is not above {', '.join(others)}."


def _ablations(summary: Summary) -> Iterable[str]:
    """Does each part of the model help, as the paper says?"""
    labels = {row.record.system: (row.run, row.way) for row in summary.rows}
    papers = {row.record.data: row.paper for row in summary.rows}
    for test in summary.tests:
        known = ABLATIONS.get(labels[test.system], {}).get(papers[test.data] or "")
        if known is None:
            continue
        said = {"first": "holds", "second": "does not hold: it is better so", "open": "cannot be told from chance here"}
        change = _change(-test.result.difference, test.result)
        yield (
            f"{test.data}, {test.system}: the paper loses {-known:.2f} iBLEU; here {change} "
            f"against {test.against}: the claim {said[outcome(test.result)]}."
        )


def _change(value: float, test: PairedTest) -> str:
    low, high = sorted((end if value == test.difference else -end) for end in (test.interval.low, test.interval.high))
    return f"{value:+.2f}, 95 % interval {low:+.2f} to {high:+.2f}, p {format_p(test)} at level {LEVEL:g}"


def _data(summary: Summary) -> list[str]:
    return list(dict.fromkeys(row.record.data for row in summary.rows))
