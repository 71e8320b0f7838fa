"""Labelled pairs as files, and those that people made: read, chosen and balanced.

A row is `{"a", "b", "same": 0 or 1, "source", "kind"}`. Most sources have only wrong pairs, mostly near-copies: beside
them stand right pairs from clusters of paraphrases, so that neither the topic nor much overlap gives the label away.
"""

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from parasketch.errors import DataError
from parasketch.files import read_lines, write_text
from parasketch.generate.wording import compared_words


@dataclass(frozen=True)
class MadePair:
    """One labelled pair and where it comes from."""

    a: str
    b: str
    same: bool
    source: str
    kind: str
    """"people" for a label of the source, "cluster" for two of one cluster, else the kind of mistake in B."""


def read_pairs(path: Path | str) -> Iterator[MadePair]:
    """The rows of a file of pairs; `kind` may be missing."""
    for number, line in read_lines(path):
        try:
            row = json.loads(line)
            yield MadePair(row["a"], row["b"], bool(row["same"]), row["source"], row.get("kind", "people"))
        except (ValueError, KeyError, TypeError) as error:
            raise DataError("not a labelled pair", path=path, line=number, expected="a, b, same and source") from error


def write_pairs(path: Path | str, pairs: Iterable[MadePair]) -> None:
    """Write a file that `read_pairs` reads."""
    with write_text(path) as stream:
        for pair in pairs:
            row = {"a": pair.a, "b": pair.b, "same": int(pair.same), "source": pair.source, "kind": pair.kind}
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")


def read_clusters(path: Path | str) -> list[list[str]]:
    """The sentences of every cluster; rows of dev and test files count as clusters of input and references."""
    clusters = []
    for _, line in read_lines(path):
        row = json.loads(line)
        clusters.append(list(row["sentences"] if "sentences" in row else [row["input"], *row["references"]]))
    return clusters


def word_overlap(a: str, b: str) -> float:
    """How many words two sentences share, as an F1; 1 for the same words in any order."""
    one, other = compared_words(a), compared_words(b)
    shared = sum(min(one.count(word), other.count(word)) for word in set(one))
    return 2 * shared / max(1, len(one) + len(other))


def choose(pairs: Sequence[MadePair], limits: dict[tuple[str, bool], int], seed: int) -> list[MadePair]:
    """At most so many random pairs of a source and label; sources that are not named are left out."""
    groups: dict[tuple[str, bool], list[MadePair]] = {}
    for pair in pairs:
        groups.setdefault((pair.source, pair.same), []).append(pair)
    chosen = []
    for group, limit in limits.items():
        members = groups.get(group, [])
        chosen += random.Random(f"{seed}/{group}").sample(members, min(limit, len(members)))
    return chosen
