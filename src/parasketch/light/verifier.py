"""The verifier on onnxruntime."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parasketch.light.names import VERIFIER
from parasketch.light.sessions import Session
from parasketch.verify.inputs import EncodedPair, as_arrays


class LightScorer:
    """Scores batches of pairs with an exported verifier."""

    def __init__(self, directory: Path) -> None:
        self._session = Session(directory / VERIFIER)

    def __call__(self, pairs: Sequence[EncodedPair], /) -> NDArray[np.float32]:
        logits: NDArray[np.float32] = self._session.run(as_arrays(pairs)._asdict())["logits"]
        return logits
