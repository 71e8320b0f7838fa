"""Word vectors that align the words of paraphrases for training: MiniLM, offline, through the `semantic` extra.

Of 106 words of 100 question pairs on which ways to align them disagree and that have a counterpart to the eye, the
states of MiniLM's third layer find 98, of its last one 91, the token embeddings of the shipped question model 93, its
encoder's states 85. (Contextual states blur into their neighbours with depth.) The model itself needs none of this once
it is trained.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from parasketch.systems.sowreap.orders import Similarities
from parasketch.systems.sowreap.reading import Reading
from parasketch.text.sentence_encoder import PACKAGED, load_sentence_transformer

LAYER = 3
_BATCH = 64

Vectors = NDArray[np.float32]


class WordVectors(Protocol):
    """Anything that gives words vectors in their context; `name` enters cache keys."""

    name: str

    def of(self, readings: Sequence[Reading]) -> list[tuple[Vectors, Sequence[int]]]:
        """For each text unit vectors of its pieces, (P, width), and the word that each piece belongs to."""
        ...


def load_vectors() -> WordVectors:
    """The vectors to train with; what is missing is an error that says how to get it."""
    return MiniLM()


class MiniLM:
    """States of a middle layer of all-MiniLM-L6-v2."""

    name = f"minilm-{LAYER}"

    def __init__(self) -> None:
        model = load_sentence_transformer(PACKAGED)
        self._tokenizer: Any = model.tokenizer
        self._network: Any = model[0].auto_model.eval()
        self._network.encoder.layer = self._network.encoder.layer[:LAYER]  # the others would be in vain

    def __reduce__(self) -> tuple[Callable[[], "MiniLM"], tuple[()]]:
        """Worker processes load the model themselves instead of receiving it."""
        return MiniLM, ()

    @torch.inference_mode()
    def of(self, readings: Sequence[Reading]) -> list[tuple[Vectors, Sequence[int]]]:
        """The vectors of texts, shortest first in their batches."""
        found: dict[int, tuple[Vectors, Sequence[int]]] = {}
        order = sorted(range(len(readings)), key=lambda place: len(readings[place].text))
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            encoded = self._tokenizer(
                [readings[place].text for place in places],
                return_offsets_mapping=True,
                padding=True,
                truncation=True,
                return_tensors="pt",
            )
            spans = encoded.pop("offset_mapping").tolist()
            states = torch.nn.functional.normalize(self._network(**encoded).last_hidden_state.float(), dim=-1).numpy()
            for row, place in enumerate(places):
                found[place] = _pieces(states[row], spans[row], readings[place])
        return [found[place] for place in range(len(readings))]


def similarities(
    first: tuple[Vectors, Sequence[int]], second: tuple[Vectors, Sequence[int]], *, shape: tuple[int, int]
) -> Similarities:
    """Cosines of the words of two texts, `shape`: the largest of any two of their pieces, 0 for a word without any."""
    found = np.full(shape, -1.0, dtype=np.float32)
    places = np.ix_(np.asarray(first[1], dtype=np.int64), np.asarray(second[1], dtype=np.int64))
    np.maximum.at(found, places, first[0] @ second[0].T)
    return np.maximum(found, 0.0)


def _pieces(states: Vectors, spans: Sequence[tuple[int, int]], reading: Reading) -> tuple[Vectors, Sequence[int]]:
    """The states of pieces with any characters, and the word in which each begins."""
    starts = np.array([word.start for word in reading.parse.words])
    kept = [row for row, (start, end) in enumerate(spans) if end > start]
    owners = np.searchsorted(starts, [spans[row][0] for row in kept], side="right") - 1
    return states[kept], np.maximum(owners, 0).tolist()
