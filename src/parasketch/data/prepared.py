"""A prepared corpus: a directory of flat arrays that training reads through memory maps.

`prepare` writes it and `Triples` draws from it. Nothing in it is an object per sentence: whatever belongs to
sentence i is a slice of a flat array between two entries of an offsets array, so a corpus opens at once, is shared
between processes by the operating system, and may be larger than the memory.
"""

import functools
import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parasketch.config import DataConfig
from parasketch.errors import DataError
from parasketch.text.tokenizer import Tokenizer

FORMAT = 1
MANIFEST, TOKENIZER, TEMPLATES = "manifest.json", "tokenizer.json", "templates.txt"

Ints = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Ragged:
    """Sequences of different lengths, end to end, without special tokens."""

    tokens: NDArray[np.int32]
    """[sum of lengths]"""
    lengths: NDArray[np.int32]
    """[B]"""

    def rows(self) -> list[NDArray[np.int32]]:
        """The B sequences, as views."""
        return np.split(self.tokens, np.cumsum(self.lengths)[:-1]) if len(self.lengths) else []


@dataclass(frozen=True, kw_only=True)
class Arrays:
    """S sentences in cluster order, C clusters, T templates, G groups, L slots, K exchangeable tags, P spans.

    A group is the members of one cluster that share a template. Offsets have one entry more than they have pieces.
    """

    tokens: Ints
    """[all tokens] subword ids, without special tokens"""
    token_offsets: Ints
    """[S + 1] into `tokens`"""
    cluster_offsets: Ints
    """[C + 1] into the sentences"""
    cluster_ids: Ints
    """[S]"""
    text_ids: Ints
    """[S] equal for sentences whose normalised texts are equal"""
    template_ids: Ints
    """[S] line of the template in templates.txt, from 0"""
    template_offsets: Ints
    """[T + 1] into `template_members`"""
    template_members: Ints
    """[S] sentences by (template, sentence)"""
    group_ids: Ints
    """[S]"""
    group_offsets: Ints
    """[G + 1] into `group_members`; groups are ordered by (cluster, template)"""
    group_members: Ints
    """[S] sentences by (cluster, template, sentence)"""
    group_positions: Ints
    """[G] where the group begins in `template_members`, in which it is contiguous too"""
    group_has_exemplar: NDArray[np.bool_]
    """[G] whether another cluster has a sentence with this template and a text of its own"""
    pair_offsets: Ints
    """[S + 1] running number of the (source, target) pairs with different templates, by source"""
    slot_offsets: Ints
    """[S + 1] into the slots"""
    slot_tags: Ints
    """[L] 0: stays in a synthesised exemplar (literal or preserved); k + 1: spans of tag k replace it"""
    slot_ends: Ints
    """[L] where the slot ends, in tokens from the start of its sentence"""
    span_counts: Ints
    """[P + 1] running number of occurrences, over the spans of all tags, tag by tag"""
    span_offsets: Ints
    """[P + 1] into `span_tokens`"""
    span_tokens: Ints
    """[all tokens of spans]"""
    tag_spans: Ints
    """[K + 1] into the spans"""

    @classmethod
    def names(cls) -> list[str]:
        """The names of the arrays, which are also the names of their files."""
        return [field.name for field in fields(cls)]


