"""Batches of (source, target) pairs for recurrent networks, longest target first.

Sources end with the end token and have no begin; so do targets. A decoder's steps are then blocks of rows, and the rows
that go on are the first ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from parasketch.data.pairs import PairDrawer, Pairs
from parasketch.data.prepared import Prepared
from parasketch.model.inputs import Sentences, reorder


@dataclass(eq=False)  # not frozen, see Layout
class SequencePairs:
    """B pairs."""

    sources: Sentences
    targets: Sentences
    inputs: Sentences
    """The targets one token later, after a begin token: what a decoder reads."""
    bags: torch.Tensor | None = None
    """(B, M) the words that a paraphrase of the source may have, -1 where there are fewer; LBoW's only."""

    @classmethod
    def from_pairs(cls, pairs: Pairs, *, bos: int, eos: int, bags: NDArray[np.int64] | None = None) -> SequencePairs:
        order = np.argsort(-pairs.target.lengths, kind="stable")
        target = reorder(pairs.target, order)
        return cls(
            sources=Sentences.from_ragged(reorder(pairs.source, order), last=eos),
            targets=Sentences.from_ragged(target, last=eos),
            inputs=Sentences.from_ragged(target, first=bos),
            bags=None if bags is None else torch.from_numpy(bags[order]),
        )

    def to(self, device: torch.device) -> SequencePairs:
        return SequencePairs(
            sources=self.sources.to(device),
            targets=self.targets.to(device),
            inputs=self.inputs.to(device),
            bags=None if self.bags is None else self.bags.to(device),
        )


class SequenceExamples:
    """The pairs of a prepared corpus as what a task learns from."""

    def __init__(self, prepared: Prepared, *, seed: int) -> None:
        self.prepared = prepared
        self.bos, self.eos = prepared.tokenizer.bos_id, prepared.tokenizer.eos_id
        self.drawer = PairDrawer(prepared, seed=seed)

    def __len__(self) -> int:
        return len(self.drawer)

    def order(self, epoch: int) -> NDArray[np.int64]:
        return self.drawer.order(epoch)

    def batch(self, epoch: int, indices: NDArray[np.int64]) -> SequencePairs:
        pairs = self.drawer.batch(epoch, indices)
        return SequencePairs.from_pairs(pairs, bos=self.bos, eos=self.eos, bags=self.bags(pairs))

    def bags(self, pairs: Pairs) -> NDArray[np.int64] | None:
        """What else belongs to the pairs: for LBoW the words of other paraphrases, (B, M)."""
        del pairs
        return None


def without_begin(sentences: Sentences) -> Sentences:
    """Sentences that begin and end with their special tokens, as these networks read them: without the begin."""
    _, tokens = sentences.shifted()
    return Sentences(tokens, type(sentences.layout)(sentences.layout.lengths - 1))
