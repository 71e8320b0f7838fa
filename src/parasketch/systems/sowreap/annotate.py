"""Orders and rules of a corpus, chunk by chunk: what parsing and aligning the sentences of its clusters gives.

Nothing that comes back is an object per sentence or per pair, but flat arrays, as in a prepared corpus: they are kept
on the disk and read again by the next run.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parasketch.counter_rng import permute, random_bits
from parasketch.data.prepared import Prepared
from parasketch.systems.sowreap.orders import aligned_places, displacement, token_ranks, word_order
from parasketch.systems.sowreap.parser import Parser
from parasketch.systems.sowreap.reading import Reader, Reading
from parasketch.systems.sowreap.rules import Rule, Unit, X, align_nodes, is_content, rules_of
from parasketch.systems.sowreap.tags import Tags
from parasketch.systems.sowreap.vectors import WordVectors, similarities

LEAST_RATIO = 0.5
"""Of the lengths of two sentences: paraphrases that differ more are left out."""


@dataclass(frozen=True, kw_only=True)
class OrderArrays:
    """P pairs of sentences, R rules. Every flat array comes with the lengths of its rows."""

    pairs: NDArray[np.int32]
    """[P, 2] sentences"""
    moved: NDArray[np.float32]
    """[P] how far content words move, 0 to 1"""
    ranks: NDArray[np.uint16]
    """[sum of rank_lengths] the rank of every subword, begin and end included: of the first sentence of a pair in the
    order of the second, then of the second in the order of the first"""
    rank_lengths: NDArray[np.int32]
    """[2 P]"""
    rule_tokens: NDArray[np.int32]
    """[sum of rule_lengths] subwords and gaps of a rule's source"""
    rule_tags: NDArray[np.int32]
    """[sum of rule_lengths] into `tags`"""
    rule_lengths: NDArray[np.int32]
    """[R]"""
    said_tokens: NDArray[np.int32]
    """[sum of said_lengths] subwords and gaps of what the target says"""
    said_lengths: NDArray[np.int32]
    """[R]"""
    inverted: NDArray[np.bool_]
    """[R] whether the target says Y before X"""
    tags: NDArray[np.str_]
    """names of tags and labels"""
    skipped: NDArray[np.int32]
    """[1] sentences whose parse and subwords do not fit each other"""

    @classmethod
    def join(cls, parts: Sequence["OrderArrays"]) -> "OrderArrays":
        """All parts, one after the other, with one list of tags in the order of the alphabet."""
        names = np.unique(np.concatenate([part.tags for part in parts])) if parts else np.array([], dtype="<U1")
        places = [np.searchsorted(names, part.tags) for part in parts]
        joined = {
            item.name: np.concatenate([getattr(part, item.name) for part in parts])
            for item in fields(cls)
            if item.name not in ("tags", "rule_tags", "skipped")
        }
        rule_tags = np.concatenate([place[part.rule_tags] for place, part in zip(places, parts, strict=True)])
        skipped = np.array([sum(int(part.skipped[0]) for part in parts)], dtype=np.int32)
        return cls(**joined, rule_tags=rule_tags.astype(np.int32), tags=names, skipped=skipped)


class Collector:
    """Takes pairs of readings, gives arrays."""

    def __init__(self, weights: NDArray[np.float32], tags: Tags, gaps: tuple[int, int]) -> None:
        """`weights` (vocabulary,) say what a subword counts for, `gaps` which tokens stand for X and Y."""
        self._weights, self._tags, self._gaps = weights, tags, gaps
        self._pairs: list[tuple[int, int]] = []
        self._moved: list[float] = []
        self._ranks: list[list[int]] = []
        self._sources: list[list[int]] = []
        self._source_tags: list[list[int]] = []
        self._targets: list[list[int]] = []
        self._inverted: list[bool] = []
        self.skipped = 0

    def add(self, first: tuple[int, Reading], second: tuple[int, Reading], words: NDArray[np.float32]) -> None:
        """Two paraphrases, each with its number, and the similarities of their words (n, m)."""
        (one, ours), (other, theirs) = first, second
        self._pairs.append((one, other))
        self._moved.append(max(displacement(words, _content(ours)), displacement(words.T, _content(theirs))))
        aligned = align_nodes(words, ours.parse, theirs.parse, (self._weigh(ours), self._weigh(theirs)))
        back = [(b, a) for a, b in aligned]
        for source, target, matrix, nodes in ((ours, theirs, words, aligned), (theirs, ours, words.T, back)):
            order = word_order(source.parse, aligned_places(matrix))
            self._ranks.append(token_ranks(order, source.owners))
            for rule in rules_of(source.parse, target.parse, nodes):
                self._add_rule(rule, source, target)

    def arrays(self) -> OrderArrays:
        """All that was added."""
        return OrderArrays(
            pairs=np.array(self._pairs, dtype=np.int32).reshape(-1, 2),
            moved=np.array(self._moved, dtype=np.float32),
            ranks=np.fromiter(itertools.chain.from_iterable(self._ranks), np.uint16),
            rank_lengths=_lengths(self._ranks),
            rule_tokens=np.fromiter(itertools.chain.from_iterable(self._sources), np.int32),
            rule_tags=np.fromiter(itertools.chain.from_iterable(self._source_tags), np.int32),
            rule_lengths=_lengths(self._sources),
            said_tokens=np.fromiter(itertools.chain.from_iterable(self._targets), np.int32),
            said_lengths=_lengths(self._targets),
            inverted=np.array(self._inverted, dtype=bool),
            tags=np.array(self._tags.names, dtype=np.str_),
            skipped=np.array([self.skipped], dtype=np.int32),
        )

    def _add_rule(self, rule: Rule, source: Reading, target: Reading) -> None:
        self._sources.append(phrase_tokens(source, rule.source, self._gaps))
        self._source_tags.append(self._tags.of(source, rule.source, rule.x, rule.y))
        self._targets.append(phrase_tokens(target, rule.target, self._gaps))
        self._inverted.append(rule.is_inverted)

    def _weigh(self, reading: Reading) -> NDArray[np.float32]:
        """What each word counts for: as much as its rarest subword."""
        return np.array([max(self._weights[ids], default=0.0) for ids in reading.word_tokens], dtype=np.float32)


