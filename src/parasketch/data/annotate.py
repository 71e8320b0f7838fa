"""One chunk of clusters as flat arrays: what `prepare` hands to its worker processes.

Sentences are cleaned, tokenised, tagged and cut into the slots of their templates, and every subword is given to
the slot in which its first character lies. What comes back to the parent are arrays and a list of different
templates, not an object per sentence: it travels fast and takes no room.
"""

import hashlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parasketch.text.normalise import normalise
from parasketch.text.tagger import Tagger
from parasketch.text.templates import PRESERVED_TAGS, Slot, TemplateKind, build_template, template_text
from parasketch.text.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class AnnotatedChunk:
    """S sentences of C clusters, L slots, T different templates."""

    tokens: NDArray[np.int32]
    token_counts: NDArray[np.int32]
    """[S]"""
    cluster_sizes: NDArray[np.int32]
    """[C] sentences that are left; no cluster is empty"""
    texts: NDArray[np.uint64]
    """[S] hashes of the normalised texts"""
    template_texts: list[str]
    """[T] in the order in which they occur"""
    template_numbers: NDArray[np.int32]
    """[S] into `template_texts`"""
    slot_counts: NDArray[np.int32]
    """[S]"""
    slot_tags: NDArray[np.int16]
    """[L] 0: stays in a synthesised exemplar; k + 1: has the tag `tags[k]`"""
    slot_ends: NDArray[np.int32]
    """[L] in tokens from the start of the sentence"""
    tags: list[str]
    dropped: Counter[str]
    """How many sentences were left out, and why"""


@dataclass(frozen=True, kw_only=True)
class Annotator:
    """Turns clusters into arrays; the same clusters always give the same arrays."""

    tokenizer: Tokenizer
    tagger: Tagger
    templates: TemplateKind
    max_tokens: int

    def __call__(self, clusters: Sequence[Sequence[str]]) -> AnnotatedChunk:
        """Annotate the sentences that are no duplicates in their cluster, not empty and not too long."""
        dropped: Counter[str] = Counter(duplicate=0, empty=0, too_long=0)
        cluster_sizes: list[int] = []
        sentences: list[str] = []
        texts: list[int] = []
        ids: list[list[int]] = []
        starts: list[list[int]] = []
        for cluster in clusters:
            size_before = len(sentences)
            distinct: dict[str, str] = {}
            for sentence in cluster:
                distinct.setdefault(normalise(sentence), sentence)
            dropped["duplicate"] += len(cluster) - len(distinct)
            encoded = self.tokenizer.encode_with_offsets(list(distinct.values()))
            for (key, sentence), (sentence_ids, spans) in zip(distinct.items(), encoded, strict=True):
                if not sentence_ids:
                    dropped["empty"] += 1
                elif len(sentence_ids) > self.max_tokens:
                    dropped["too_long"] += 1
                else:
                    sentences.append(sentence)
                    texts.append(text_hash(key))
                    ids.append(sentence_ids)
                    starts.append([start for start, _ in spans])
            if len(sentences) > size_before:
                cluster_sizes.append(len(sentences) - size_before)
        slots = [build_template(tokens, self.templates) for tokens in self.tagger.tag(sentences)]
        return _assemble(slots, ids, starts, cluster_sizes, texts, dropped)


def _assemble(
    slots: list[tuple[Slot, ...]],
    ids: list[list[int]],
    starts: list[list[int]],
    cluster_sizes: list[int],
    texts: list[int],
    dropped: Counter[str],
) -> AnnotatedChunk:
    templates: dict[str, int] = {}
    tags: dict[str, int] = {}
    template_numbers, slot_counts, slot_tags, slot_ends = [], [], [], []
    for sentence_slots, sentence_starts in zip(slots, starts, strict=True):
        # A file of templates has one a line, whatever a tagger takes for a word.
        text = " ".join(template_text(sentence_slots).split())
        template_numbers.append(templates.setdefault(text, len(templates)))
        slot_counts.append(max(1, len(sentence_slots)))
        slot_tags += [_tag_number(slot, tags) for slot in sentence_slots] or [0]
        slot_ends += [bisect_left(sentence_starts, slot.end) for slot in sentence_slots[:-1]]
        slot_ends.append(len(sentence_starts))
    return AnnotatedChunk(
        tokens=np.fromiter((token for sentence in ids for token in sentence), dtype=np.int32),
        token_counts=np.array([len(sentence) for sentence in ids], dtype=np.int32),
        cluster_sizes=np.array(cluster_sizes, dtype=np.int32),
        texts=np.array(texts, dtype=np.uint64),
        template_texts=list(templates),
        template_numbers=np.array(template_numbers, dtype=np.int32),
        slot_counts=np.array(slot_counts, dtype=np.int32),
        slot_tags=np.array(slot_tags, dtype=np.int16),
        slot_ends=np.array(slot_ends, dtype=np.int32),
        tags=list(tags),
        dropped=dropped,
    )


def _tag_number(slot: Slot, tags: dict[str, int]) -> int:
    if slot.literal or slot.label in PRESERVED_TAGS:
        return 0
    return tags.setdefault(slot.label, len(tags)) + 1


def text_hash(text: str) -> int:
    """64 bits that stand for a text: two of a million texts are confused with a chance of 3e-8."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
