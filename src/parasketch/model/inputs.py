"""From token lists to the tensors the model reads: special tokens added, sentences laid out flat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from parasketch.data.prepared import Ragged
from parasketch.model.ragged import Layout


@dataclass(eq=False)  # not frozen, see Layout
class Sentences:
    """B sentences as one flat row of tokens."""

    tokens: Tensor  # (N,) int64
    layout: Layout

    @classmethod
    def from_lists(cls, sentences: Sequence[Sequence[int]]) -> Sentences:
        lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
        flat = np.fromiter((token for sentence in sentences for token in sentence), np.int64, int(lengths.sum()))
        return cls(torch.from_numpy(flat), Layout(lengths))

    @classmethod
    def from_ragged(cls, ragged: Ragged, *, first: int | None = None, last: int | None = None) -> Sentences:
        """Add a token before and after every sentence, where given."""
        before, after = int(first is not None), int(last is not None)
        layout = Layout(ragged.lengths.astype(np.int64) + before + after)
        tokens = np.empty(layout.num_tokens, dtype=np.int64)
        inner = np.ones(layout.num_tokens, dtype=bool)
        if first is not None:
            tokens[layout.starts], inner[layout.starts] = first, False
        if last is not None:
            ends = layout.starts + layout.lengths - 1
            tokens[ends], inner[ends] = last, False
        tokens[inner] = ragged.tokens
        return cls(torch.from_numpy(tokens), layout)

    def sorted_by_length(self) -> tuple[Sentences, np.ndarray]:
        """The sentences from short to long, and where each of ours went: attention groups equal lengths."""
        order = np.argsort(self.layout.lengths, kind="stable")
        layout, rows = self.layout.select(order)
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        return Sentences(self.tokens[rows], layout), places

    def shifted(self) -> tuple[Sentences, Tensor]:
        """What a decoder reads of sentences (all but the last token) and what it has to say (all but the first)."""
        ends, starts = self.layout.starts + self.layout.lengths - 1, self.layout.starts
        read, said = np.ones((2, self.layout.num_tokens), dtype=bool)
        read[ends], said[starts] = False, False
        inputs = Sentences(self.tokens[torch.from_numpy(read)], Layout(self.layout.lengths - 1))
        return inputs, self.tokens[torch.from_numpy(said)]

    def to(self, device: torch.device) -> Sentences:
        return Sentences(self.tokens.to(device), self.layout)


def reorder(ragged: Ragged, order: np.ndarray) -> Ragged:
    """The sentences of a ragged array in another order (or some of them)."""
    layout = Layout(ragged.lengths.astype(np.int64))
    chosen, rows = layout.select(order)
    return Ragged(tokens=ragged.tokens[rows.numpy()], lengths=chosen.lengths.astype(np.int32))
