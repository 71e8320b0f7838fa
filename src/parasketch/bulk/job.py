"""What is asked of every text of a bulk job: the model and how to use it, as one value.

It can be sent to a worker on another machine, which loads the model there; and it says all that decides the results, so
that an output is only ever continued with the same.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parasketch.errors import ModelError
from parasketch.generate.paraphrases import Paraphrase, Sketch

if TYPE_CHECKING:
    from parasketch.generate.paraphraser import Paraphraser


@dataclass(frozen=True, kw_only=True)
class Job:
    """A model (as in `Paraphraser.from_pretrained`) and the options of its calls."""

    model: str | None = None
    semantic: str | None = None
    n: int = 1
    like: str | None = None
    sketch: Sketch | None = None
    depth: int | None = None
    plain: bool = False
    temperature: float | None = None
    seed: int = 0
    effort: int | None = None
    split: bool = False
    rounds: int | None = None
    show_bow: bool = False

    @property
    def weights(self) -> str:
        """The fingerprint of the model where this is asked; never remembered, since a job travels."""
        from parasketch.generate.pretrained import fingerprint

        return fingerprint(self.model)

    def settings(self) -> Mapping[str, Any]:
        """All that decides the results."""
        return {**asdict(self), "weights": self.weights}

    def elsewhere(self) -> "Job":
        """The same for another process, which may work in another directory."""
        if self.model is None or not Path(self.model).is_dir():
            return self
        return replace(self, model=str(Path(self.model).resolve()))

    def check(self, weights: str) -> None:
        """Refuse to work with other weights than those that whoever asks has."""
        if self.weights != weights:
            raise ModelError(
                f"the model {self.model or 'of the package'} is another one on this worker: install the same version "
                "of parasketch and of the model everywhere"
            )

    def load(self, *, device: str | None, batch_size: int, backend: str | None = None) -> "Loaded":
        """Load the model; what comes back paraphrases texts as this job says."""
        from parasketch.generate.paraphraser import Paraphraser

        paraphraser = Paraphraser.from_pretrained(self.model, device=device, semantic=self.semantic, backend=backend)
        return Loaded(self, paraphraser, batch_size)


@dataclass(frozen=True)
class Loaded:
    """A job with its model in memory."""

    job: Job
    paraphraser: "Paraphraser"
    batch_size: int

    def __call__(self, texts: list[str], /) -> list[list[Paraphrase]]:
        job = self.job
        return self.paraphraser(
            texts,
            n=job.n,
            like=job.like,
            sketch=job.sketch,
            depth=job.depth,
            rerank=not job.plain,
            temperature=job.temperature,
            seed=job.seed,
            effort=job.effort,
            split=job.split,
            rounds=job.rounds,
            show_bow=job.show_bow,
            batch_size=self.batch_size,
        )
