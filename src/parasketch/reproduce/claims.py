"""Plain sentences on what the numbers say: which claims of the paper hold here, and which do not."""

from collections.abc import Iterable

from parasketch.evaluate.bootstrap import PairedTest
from parasketch.evaluate.compare import format_p
from parasketch.reproduce.paper import ABLATIONS
from parasketch.reproduce.plan import PLAIN
from parasketch.reproduce.summary import Summary


def claims(summary: Summary) -> list[str]:
    """Sentences on a part; none where nothing was tested."""
    return [*_sketches(summary), *_systems(summary), *_ablations(summary)]


def outcome(test: PairedTest) -> str:
    """Which of the two is better: `first`, `second`, or `open` where the interval holds 0."""
    if test.interval.low > 0:
        return "first"
    return "second" if test.interval.high < 0 else "open"


def signed(value: float) -> str:
    """With two decimals and a sign; nothing is +0.00."""
    return f"{round(value, 2) + 0.0:+.2f}"


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
    if summary.same_way:
        return  # ablations are no comparison of systems
    for data in _data(summary):
        tests = [one for one in summary.tests if one.data == data and one.system in runs]
        better = [one.system for one in tests if outcome(one.result) == "first"]
        others = [f"{one.system} ({signed(one.result.difference)})" for one in tests if one.system not in better]
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
    sign = 1 if value == test.difference else -1
    low, high = sorted(sign * end for end in (test.interval.low, test.interval.high))
    return f"{signed(value)}, 95 % interval {signed(low)} to {signed(high)}, p {format_p(test)}"


def _data(summary: Summary) -> list[str]:
    return list(dict.fromkeys(row.record.data for row in summary.rows))
