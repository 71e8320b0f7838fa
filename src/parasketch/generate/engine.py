"""What the package asks of one loaded model, whatever its kind: texts in, paraphrases out.

`Paraphraser`, routing and the checks of a call know this protocol only. A kind of model (HRQ-VAE, an autoencoder
without sketches, a pretrained language model) has an engine of its own, which is free in how it generates; the token
search, the candidates and the choice of this package are there for all. What an engine cannot do is not in its
`abilities`, and a call that asks for it is refused before any work.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

from parasketch.errors import UsageError
from parasketch.generate.candidates import Judged
from parasketch.generate.paraphrases import Paraphrase, Sketch
from parasketch.generate.requests import Options, PreparedText, Request

Ability = Literal["sketch", "like", "depth", "temperature", "candidates", "effort", "rounds", "bow", "orders"]
"""What not all engines can do. `sketch`: texts have sketches, and one may be given; `like`: follow an exemplar;
`depth`: truncate sketches; `temperature`: sample; `candidates`: show all candidates with their features;
`effort`: try less or more; `rounds`: paraphrase outputs again; `bow`: show a predicted bag of words; `orders`: say in
which order of the input's words it was asked to speak."""

SKETCHING: frozenset[Ability] = frozenset({"sketch", "like", "depth", "temperature", "candidates", "effort"})
"""All that a model with sketches can do."""


class Engine(Protocol):
    """A model with all that it needs to paraphrase. It is compared by identity."""

    @property
    def kind(self) -> str:
        """The kind of model, as in `config.json`."""
        ...

    @property
    def abilities(self) -> frozenset[Ability]:
        """What it can do besides n paraphrases of a text."""
        ...

    @property
    def depth(self) -> int:
        """D, the number of codes of a whole sketch; 0 for a model without sketches."""
        ...

    @property
    def codes(self) -> int:
        """How many codes there are at each level; 0 for a model without sketches."""
        ...

    @property
    def device(self) -> object:
        """Where it works; its str names it."""
        ...

    def prepare(self, texts: Sequence[str]) -> list[PreparedText]:
        """Make texts, each with some content, ready."""
        ...

    def sketches_of(self, texts: Sequence[PreparedText]) -> list[Sketch]:
        """The sketch that each text has itself; asked only of engines that can `sketch`."""
        ...

    def batch_size(self, options: Options, largest: int) -> int:
        """How many texts go well together in one call of `paraphrase`, at least 1 and at most `largest`."""
        ...

    def paraphrase(self, requests: Sequence[Request], options: Options) -> list[list[Paraphrase]]:
        """Exactly n paraphrases of each text, best first; no result depends on what else is in the batch."""
        ...

    def judged_candidates(self, requests: Sequence[Request], options: Options) -> list[Judged]:
        """All candidates of each text with all their features; asked only of engines that have `candidates`."""
        ...

    def save(self, directory: Path | str, *, half: bool) -> None:
        """Write a model directory; with `half` the weights take 16 bits each on the disk."""
        ...


def require(engine: Engine, ability: Ability, what: str) -> None:
    """Refuse `what` was asked for if the engine cannot do it."""
    if ability not in engine.abilities:
        raise UsageError(f"{what} cannot be used with this model: {_REASONS[ability].format(engine.kind)}")


_REASONS: dict[Ability, str] = {
    "sketch": "the kind {} has no sketches",
    "like": "the kind {} cannot follow the form of another sentence",
    "depth": "the kind {} has no sketches that could be truncated",
    "temperature": "the kind {} does not sample",
    "effort": "the kind {} always makes the same effort",
    "candidates": "the kind {} does not judge candidates by features",
    "rounds": "the kind {} does not paraphrase in rounds",
    "bow": "the kind {} predicts no bag of words",
    "orders": "the kind {} does not decide on an order of the input's words",
}
