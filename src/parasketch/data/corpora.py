"""The door to corpora: every format under its name, found out by itself where possible, and read as clusters.

Whatever the format, `read_clusters(path)` gives `Cluster`s and `read_eval(path)` gives `EvalItem`s. Pairs of
paraphrases become clusters by connected components; everything else is streamed.
"""

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from parasketch.data.clusters import merge_clusters
from parasketch.data.formats import (
    CLUSTER_KEYS,
    EVAL_KEYS,
    parse_json,
    read_cluster_jsonl,
    read_coco,
    read_eval_as_clusters,
    read_eval_jsonl,
    read_paralex,
    read_tabbed,
    read_text,
)
from parasketch.data.records import BadRows, Cluster, EvalItem, OnBad, Record, Source
from parasketch.data.tables import QUORA_COLUMNS, read_pairs, read_quora
from parasketch.delimited import split_header
from parasketch.errors import DataError, UsageError
from parasketch.files import raise_error, read_lines, write_text

__all__ = [
    "FORMATS",
    "BadRows",
    "Cluster",
    "Corpus",
    "EvalItem",
    "Format",
    "detect_format",
    "gather_clusters",
    "open_corpus",
    "read_clusters",
    "read_eval",
    "write_clusters",
    "write_eval",
]

AUTO = "auto"
_HEAD_LINES = 100
_COCO_KEYS = {"info", "images", "licenses", "annotations", "type"}
_ALIGNMENT = re.compile(r"(\d+-\d+( \d+-\d+)*)?")
_FIRST_KEY = re.compile(r'\s*\{\s*"(\w+)"\s*:')


@dataclass(frozen=True)
class Format:
    """A way to write a corpus down; the rows of a format of `pairs` are pairs and not whole clusters."""

    read: Callable[[Source], Iterator[Cluster]]
    description: str
    pairs: bool = False


FORMATS: dict[str, Format] = {
    "clusters": Format(read_cluster_jsonl, 'JSON lines {"sentences": [...]} or {"qs": [...]}'),
    "eval": Format(read_eval_as_clusters, 'JSON lines {"input", "references"} or {"sem_input", "paras"}'),
    "pairs": Format(read_pairs, "CSV or TSV with a header; two text columns, perhaps a label column", True),
    "quora": Format(read_quora, "quora_duplicate_questions.tsv, or train.tsv and dev.tsv of GLUE QQP", True),
    "coco": Format(read_coco, "captions_*.json of COCO 2014 and 2017"),
    "paralex": Format(read_paralex, "word_alignments.txt of Paralex: question, question, alignment", True),
    "tabs": Format(read_tabbed, "one cluster a line between tabs; WikiAnswers' q: and a: are understood"),
    "text": Format(read_text, "one sentence a line, a blank line between clusters"),
}


@dataclass(frozen=True)
class Corpus:
    """An open file whose format is known; its rows can be read once."""

    path: str
    format: str
    source: Source

    @property
    def holds_pairs(self) -> bool:
        """Whether a row is a pair and not a whole cluster."""
        return FORMATS[self.format].pairs

    def rows(self) -> Iterator[Cluster]:
        """The rows as they stand; a file without any is an error."""
        return self._not_empty(FORMATS[self.format].read(self.source))

    def items(self) -> Iterator[EvalItem]:
        """The items of an evaluation file; a file without any is an error."""
        return self._not_empty(read_eval_jsonl(self.source))

    def _not_empty(self, records: Iterator[Record]) -> Iterator[Record]:
        empty = True
        for record in records:
            empty = False
            yield record
        if empty:
            raise DataError("holds no clusters", path=self.path, expected=FORMATS[self.format].description)


def open_corpus(
    path: Path | str,
    format: str = AUTO,
    *,
    on_bad: OnBad = raise_error,
    text_columns: tuple[str, str] | None = None,
    label_column: str | None = None,
) -> Corpus:
    """Open a corpus (`-` is standard input) and find out its format, unless told."""
    if format not in (AUTO, *FORMATS):
        raise UsageError(f"unknown format {format!r}; there are {', '.join(FORMATS)}")
    if format == AUTO and (text_columns or label_column):
        format = "pairs"
    if format != "pairs" and (text_columns or label_column):
        raise UsageError(f"columns can only be named for the format pairs, not for {format}")
    lines = read_lines(path, on_bad)
    head = list(itertools.islice(lines, _HEAD_LINES))
    source = Source(
        name=str(path),
        lines=itertools.chain(head, lines),
        on_bad=on_bad,
        text_columns=text_columns,
        label_column=label_column,
    )
    return Corpus(str(path), _detect(str(path), head) if format == AUTO else format, source)


