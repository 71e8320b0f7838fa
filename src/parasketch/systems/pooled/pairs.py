"""Batches of (source, target) pairs: systems that need no exemplar draw and encode none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from parasketch.data.pairs import PairDrawer, Pairs
from parasketch.data.prepared import Prepared
from parasketch.model.inputs import Sentences, reorder


@dataclass(eq=False)  # not frozen, see Layout
class PairBatch:
    """B pairs, ordered by target length so that the decoder's attention groups are large; sources by their own."""

    encoded: Sentences
    source_places: np.ndarray  # (B,) where the source of each target is among the encoded sentences
    decoder_input: Sentences  # begin + target
    targets: Tensor  # (N,) target + end

    @classmethod
    def from_pairs(cls, pairs: Pairs, *, bos: int, eos: int) -> PairBatch:
        order = np.argsort(pairs.target.lengths, kind="stable")
        source, target = reorder(pairs.source, order), reorder(pairs.target, order)
        encoded, places = Sentences.from_ragged(source, first=bos, last=eos).sorted_by_length()
        return cls(
            encoded=encoded,
            source_places=places,
            decoder_input=Sentences.from_ragged(target, first=bos),
            targets=Sentences.from_ragged(target, last=eos).tokens,
        )

    def to(self, device: torch.device) -> PairBatch:
        return PairBatch(
            encoded=self.encoded.to(device),
            source_places=self.source_places,
            decoder_input=self.decoder_input.to(device),
            targets=self.targets.to(device),
        )


class PairExamples:
    """The pairs of a prepared corpus as what a task learns from."""

    def __init__(self, prepared: Prepared, *, seed: int) -> None:
        self.bos, self.eos = prepared.tokenizer.bos_id, prepared.tokenizer.eos_id
        self.drawer = PairDrawer(prepared, seed=seed)

    def __len__(self) -> int:
        return len(self.drawer)

    def order(self, epoch: int) -> NDArray[np.int64]:
        return self.drawer.order(epoch)

    def batch(self, epoch: int, indices: NDArray[np.int64]) -> PairBatch:
        return PairBatch.from_pairs(self.drawer.batch(epoch, indices), bos=self.bos, eos=self.eos)
