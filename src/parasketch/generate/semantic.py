"""An optional second opinion on meaning: cosines by any sentence-transformers model (the `semantic` extra)."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from parasketch.errors import ModelError, UsageError


class SentenceModel(Protocol):
    """Anything that turns sentences into unit vectors."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(m, width), every row of length 1."""
        ...


class SentenceTransformersModel:
    """A sentence-transformers model, by name or path."""

    def __init__(self, name: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise UsageError("a semantic model needs: pip install 'parasketch[semantic]'") from error
        try:
            self._model: Any = SentenceTransformer(name)
        except (OSError, ValueError) as error:
            raise ModelError(f"{name}: cannot be loaded as a sentence-transformers model: {error}") from error

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray(self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False))
