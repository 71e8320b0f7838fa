"""What is in the files of a corpus, and what they share that they should not: sizes, lengths, repeats, leaks.

A leak is a sentence (normalised) of one file that occurs in another. Files are taken as training data before
evaluation data, so a leak reads "31 % of the test inputs occur in train" in whatever order they were given.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from parasketch.data.corpora import Corpus, gather_clusters
from parasketch.text.normalise import normalise

_EXAMPLES = 3


@dataclass(frozen=True)
class Share:
    """So many of so many."""

    count: int
    total: int

    @property
    def percent(self) -> str:
        """Such as `31.2 %`; what is there is never rounded to nothing."""
        percent = 100 * self.count / self.total
        return f"{percent:.1f} %" if percent >= 0.1 or not self.count else "less than 0.1 %"


@dataclass(frozen=True)
class WordCounts:
    """How many words (between spaces) the sentences have; `p5` is the 5th percentile, by nearest rank."""

    mean: float
    p5: int
    median: int
    p95: int
    longest: int


@dataclass(frozen=True)
class FileReport:
    """One file; `repeats` are sentences that occurred before, in the same row or in another one."""

    path: str
    name: str
    format: str
    rows: int
    sentences: int
    words: WordCounts
    repeats_in_row: int
    repeats_between_rows: int


@dataclass(frozen=True)
class Leak:
    """What of `held_out` occurs in `seen`: inputs (of evaluation files only) and different sentences."""

    seen: str
    held_out: str
    inputs: Share | None
    sentences: Share
    examples: tuple[str, ...]

    def summary(self) -> tuple[str, ...]:
        """One line each for what is shared: inputs first, then all sentences."""
        shares = (("inputs", self.inputs), ("sentences", self.sentences))
        return tuple(
            f"{share.percent} of {self.held_out} {what} occur in {self.seen} ({share.count:,} of {share.total:,})"
            for what, share in shares
            if share is not None and share.count
        )


@dataclass(frozen=True)
class CheckReport:
    """All files, and the leaks between them (none is as it should be)."""

    files: tuple[FileReport, ...]
    leaks: tuple[Leak, ...]


@dataclass(frozen=True)
class _Content:
    """A file's report and what is behind it: normalised inputs, and normalised sentences as written."""

    report: FileReport
    inputs: list[str]
    sentences: dict[str, str]


def check_corpora(corpora: Sequence[Corpus]) -> CheckReport:
    """Read every corpus once and compare each with each."""
    names = _short_names([corpus.path for corpus in corpora])
    contents = [_read(corpus, name) for corpus, name in zip(corpora, names, strict=True)]
    training_first = sorted(contents, key=lambda content: content.report.format == "eval")
    leaks = (_compare(seen, held_out) for seen, held_out in combinations(training_first, 2))
    return CheckReport(
        files=tuple(content.report for content in contents),
        leaks=tuple(leak for leak in leaks if leak.sentences.count),
    )


def _read(corpus: Corpus, name: str) -> _Content:
    rows = repeats_in_row = repeats_between_rows = 0
    lengths: Counter[int] = Counter()
    inputs: list[str] = []
    sentences: dict[str, str] = {}
    for row in gather_clusters([corpus]):
        rows += 1
        lengths.update(len(sentence.split()) for sentence in row.sentences)
        keys = [normalise(sentence) for sentence in row.sentences]
        distinct = dict(zip(reversed(keys), reversed(row.sentences), strict=True))
        repeats_in_row += len(keys) - len(distinct)
        repeats_between_rows += sum(key in sentences for key in distinct)
        for key, sentence in distinct.items():
            sentences.setdefault(key, sentence)
        if corpus.format == "eval":
            inputs.append(keys[0])
    report = FileReport(
        path=corpus.path,
        name=name,
        format=corpus.format,
        rows=rows,
        sentences=lengths.total(),
        words=_word_counts(lengths),
        repeats_in_row=repeats_in_row,
        repeats_between_rows=repeats_between_rows,
    )
    return _Content(report, inputs, sentences)


def _compare(seen: _Content, held_out: _Content) -> Leak:
    shared_inputs = [key for key in held_out.inputs if key in seen.sentences]
    shared = [key for key in held_out.sentences if key in seen.sentences]
    examples = dict.fromkeys([*shared_inputs, *shared])
    return Leak(
        seen=seen.report.name,
        held_out=held_out.report.name,
        inputs=Share(len(shared_inputs), len(held_out.inputs)) if held_out.inputs else None,
        sentences=Share(len(shared), len(held_out.sentences)),
        examples=tuple(held_out.sentences[key] for key in list(examples)[:_EXAMPLES]),
    )


def _word_counts(lengths: Counter[int]) -> WordCounts:
    total = lengths.total()

    def percentile(percent: int) -> int:
        rank, passed = max(1, -(-total * percent // 100)), 0
        for length in sorted(lengths):
            passed += lengths[length]
            if passed >= rank:
                return length
        return 0

    return WordCounts(
        mean=round(sum(length * count for length, count in lengths.items()) / total, 2),
        p5=percentile(5),
        median=percentile(50),
        p95=percentile(95),
        longest=max(lengths),
    )


def _short_names(paths: list[str]) -> list[str]:
    """`DATA/qqp/train.jsonl.gz` is `train`, unless two files would have the same name."""
    names = [Path(path).name.removesuffix(".gz").rsplit(".", 1)[0] for path in paths]
    return paths if len(set(names)) < len(names) else names