def detect_format(path: Path | str) -> str:
    """The name of a file's format, told from its first lines and its ending."""
    return open_corpus(path).format


def gather_clusters(corpora: Iterable[Corpus], *, merge: bool = False) -> Iterator[Cluster]:
    """The clusters of all corpora: whole clusters as they come, then what the pairs of all files join to.

    With `merge`, clusters that share a sentence are joined as well, within and across files.
    """
    pooled: list[Cluster] = []
    for corpus in corpora:
        if corpus.holds_pairs or merge:
            # Joining at once after each file keeps one copy of a sentence and not one for every pair.
            pooled = merge_clusters(itertools.chain(pooled, corpus.rows()))
        else:
            yield from corpus.rows()
    yield from pooled


def read_clusters(path: Path | str, format: str = AUTO, *, on_bad: OnBad = raise_error) -> Iterator[Cluster]:
    """The clusters of a file in any format; bad rows go to `on_bad`."""
    return gather_clusters([open_corpus(path, format, on_bad=on_bad)])


def read_eval(path: Path | str, *, on_bad: OnBad = raise_error) -> Iterator[EvalItem]:
    """The items of an evaluation file, in order."""
    corpus = open_corpus(path, on_bad=on_bad)
    if corpus.format != "eval":
        hint = f"{FORMATS['eval'].description}; `parasketch data convert --to eval` makes it"
        raise DataError(f"not an evaluation file but {corpus.format}", path=path, expected=hint)
    return corpus.items()


def write_clusters(path: Path | str, clusters: Iterable[Cluster]) -> None:
    """Write clusters as JSON lines; the file appears whole or not at all."""
    with write_text(path) as stream:
        for cluster in clusters:
            print(json.dumps({"sentences": cluster.sentences}, ensure_ascii=False), file=stream)


def write_eval(path: Path | str, items: Iterable[EvalItem]) -> None:
    """Write evaluation items as JSON lines; the file appears whole or not at all."""
    with write_text(path) as stream:
        for item in items:
            row = {"input": item.input, "references": item.references}
            print(json.dumps(row, ensure_ascii=False), file=stream)


def _detect(path: str, head: list[tuple[int, str]]) -> str:
    filled = [(number, line) for number, line in head if line.strip()]
    if not filled:
        raise DataError("is empty", path=path, expected="a corpus")
    number, line = filled[0]
    if line.lstrip().startswith("{"):
        return _detect_json(path, number, line)
    ending = "".join(Path(path).suffixes[-2:]).removesuffix(".gz").rpartition(".")[2].lower()
    if set(QUORA_COLUMNS) <= set(_columns(line)):
        return "quora"
    if ending in ("csv", "tsv"):
        return "pairs"
    if "\t" in line:
        columns = line.split("\t")
        return "paralex" if len(columns) == 3 and _ALIGNMENT.fullmatch(columns[2].strip()) else "tabs"
    if len(filled) < len(head) or len(head) < _HEAD_LINES:
        return "text"
    raise DataError("no blank line between clusters", path=path, expected=_expected_formats())


def _detect_json(path: str, number: int, line: str) -> str:
    """Told from the first key where that is enough: the first line of a COCO file can be the whole of it."""
    first = _FIRST_KEY.match(line)
    keys = {first[1]} if first else set[str]()
    if keys & _COCO_KEYS or line.strip() == "{":
        return "coco"
    if not keys & set(CLUSTER_KEYS):
        try:
            keys = set(parse_json(line))
        except DataError as error:
            raise error.at(path, number) from None
    if keys & set(CLUSTER_KEYS):
        return "clusters"
    if any(set(names) <= keys for names in EVAL_KEYS):
        return "eval"
    problem = f"a JSON object with the keys {', '.join(sorted(keys)) or '(none)'}"
    raise DataError(problem, path=path, line=number, expected=_expected_formats())


def _columns(line: str) -> list[str]:
    try:
        return split_header(line)[1]
    except DataError:
        return []


def _expected_formats() -> str:
    return f"one of the formats {', '.join(FORMATS)}; name it with --format"
