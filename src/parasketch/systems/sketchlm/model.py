"""A model of this kind at work on onnxruntime: vectors of tokens and codes, states, and what they predict."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from parasketch.light.language_model_graph import BODY, HEAD
from parasketch.light.sessions import Session
from parasketch.systems.sketchlm.calibration import turns
from parasketch.systems.sketchlm.config import SketchLMShape
from parasketch.systems.sketchlm.form import FormEncoder
from parasketch.systems.sketchlm.ids import FORM_SCALE, SketchIds
from parasketch.systems.sketchlm.merging import OWN

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

READY = "weights.safetensors"
"""The file of weights of a model that was made ready."""
_NOT_SEEN = np.float32(-np.inf)


@dataclass(frozen=True)
class NextTokens:
    """The likeliest next tokens, best first: log-probabilities and ids, both (N, choices)."""

    log_probs: Floats
    ids: Ints


class SketchModel:
    """What generation asks of a model; arrays in and out."""

    def __init__(self, directory: Path, shape: SketchLMShape, embedding: NDArray[Any]) -> None:
        """Of a directory that was made ready; `embedding` (vocabulary, width) is the base's."""
        self.shape, self._embedding = shape, embedding
        self.ids = SketchIds(shape.base.vocabulary, shape.levels, shape.codes)
        with safe_open(directory / READY, "np") as file:
            own: dict[str, Floats] = {name: file.get_tensor(name) for name in (*OWN, "first")}
        self._code_embedding, self._form_embedding = own["code_embedding"], own["form_embedding"]
        self._code_output, self._grade_output = own["code_output"], own["grade_output"]
        self.first: Floats = own["first"]
        """Keys and values of the token that begins every row, (2, layers, kv_heads, 1, d)."""
        self.form = FormEncoder(own["form.projection"], own["form.quantizer.codebooks"])
        self._body, self._head = Session(directory / BODY), Session(directory / HEAD)
        self._cosines, self._sines = turns(shape.base, np.arange(256))

    def embed(self, ids: Ints) -> Floats:
        """Input vectors (..., width) of ids (...), of tokens and of codes."""
        return self.ids.vectors(ids, self._embedding, self._code_embedding)

    def form_vectors(self, codes: Ints) -> Floats:
        """The sum (..., width) of the vectors of codes given as ids (..., levels)."""
        vectors: Floats = np.float32(FORM_SCALE) * self._form_embedding[codes - self.ids.vocabulary].sum(axis=-2)
        return vectors

    def run(
        self, x: Floats, places: Ints, positions: Ints, sees: NDArray[np.bool_], shared: Floats, own: Floats
    ) -> tuple[Floats, Floats]:
        """States (N, width) of tokens in a grid of B by S, and the keys and values (2, layers, B, kv_heads, S, d).

        The tokens are given as vectors x (N, width) at places (N,) of the grid; other places have none, and what comes
        out for them means nothing. `positions` (B, S) are those in their sequences. `shared` (2, layers, B, kv_heads,
        P, d) has the keys and values that all tokens of an input may see, `own` (2, layers, B, kv_heads, S, U, d) those
        of each place; `sees` (B, S, P + S + U) says which of them, and of the new ones between them, it does see.
        """
        grid = np.zeros(positions.size, dtype=np.int64)
        grid[places] = np.arange(len(places))
        most = int(positions.max()) + 1
        if most > len(self._cosines):
            self._cosines, self._sines = turns(self.shape.base, np.arange(2 * most))
        inputs: dict[str, NDArray[Any]] = {
            "x": x,
            "grid": grid.reshape(positions.shape),
            "tokens_at": places,
            "positions": positions,
            "mask": np.where(sees, np.float32(0), _NOT_SEEN)[:, None, :, None],
            "cosines": self._cosines,
            "sines": self._sines,
        }
        layers = range(self.shape.base.layers)
        for kind, name in enumerate(("keys", "values")):
            for layer in layers:
                inputs[f"shared_{name}_{layer}"] = shared[kind, layer]
                inputs[f"own_{name}_{layer}"] = own[kind, layer]
        found = self._body.run(inputs)
        new = np.stack([[found[f"{name}_{layer}"] for layer in layers] for name in ("keys", "values")])
        return found["states"], new

    def next_tokens(self, states: Floats) -> NextTokens:
        """What may come next, given states (N, width).

        8 bits find those that come into question; among them full precision decides, or one choice in twenty would be
        another one.
        """
        found = self._head.run({"states": states})
        ids, rounded, norm = found["ids"], found["logits"], found["norm"]
        vectors: Floats = self._embedding[ids].astype(np.float32)  # (N, choices, width)
        exact = (vectors @ states[..., None])[..., 0]
        others = np.maximum(1 - np.exp(rounded - norm).sum(axis=1, keepdims=True), 0)  # the share of all but those
        log_probs = exact - norm - np.log(others + np.exp(exact - norm).sum(axis=1, keepdims=True))
        order = np.argsort(-log_probs, axis=1, kind="stable")
        return NextTokens(np.take_along_axis(log_probs, order, axis=1), np.take_along_axis(ids, order, axis=1))

    def code_log_probs(self, states: Floats, level: int) -> Floats:
        """Log-probabilities (..., K) of a level's codes given states (..., width)."""
        logits = states @ self._code_output[level].T
        logits -= logits.max(axis=-1, keepdims=True)
        log_probs: Floats = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        return log_probs

    def grade_logits(self, states: Floats) -> Floats:
        """Log-odds (..., 2) that a reader grades a target as weak or better, and as good, given its last state."""
        logits: Floats = states @ self._grade_output[:, :-1].T + self._grade_output[:, -1]
        return logits