class Prepared:
    """Read access to what `prepare` wrote; the arrays are memory-mapped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        manifest = read_manifest(path)
        if manifest is None:
            raise DataError(
                "not a prepared corpus of this version",
                path=path,
                expected="a directory made by `parasketch prepare`",
            )
        self.manifest = manifest
        try:
            self.arrays = Arrays(**{name: _map(path / f"{name}.npy") for name in Arrays.names()})
        except (OSError, EOFError, ValueError) as error:
            raise DataError(
                f"a damaged prepared corpus: {error}", path=path, expected="a new `parasketch prepare`"
            ) from error

    @functools.cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer whose ids the arrays hold."""
        return Tokenizer.load(self.path / TOKENIZER)

    @functools.cached_property
    def templates(self) -> list[str]:
        """The templates as strings, for display; [T]."""
        return (self.path / TEMPLATES).read_text("utf-8").split("\n")[:-1]

    @property
    def max_tokens(self) -> int:
        """No sentence and no exemplar has more tokens."""
        return int(self.manifest["settings"]["max_tokens"])

    def data_config(self, drawing: DataConfig) -> DataConfig:
        """The settings it was prepared with; `drawing` says how examples are drawn from it."""
        settings, is_bert = self.manifest["settings"], self.tokenizer.is_bert
        return replace(
            drawing,
            tokenizer="bert" if is_bert else "subword",
            vocab_size=self.tokenizer.vocab_size,
            bert_vocab=TOKENIZER if is_bert else None,
            max_tokens=self.max_tokens,
            templates=settings["templates"],
            tagger=settings["tagger"],
        )

    def summary(self) -> dict[str, str]:
        """The counts of the manifest, for people."""
        counts = dict(self.manifest["counts"])
        share = counts.pop("share_with_real_exemplar")
        dropped = counts.pop("dropped_sentences")
        lines = {name.replace("_", " "): f"{count:,}" for name, count in counts.items()}
        lines |= {f"sentences left out, {why.replace('_', ' ')}": f"{count:,}" for why, count in dropped.items()}
        return lines | {"sentences with a real exemplar": f"{share:.1%}"}

    @property
    def num_sentences(self) -> int:
        """How many sentences there are (S)."""
        return len(self.arrays.cluster_ids)

    @property
    def num_clusters(self) -> int:
        """How many clusters there are (C)."""
        return len(self.arrays.cluster_offsets) - 1

    def cluster_of(self, sentence: int) -> int:
        """The cluster of a sentence."""
        return int(self.arrays.cluster_ids[sentence])

    def cluster_sentences(self, cluster: int) -> range:
        """The sentences of a cluster."""
        return range(int(self.arrays.cluster_offsets[cluster]), int(self.arrays.cluster_offsets[cluster + 1]))

    def sentence_tokens(self, sentence: int) -> NDArray[np.int32]:
        """The subword ids of a sentence, without special tokens."""
        start, end = self.arrays.token_offsets[sentence : sentence + 2]
        return self.arrays.tokens[start:end].astype(np.int32)

    def sentences(self, sentences: Ints) -> Ragged:
        """The subword ids of several sentences."""
        starts = self.arrays.token_offsets[sentences]
        lengths = self.arrays.token_offsets[sentences + 1] - starts
        return Ragged(self.arrays.tokens[slices(starts, lengths)].astype(np.int32), lengths.astype(np.int32))

    def text(self, sentence: int) -> str:
        """A sentence as the tokenizer gives it back."""
        return self.tokenizer.decode(self.sentence_tokens(sentence).tolist())

    def template(self, sentence: int) -> str:
        """The template of a sentence."""
        return self.templates[int(self.arrays.template_ids[sentence])]


def offsets(lengths: Ints) -> NDArray[np.int64]:
    """Where pieces of these lengths begin when they lie end to end, and where the last one ends; [n + 1]."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def slices(starts: Ints, lengths: Ints) -> NDArray[np.int64]:
    """The indices starts[0], starts[0] + 1, ..., then those of the next slice; [sum of lengths]."""
    ends = np.cumsum(lengths, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    indices: NDArray[np.int64] = np.arange(total) + np.repeat(starts - (ends - lengths), lengths)
    return indices


def read_manifest(path: Path) -> dict[str, Any] | None:
    """The manifest of a prepared corpus, or None where there is none that this version understands."""
    try:
        manifest = json.loads((path / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and manifest.get("format") == FORMAT else None


def _map(path: Path) -> NDArray[Any]:
    # The plain view of a memory map is indexed much faster than the map itself.
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
