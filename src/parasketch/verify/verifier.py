"""The facade: pairs of texts in, the probability that the second says what the first says out."""

from collections.abc import Sequence
from pathlib import Path

import torch

from parasketch.model.cross_encoder import CrossEncoder
from parasketch.verify.inputs import EncodedPair, Pair, PairTokenizer, by_length, collate
from parasketch.verify.storage import KIND, Decision, load_verifier

SHIPPED = Path(__file__).parents[1] / "models" / KIND


class Verifier:
    """Says how surely B says what A says: nothing changed, added or lost but wording.

    verifier = Verifier.from_pretrained()
    verifier([("He left at six.", "He went away at 6 o'clock."), ("He left at six.", "He left at nine.")])
    """

    def __init__(self, model: CrossEncoder, tokenizer: PairTokenizer, decision: Decision) -> None:
        self.model, self.tokenizer, self.decision = model.eval(), tokenizer, decision

    @classmethod
    def from_pretrained(cls, directory: Path | str = SHIPPED) -> "Verifier":
        """The verifier inside the package, or one in a directory."""
        loaded = load_verifier(directory)
        return cls(loaded.model, loaded.tokenizer, loaded.decision)

    def __call__(self, pairs: Sequence[Pair], *, batch_size: int = 32) -> list[float]:
        """The probability of "the same" for every pair; it does not depend on the other pairs."""
        logits = self.logits(pairs, batch_size=batch_size)
        if self.decision.both_directions:
            logits = (logits + self.logits([(b, a) for a, b in pairs], batch_size=batch_size)) / 2
        probabilities: list[float] = torch.sigmoid(logits / self.decision.temperature).tolist()
        return probabilities

    def accepts(self, pairs: Sequence[Pair], *, batch_size: int = 32) -> list[bool]:
        """Whether each pair reaches the threshold that was chosen on dev pairs."""
        return [score >= self.decision.threshold for score in self(pairs, batch_size=batch_size)]

    def logits(self, pairs: Sequence[Pair], *, batch_size: int = 32) -> torch.Tensor:
        """What the network says of (A, B) in this direction, before calibration, (len(pairs),)."""
        return score_encoded(self.model, self.tokenizer.encode(pairs), batch_size=batch_size)


@torch.inference_mode()
def score_encoded(model: CrossEncoder, pairs: Sequence[EncodedPair], *, batch_size: int) -> torch.Tensor:
    """The logits of encoded pairs in their order, (len(pairs),)."""
    logits = torch.empty(len(pairs))
    for places in by_length(pairs, batch_size):
        batch = collate([pairs[place] for place in places])
        logits[places] = model(batch.tokens, batch.segments, batch.matches, batch.mask)
    return logits
