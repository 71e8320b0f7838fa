"""The vocabulary from which synthesised exemplars take their words: the spans of each tag and how often they occur.

Spans are counted as sequences of tokens, by hash and in flat arrays: a large corpus has millions of them.
"""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parasketch.counter_rng import Bits, mix, random_bits
from parasketch.data.prepared import Ints, offsets, slices
from parasketch.text.tokenizer import Tokenizer

SPANS_PER_TAG = 5000
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
    sentence_of_slot = np.repeat(np.arange(len(slot_offsets) - 1), np.diff(slot_offsets))
    ends = token_offsets[sentence_of_slot] + slot_ends
    starts = np.concatenate([[0], ends[:-1]])[: len(ends)]  # slots cover their sentences without gaps
    exchangeable = np.flatnonzero((slot_tags > 0) & (ends > starts))
    starts, lengths, tags = starts[exchangeable], (ends - starts)[exchangeable], slot_tags[exchangeable] - 1
    hashes = _hash_spans(tokens, starts, lengths)
    spans_by_tag: list[list[tuple[tuple[int, ...], int]]] = []
    for tag in range(num_tags):
        of_tag = np.flatnonzero(tags == tag)
        _, first, counts = np.unique(hashes[of_tag], return_index=True, return_counts=True)
        best = np.lexsort((first, -counts))[:SPANS_PER_TAG]  # ties: the earlier span in the corpus
        best = best[counts[best] > 1]
        places = of_tag[first[best]]
        texts = [tuple(tokens[starts[p] : starts[p] + lengths[p]].tolist()) for p in places]
        spans_by_tag.append(_join_forms(texts, counts[best].tolist(), tokenizer))
    spans = [span for spans_of_tag in spans_by_tag for span in spans_of_tag]
    return {
        "tag_spans": offsets(np.array([len(spans_of_tag) for spans_of_tag in spans_by_tag], dtype=np.int64)),
        "span_counts": offsets(np.array([count for _, count in spans], dtype=np.int64)),
        "span_offsets": offsets(np.array([len(span) for span, _ in spans], dtype=np.int64)),
        "span_tokens": np.asarray([token for span, _ in spans for token in span], dtype=tokens.dtype),
    }


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
