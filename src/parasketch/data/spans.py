"""The vocabulary from which synthesised exemplars take their words: the spans of each tag and how often they occur.

Spans are counted as sequences of tokens, by hash and in flat arrays: a large corpus has millions of them.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parasketch.counter_rng import Bits, mix, random_bits
from parasketch.data.prepared import Ints, offsets, slices
from parasketch.text.tokenizer import Tokenizer

SPANS_PER_TAG = 5000
_BLOCK_SENTENCES = 50_000  # so much is looked at together; only different spans are kept
_CLINGING = ("n't", "n’t")


def span_vocabulary(
    *,
    tokens: Ints,
    token_offsets: Ints,
    slot_offsets: Ints,
    slot_tags: Ints,
    slot_ends: Ints,
    num_tags: int,
    tokenizer: Tokenizer,
) -> dict[str, NDArray[Any]]:
    """The spans of each tag that occur more than once, the most frequent ones, as arrays of `Arrays`."""
    found = [_Spans.none() for _ in range(num_tags)]
    for first in range(0, len(slot_offsets) - 1, _BLOCK_SENTENCES):
        bounds = slot_offsets[first : first + _BLOCK_SENTENCES + 1]
        slots = slice(bounds[0], bounds[-1])
        sentence_of_slot = first + np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        ends = token_offsets[sentence_of_slot] + slot_ends[slots]
        starts = np.concatenate([[token_offsets[first]], ends[:-1]])[: len(ends)]  # slots cover sentences without gaps
        exchangeable = np.flatnonzero((slot_tags[slots] > 0) & (ends > starts))
        starts, lengths = starts[exchangeable], (ends - starts)[exchangeable]
        tags, hashes = slot_tags[slots][exchangeable] - 1, _hash_spans(tokens, starts, lengths)
        for tag in range(num_tags):
            here = tags == tag
            found[tag] = found[tag].joined(
                _Spans(hashes[here], starts[here], lengths[here], np.ones(int(here.sum()), dtype=np.int64))
            )
    spans_by_tag: list[list[tuple[tuple[int, ...], int]]] = []
    for of_tag in found:
        counts = of_tag.counts
        best = np.lexsort((of_tag.starts, -counts))[:SPANS_PER_TAG]  # ties: the earlier span in the corpus
        best = best[counts[best] > 1]
        pieces = zip(of_tag.starts[best], of_tag.lengths[best], strict=True)
        texts = [tuple(tokens[start : start + length].tolist()) for start, length in pieces]
        spans_by_tag.append(_join_forms(texts, counts[best].tolist(), tokenizer))
    spans = [span for spans_of_tag in spans_by_tag for span in spans_of_tag]
    return {
        "tag_spans": offsets(np.array([len(spans_of_tag) for spans_of_tag in spans_by_tag], dtype=np.int64)),
        "span_counts": offsets(np.array([count for _, count in spans], dtype=np.int64)),
        "span_offsets": offsets(np.array([len(span) for span, _ in spans], dtype=np.int64)),
        "span_tokens": np.asarray([token for span, _ in spans for token in span], dtype=tokens.dtype),
    }


@dataclass(frozen=True)
class _Spans:
    """Different spans of a tag: the hash, the first place and the length of each, and how often it occurs."""

    hashes: Bits
    starts: Ints
    lengths: Ints
    counts: Ints

    @classmethod
    def none(cls) -> "_Spans":
        nothing = np.empty(0, dtype=np.int64)
        return cls(np.empty(0, dtype=np.uint64), nothing, nothing, nothing)

    def joined(self, later: "_Spans") -> "_Spans":
        """These and those of a later part of the corpus, which may repeat."""
        hashes, first, inverse = np.unique(
            np.concatenate([self.hashes, later.hashes]), return_index=True, return_inverse=True
        )
        counts = np.zeros(len(hashes), dtype=np.int64)
        np.add.at(counts, inverse, np.concatenate([self.counts, later.counts]))
        starts, lengths = (np.concatenate(pair)[first] for pair in zip(self._places, later._places, strict=True))
        return _Spans(hashes, starts, lengths, counts)

    @property
    def _places(self) -> tuple[Ints, Ints]:
        return self.starts, self.lengths


def _hash_spans(tokens: Ints, starts: Ints, lengths: Ints) -> Bits:
    """A 64-bit hash of each span's tokens and their order."""
    indices = slices(starts, lengths)
    first = np.cumsum(lengths) - lengths
    place = np.arange(len(indices)) - np.repeat(first, lengths)
    mixed = mix(random_bits(0, place) + tokens[indices].astype(np.uint64))
    return np.add.reduceat(mixed, first) if len(first) else mixed


def _join_forms(
    spans: list[tuple[int, ...]], counts: list[int], tokenizer: Tokenizer
) -> list[tuple[tuple[int, ...], int]]:
    """Give every span the form in which it may follow any word, and join those that become equal.

    A word after an opening quote or a hyphen has no space before it; elsewhere it would stick to the word before
    it. Only what is always written together with that word ("'s", "n't") stays without.
    """
    texts = tokenizer.decode_batch([list(span) for span in spans])
    joined: Counter[tuple[int, ...]] = Counter()
    for span, count, text, apart in zip(spans, counts, texts, tokenizer.encode_batch(texts), strict=True):
        clings = not text[:1].isalnum() or text in _CLINGING
        joined[span if clings else tuple(apart)] += count
    return joined.most_common()
