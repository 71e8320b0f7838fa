"""Batches of triples, for systems that learn the form from an exemplar: a source, an exemplar, a target each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from parasketch.config import DataConfig
from parasketch.data.prepared import Prepared, Ragged
from parasketch.data.triples import TripleBatch, Triples
from parasketch.model.inputs import Sentences, reorder


@dataclass(eq=False)  # not frozen, see Layout
class TrainingBatch:
    """B triples, ordered by target length so that the decoder's attention groups are large.

    Sources and exemplars pass the encoder together, as 2 B sentences sorted by length.
    """

    encoded: Sentences
    source_places: np.ndarray  # (B,) where the sources are among the encoded sentences
    exemplar_places: np.ndarray  # (B,)
    decoder_input: Sentences  # begin + target
    targets: Tensor  # (N,) target + end
    source_sentences: np.ndarray  # (B,) which sentences of the corpus the sources are

    @classmethod
    def from_triples(cls, triples: TripleBatch, *, bos: int, eos: int) -> TrainingBatch:
        order = np.argsort(triples.target.lengths, kind="stable")
        source, exemplar, target = (reorder(part, order) for part in (triples.source, triples.exemplar, triples.target))
        both = Ragged(
            tokens=np.concatenate([source.tokens, exemplar.tokens]),
            lengths=np.concatenate([source.lengths, exemplar.lengths]),
        )
        encoded, places = Sentences.from_ragged(both, first=bos, last=eos).sorted_by_length()
        half = len(order)
        return cls(
            encoded=encoded,
            source_places=places[:half],
            exemplar_places=places[half:],
            decoder_input=Sentences.from_ragged(target, first=bos),
            targets=Sentences.from_ragged(target, last=eos).tokens,
            source_sentences=triples.source_sentence[order],
        )

    @property
    def size(self) -> int:
        return len(self.source_places)

    def to(self, device: torch.device) -> TrainingBatch:
        return TrainingBatch(
            encoded=self.encoded.to(device),
            source_places=self.source_places,
            exemplar_places=self.exemplar_places,
            decoder_input=self.decoder_input.to(device),
            targets=self.targets.to(device),
            source_sentences=self.source_sentences,
        )


class TripleExamples:
    """The triples of a prepared corpus as what a task learns from."""

    def __init__(self, prepared: Prepared, data: DataConfig, *, seed: int) -> None:
        self.bos, self.eos = prepared.tokenizer.bos_id, prepared.tokenizer.eos_id
        self.triples = Triples(
            prepared,
            seed=seed,
            template_dropout=data.template_dropout,
            max_pairs=data.max_pairs,
            own_exemplars=data.exemplar == "target",
        )

    def __len__(self) -> int:
        return len(self.triples)

    def order(self, epoch: int) -> NDArray[np.int64]:
        return self.triples.order(epoch)

    def batch(self, epoch: int, indices: NDArray[np.int64]) -> TrainingBatch:
        return TrainingBatch.from_triples(self.triples.batch(epoch, indices), bos=self.bos, eos=self.eos)
