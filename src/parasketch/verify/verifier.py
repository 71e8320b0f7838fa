"""The facade: pairs of texts in, the probability that the second says what the first says out."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from parasketch.light.names import has_graphs
from parasketch.verify.description import KIND, Decision, describe_verifier
from parasketch.verify.inputs import EncodedPair, Pair, PairTokenizer, by_length

if TYPE_CHECKING:
    from parasketch.model.cross_encoder import CrossEncoder

SHIPPED = Path(__file__).parents[1] / "models" / KIND

Logits = NDArray[np.float32]


class Scorer(Protocol):
    """A network that reads pairs, whatever runs it."""

    def __call__(self, pairs: Sequence[EncodedPair], /) -> Logits:
        """The logits of a batch, (len(pairs),)."""
        ...


class Verifier:
    """Says how surely B says what A says: nothing changed, added or lost but wording.

    verifier = Verifier.from_pretrained()
    verifier([("He left at six.", "He went away at 6 o'clock."), ("He left at six.", "He left at nine.")])
    """

    def __init__(self, score: Scorer, tokenizer: PairTokenizer, decision: Decision) -> None:
        self._score, self.tokenizer, self.decision = score, tokenizer, decision

    @classmethod
    def from_model(cls, model: "CrossEncoder", tokenizer: PairTokenizer, decision: Decision) -> "Verifier":
        """A network that is in memory, such as one in training."""
        from parasketch.verify.storage import TorchScorer

        return cls(TorchScorer(model), tokenizer, decision)

    @classmethod
    def from_pretrained(cls, directory: Path | str = SHIPPED) -> "Verifier":
        """The verifier inside the package, or one in a directory; without torch where it was exported."""
        if has_graphs(Path(directory), verifier=True) and find_spec("onnxruntime"):
            from parasketch.light.verifier import LightScorer

            described = describe_verifier(directory)
            return cls(LightScorer(described.path), described.tokenizer, described.decision)
        from parasketch.verify.storage import load_verifier

        loaded = load_verifier(directory)
        return cls.from_model(loaded.model, loaded.tokenizer, loaded.decision)

    def __call__(self, pairs: Sequence[Pair], *, batch_size: int = 32) -> list[float]:
        """The probability of "the same" for every pair; it does not depend on the other pairs."""
        logits = self.logits(pairs, batch_size=batch_size)
        if self.decision.both_directions:
            turned = self.logits([(b, a) for a, b in pairs], batch_size=batch_size)
            logits = (logits + turned) * np.float32(0.5)
        probabilities: list[float] = (1 / (1 + np.exp(-logits / self.decision.temperature))).tolist()
        return probabilities

    def accepts(self, pairs: Sequence[Pair], *, batch_size: int = 32) -> list[bool]:
        """Whether each pair reaches the threshold that was chosen on dev pairs."""
        return [score >= self.decision.threshold for score in self(pairs, batch_size=batch_size)]

    def logits(self, pairs: Sequence[Pair], *, batch_size: int = 32) -> Logits:
        """What the network says of (A, B) in this direction, before calibration, (len(pairs),)."""
        encoded = self.tokenizer.encode(pairs)
        found = np.empty(len(encoded), dtype=np.float32)
        for places in by_length(encoded, batch_size):
            found[places] = self._score([encoded[place] for place in places])
        return found
