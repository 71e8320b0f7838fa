"""Counters and histograms in Prometheus' text format: a page of code instead of a dependency."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_HELP = {
    "requests_total": ("counter", "Requests by path and status."),
    "request_seconds": ("histogram", "Time from a request's first byte to the end of its answer."),
    "batch_size": ("histogram", "Texts that were worked on together."),
    "queue": ("gauge", "Texts that wait."),
}
_BOUNDS: Mapping[str, Sequence[float]] = {
    "request_seconds": (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
    "batch_size": (1, 2, 4, 8, 16, 32, 64),
}

Labels = tuple[tuple[str, str], ...]


@dataclass
class _Histogram:
    counts: list[int]
    total: float = 0.0


@dataclass
class Metrics:
    """All figures of one server; used from its event loop only."""

    _values: dict[tuple[str, Labels], float] = field(default_factory=lambda: defaultdict(float))
    _histograms: dict[tuple[str, Labels], _Histogram] = field(default_factory=dict)

    def count(self, name: str, labels: Labels = ()) -> None:
        """One more."""
        self._values[name, labels] += 1

    def set(self, name: str, value: float) -> None:
        """A gauge."""
        self._values[name, ()] = value

    def observe(self, name: str, value: float, labels: Labels = ()) -> None:
        """One value of a histogram."""
        bounds = _BOUNDS[name]
        histogram = self._histograms.setdefault((name, labels), _Histogram([0] * (len(bounds) + 1)))
        histogram.counts[bisect_left(bounds, value)] += 1
        histogram.total += value

    def render(self) -> str:
        """The page that Prometheus reads."""
        lines = []
        for name, (kind, text) in _HELP.items():
            lines += [f"# HELP parasketch_{name} {text}", f"# TYPE parasketch_{name} {kind}"]
            for (which, labels), value in sorted(self._values.items()):
                if which == name:
                    lines.append(f"parasketch_{name}{_labels(labels)} {value:g}")
            for (which, labels), histogram in sorted(self._histograms.items(), key=lambda pair: pair[0]):
                if which == name:
                    lines += _histogram_lines(name, labels, histogram)
        return "\n".join(lines) + "\n"


def _histogram_lines(name: str, labels: Labels, histogram: _Histogram) -> list[str]:
    lines, so_far = [], 0
    for bound, count in zip([*map(str, _BOUNDS[name]), "+Inf"], histogram.counts, strict=True):
        so_far += count
        lines.append(f"parasketch_{name}_bucket{_labels((*labels, ('le', bound)))} {so_far}")
    lines.append(f"parasketch_{name}_sum{_labels(labels)} {histogram.total:g}")
    lines.append(f"parasketch_{name}_count{_labels(labels)} {so_far}")
    return lines


def _labels(labels: Labels) -> str:
    parts = [f'{name}="{value}"' for name, value in labels]  # names and values are ours: nothing to escape
    return "{" + ",".join(parts) + "}" if parts else ""