def phrase_tokens(reading: Reading, units: Iterable[Unit], gaps: tuple[int, int]) -> list[int]:
    """The subwords of a phrase with gaps."""
    found: list[int] = []
    for unit in units:
        found += [gaps[unit != X]] if isinstance(unit, str) else reading.word_tokens[unit]
    return found


def token_weights(prepared: Prepared) -> NDArray[np.float32]:
    """How rare each subword is: log(sentences / sentences with it), (vocabulary,)."""
    lengths = np.diff(prepared.arrays.token_offsets)
    owners, size = np.repeat(np.arange(len(lengths)), lengths), prepared.tokenizer.vocab_size
    seen = np.unique(owners * size + np.asarray(prepared.arrays.tokens, dtype=np.int64)) % size
    counts = np.bincount(seen, minlength=size)
    return np.log((1 + len(lengths)) / (1 + counts)).astype(np.float32)


@dataclass(frozen=True)
class Recipe:
    """What a worker process needs to annotate."""

    corpus: Path
    parser: Parser
    vectors: WordVectors
    max_pairs: int
    """Of a cluster."""

    def annotator(self) -> "Annotator":
        """A worker's own."""
        return Annotator(Prepared(self.corpus), self)


class Annotator:
    """Annotates runs of clusters; the same clusters always give the same arrays."""

    def __init__(self, prepared: Prepared, recipe: Recipe) -> None:
        self._prepared, self._recipe = prepared, recipe
        self._weights = token_weights(prepared)
        self._reader = Reader(prepared.tokenizer, recipe.parser)

    def __call__(self, clusters: range) -> OrderArrays:
        """The pairs inside these clusters."""
        offsets = self._prepared.arrays.cluster_offsets
        numbers = list(range(int(offsets[clusters.start]), int(offsets[clusters.stop])))
        tokens = [self._prepared.sentence_tokens(number).tolist() for number in numbers]
        readings = self._reader(self._prepared.tokenizer.decode_batch(tokens), tokens)
        pairs = [pair for cluster in clusters for pair in self._pairs(cluster)]
        size = self._prepared.tokenizer.vocab_size
        collector = Collector(self._weights, Tags(), (size, size + 1))
        add_pairs(collector, self._recipe.vectors, dict(zip(numbers, readings, strict=True)), pairs)
        return collector.arrays()

    def _pairs(self, cluster: int) -> list[tuple[int, int]]:
        """At most so many different pairs of a cluster's sentences, the same ones every time."""
        members = self._prepared.cluster_sentences(cluster)
        size = len(members)
        count = size * (size - 1) // 2
        if not count:
            return []
        chosen = permute(np.arange(min(count, self._recipe.max_pairs)), count, random_bits(0, cluster))
        every = list(itertools.combinations(members, 2))
        return [every[place] for place in sorted(chosen.tolist())]


def add_pairs(
    collector: Collector,
    vectors: WordVectors,
    readings: dict[int, Reading | None],
    pairs: Iterable[tuple[int, int]],
) -> None:
    """Align pairs of texts, by their numbers, and collect what follows; pairs of very unlike lengths are left out."""
    known = {number: reading for number, reading in readings.items() if reading is not None}
    collector.skipped += len(readings) - len(known)
    pieces = dict(zip(known, vectors.of(list(known.values())), strict=True))
    for first, second in pairs:
        if first not in known or second not in known:
            continue
        shape = len(known[first].parse), len(known[second].parse)
        if min(shape) >= LEAST_RATIO * max(shape):
            words = similarities(pieces[first], pieces[second], shape=shape)
            collector.add((first, known[first]), (second, known[second]), words)


def _content(reading: Reading) -> list[bool]:
    """Which words say what a sentence is about."""
    return [is_content(word) for word in reading.parse.words]


def _lengths(rows: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    return np.array([len(row) for row in rows], dtype=np.int32)
