"""How large the values inside a model become when it reads a few sentences, in full precision and in NumPy.

Some channels are ever so much larger than others. With 8 bits for a row of values the large ones would leave little
for the rest, so each channel is divided by a number before its matrix, whose column is multiplied by it (as in
SmoothQuant, Xiao et al., 2023). The division belongs to what is computed before, and so costs nothing.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from parasketch.model.language_model_shape import LanguageModelShape

Floats = NDArray[np.float32]

PAIRS = (
    ("How long does it take to get from the airport to the city centre by train?", "By train, how far is it?"),
    ("The committee approved the $4.5 million budget on Tuesday, said Maria Lopez.", "A budget was approved."),
    ("hi, sorry for the late reply, i was ill last week", "Sorry I'm late to reply; I was ill."),
    ("Two dogs are running along the beach while a boy throws a ball.", "A boy is throwing a ball for two dogs."),
    ("Please don't forget to send me the report before noon.", "Could you send the report by 12?"),
    ('We didn\'t like the food, but "The Old Mill" has a lovely garden.', "The garden is lovely, though."),
)
"""Sources and targets, of many kinds of words and signs."""
_SHARE = 0.7
"""How much of the difference between channels goes into the matrix."""


class Reading:
    """Sequences that are read layer by layer."""

    def __init__(self, shape: LanguageModelShape, sequences: Sequence[Floats]) -> None:
        """The sequences (T, width) are the vectors of their tokens."""
        self._shape = shape
        self._ends = np.cumsum([len(each) for each in sequences])[:-1]
        self._places = np.concatenate([np.arange(len(each)) for each in sequences])
        self._x: Floats = np.concatenate(sequences)

    def layer(self, matrices: Mapping[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
        """Go through a layer, whose norms' gains are in its matrices (outputs, inputs).

        Returns the keys and values (2, kv_heads, 1, d) of the first token, and what went into each matrix, (N, inputs).
        The first token of a sequence is left out there: its values are beyond all others, and it is never read again.
        """
        shape = self._shape
        kv = shape.kv_heads * shape.head_width
        inputs = {"qkv": self._normed()}
        parts = np.split(inputs["qkv"] @ matrices["qkv"].T, [shape.width, shape.width + kv], axis=1)
        query, key, value = (each.reshape(len(self._x), -1, shape.head_width) for each in parts)
        query, key = self._turned(query), self._turned(key)
        split = zip(*(np.split(each, self._ends) for each in (query, key, value)), strict=True)
        inputs["out"] = np.concatenate([_attend(*each) for each in split])
        self._x = self._x + inputs["out"] @ matrices["out"].T
        inputs["gate_up"] = self._normed()
        gate, up = np.split(inputs["gate_up"] @ matrices["gate_up"].T, 2, axis=1)
        with np.errstate(over="ignore"):  # of a large negative gate nothing is left
            inputs["down"] = gate / (1 + np.exp(-gate)) * up
        self._x = self._x + inputs["down"] @ matrices["down"].T
        return np.stack([key[0], value[0]])[:, :, None], {part: x[self._places > 0] for part, x in inputs.items()}

    def _normed(self) -> Floats:
        eps = np.float32(self._shape.norm_eps)
        result: Floats = self._x / np.sqrt(np.square(self._x).mean(axis=-1, keepdims=True) + eps)
        return result

    def _turned(self, heads: Floats) -> Floats:
        """Heads (N, heads, d) turned by their places."""
        cosines, sines = (np.concatenate([each, each], axis=1)[:, None] for each in turns(self._shape, self._places))
        first, second = np.split(heads, 2, axis=-1)
        result: Floats = heads * cosines + np.concatenate([-second, first], axis=-1) * sines
        return result


def turns(shape: LanguageModelShape, places: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Cosines and sines (N, d / 2) of how far the pairs of a head are turned at places (N,)."""
    width = shape.head_width
    angles = places[:, None] * shape.rope_base ** (-np.arange(0, width, 2) / width)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def divisors(inputs: Floats, matrix: Floats) -> Floats:
    """What the channels of inputs (N, inputs) are best divided by before a matrix (outputs, inputs), (inputs,)."""
    values, weights = (np.maximum(np.abs(each).max(axis=0), 1e-5) for each in (inputs, matrix))
    result: Floats = values**_SHARE / weights ** (1 - _SHARE)
    result /= np.exp(np.log(result).mean())
    return result


def _attend(query: Floats, key: Floats, value: Floats) -> Floats:
    """What the tokens of a sequence see, (T, width): themselves, and what is left of them."""
    length, heads, width = query.shape
    grouped = query.reshape(length, key.shape[1], -1, width)
    scores = np.einsum("skgd,tkd->kgst", grouped, key) * np.float32(width**-0.5)
    scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    seen: Floats = np.einsum("kgst,tkd->skgd", weights, value).reshape(length, heads * width)
    return seen
