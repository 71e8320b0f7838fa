"""Exemplars: sentences of another meaning in a wanted form.

The wanted form is the template of some sentence, the model. A real exemplar is a sentence of another cluster
that has this template. Most templates occur only once, so most exemplars are synthesised: the model's own
literals stay, and every other span gives way to a span of the same tag from the whole corpus. Both are drawn for
many models at once, in token space, and are pure functions of the keys that come with the models.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parasketch.counter_rng import Bits, below, permute, random_bits
from parasketch.data.prepared import Ints, Prepared, Ragged, slices

_ATTEMPTS = 32  # enough unless nearly all that have the template are doubles
_REAL, _SPAN = 0, 1  # streams of random numbers


@dataclass(frozen=True)
class Exemplars:
    """One exemplar for each of B models."""

    tokens: Ragged
    sentences: NDArray[np.int64]
    """[B] the sentence of the corpus that is the exemplar, or -1 where it is synthesised"""

    @property
    def real(self) -> NDArray[np.bool_]:
        """[B] whether it is a sentence of the corpus."""
        return self.sentences >= 0


class ExemplarDrawer:
    """Draws exemplars from a prepared corpus."""

    def __init__(self, prepared: Prepared) -> None:
        self._arrays = prepared.arrays
        self._max_tokens = prepared.max_tokens
        self._num_texts = int(self._arrays.text_ids.max(initial=0)) + 1
        self._texts_of_clusters = np.sort(self._text_in_cluster(self._arrays.cluster_ids, self._arrays.text_ids))

    def draw(self, models: Ints, keys: Bits) -> Exemplars:
        """An exemplar for each model sentence; `models` and `keys` (random bits): [B]."""
        chosen = self._real(models, keys)
        real = chosen >= 0
        return Exemplars(self._write(np.where(real, chosen, models), real, keys), chosen)

    def _real(self, models: Ints, keys: Bits) -> NDArray[np.int64]:
        """A sentence of another cluster with the template of the model, or -1; uniform, by rejection; [B].

        A sentence whose text also stands in the model's cluster is no exemplar: it may be the target itself.
        """
        a = self._arrays
        chosen = np.full(len(models), -1, dtype=np.int64)
        open_rows = np.flatnonzero(a.group_has_exemplar[a.group_ids[models]])
        for attempt in range(_ATTEMPTS):
            if not len(open_rows):
                break
            rows = models[open_rows]
            groups, templates = a.group_ids[rows], a.template_ids[rows]
            group_sizes = a.group_offsets[groups + 1] - a.group_offsets[groups]
            starts, ends = a.template_offsets[templates], a.template_offsets[templates + 1]
            bits = random_bits(attempt, _REAL, keys[open_rows])
            positions = starts + below(bits, ends - starts - group_sizes)
            # Step over the model's own group, which is contiguous among the members of the template.
            positions += np.where(positions >= a.group_positions[groups], group_sizes, 0)
            candidates = a.template_members[positions].astype(np.int64)
            known = self._text_in_cluster(a.cluster_ids[rows], a.text_ids[candidates])
            places = np.searchsorted(self._texts_of_clusters, known)
            places = np.minimum(places, len(self._texts_of_clusters) - 1)
            accepted = self._texts_of_clusters[places] != known
            chosen[open_rows[accepted]] = candidates[accepted]
            open_rows = open_rows[~accepted]
        return chosen

    def _text_in_cluster(self, clusters: Ints, texts: Ints) -> NDArray[np.int64]:
        return clusters.astype(np.int64) * self._num_texts + texts

    def _write(self, sentences: NDArray[np.int64], real: NDArray[np.bool_], keys: Bits) -> Ragged:
        """A real exemplar is one piece; a synthesised one as many pieces as its model has slots."""
        a = self._arrays
        first_slots = a.slot_offsets[sentences]
        num_pieces = np.where(real, 1, a.slot_offsets[sentences + 1] - first_slots)
        rows = np.repeat(np.arange(len(sentences)), num_pieces)
        slots = slices(first_slots, num_pieces)
        number_in_row = slots - first_slots[rows]
        # Pieces of the sentence itself ...
        first_tokens = a.token_offsets[sentences]
        starts = np.where(number_in_row == 0, 0, a.slot_ends[np.maximum(slots - 1, 0)]) + first_tokens[rows]
        ends = np.where(real[rows], a.token_offsets[sentences + 1][rows], a.slot_ends[slots] + first_tokens[rows])
        # ... and spans of the same tag for those that are exchanged, in proportion to their frequency.
        has_spans = np.concatenate([[False], np.diff(a.tag_spans) > 0])
        exchanged = ~real[rows] & has_spans[a.slot_tags[slots]]
        tags = a.slot_tags[slots[exchanged]].astype(np.int64) - 1
        counts = a.span_counts[a.tag_spans[tags]]
        bits = random_bits(0, _SPAN, keys[rows[exchanged]], number_in_row[exchanged])
        counts = counts + below(bits, a.span_counts[a.tag_spans[tags + 1]] - counts)
        spans = np.searchsorted(a.span_counts, counts, side="right") - 1
        starts[exchanged], ends[exchanged] = a.span_offsets[spans], a.span_offsets[spans + 1]
        return self._gather(starts, ends - starts, exchanged, rows, len(sentences))

    def _gather(self, starts: Ints, lengths: Ints, from_spans: NDArray[np.bool_], rows: Ints, num_rows: int) -> Ragged:
        """Join pieces of `tokens` and `span_tokens` into rows of at most `max_tokens`."""
        indices, token_rows = slices(starts, lengths), np.repeat(rows, lengths)
        is_span = np.repeat(from_spans, lengths)
        tokens = np.empty(len(indices), dtype=np.int32)
        tokens[~is_span] = self._arrays.tokens[indices[~is_span]]
        tokens[is_span] = self._arrays.span_tokens[indices[is_span]]
        row_lengths = np.bincount(token_rows, minlength=num_rows)
        row_starts = np.cumsum(row_lengths) - row_lengths
        kept = np.arange(len(tokens)) - row_starts[token_rows] < self._max_tokens
        return Ragged(tokens[kept], np.minimum(row_lengths, self._max_tokens).astype(np.int32))


@dataclass(frozen=True)
class Example:
    """How one exemplar came about, for display."""

    sentence: str
    tagged: str
    """The sentence with its exchangeable and preserved spans in brackets: `how [heavy]ADJP is a [moose]NP ?`"""
    template: str
    exemplar: str
    real: bool


def examples(prepared: Prepared, count: int, *, seed: int) -> list[Example]:
    """Random sentences of a corpus, each with an exemplar of its form."""
    numbers = np.arange(min(count, prepared.num_sentences))
    models = permute(numbers, prepared.num_sentences, random_bits(seed))
    drawn = ExemplarDrawer(prepared).draw(models, random_bits(seed, numbers))
    exemplars = prepared.tokenizer.decode_batch([row.tolist() for row in drawn.tokens.rows()])
    return [
        Example(
            sentence=prepared.text(model),
            tagged=_tagged(prepared, model),
            template=prepared.template(model),
            exemplar=exemplar,
            real=bool(real),
        )
        for model, exemplar, real in zip(models.tolist(), exemplars, drawn.real, strict=True)
    ]


def _tagged(prepared: Prepared, sentence: int) -> str:
    first, last = prepared.arrays.slot_offsets[sentence : sentence + 2]
    pieces = np.split(prepared.sentence_tokens(sentence), prepared.arrays.slot_ends[first : last - 1])
    texts = prepared.tokenizer.decode_batch([piece.tolist() for piece in pieces])
    labels = prepared.template(sentence).split()
    return " ".join(text if text == label else f"[{text}]{label}" for text, label in zip(texts, labels, strict=False))
