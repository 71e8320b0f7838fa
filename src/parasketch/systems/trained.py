"""A trained model as a system among others: with predicted sketches, the input's own sketch, or a reference's sketch.

The last is the oracle, an upper bound: it shows what the model could do if the right sketch were always
predicted, and, with truncated sketches, how much of that each level of codes brings.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Protocol, Self

from parasketch.data.corpora import Cluster
from parasketch.errors import ModelError, UsageError
from parasketch.files import sha256
from parasketch.systems.base import Settings, System


class GeneratedText(Protocol):
    """One paraphrase."""

    @property
    def text(self) -> str:
        """The paraphrase itself."""
        ...


class Generator(Protocol):
    """What is needed of `parasketch.generate.paraphraser.Paraphraser`."""

    @property
    def depth(self) -> int:
        """D, the number of codes of a whole sketch."""
        ...

    def __call__(
        self,
        texts: Sequence[str],
        /,
        *,
        n: int,
        sketch: Sequence[Sequence[int]] | None,
        depth: int | None,
        rerank: bool,
        batch_size: int,
        seed: int,
        show_progress: bool,
    ) -> Sequence[Sequence[GeneratedText]]:
        """Paraphrase texts, each by the predicted sketch or by the one given."""
        ...

    def sketch(self, texts: Sequence[str], /) -> Sequence[Sequence[int]]:
        """The sketch that each text has itself."""
        ...


class Trained(System):
    """A trained model of any kind, as it is used; with sketches they are predicted, and candidates are reranked."""

    name = "trained"
    description = "a trained model as it is used; HRQ-VAE: predicted sketches, reranked candidates"
    rerank: ClassVar[bool] = True

    def __init__(
        self,
        generator: Generator,
        *,
        model: str,
        cut: int | None = None,
        seed: int = 0,
        batch_size: int = 64,
    ) -> None:
        self._generator, self._model, self._cut = generator, model, cut
        self._seed, self._batch_size = seed, batch_size

    @classmethod
    def from_pretrained(cls, model: str, *, cut: int | None = None, seed: int = 0, batch_size: int = 64) -> Self:
        """Load a shipped model by its name, or any trained model by its path.

        `cut` keeps only the first codes of every sketch: 0 for none, None for all.
        """
        from parasketch.generate.paraphraser import Paraphraser

        generator = Paraphraser.from_pretrained(model)
        return cls(generator, model=model, cut=cut, seed=seed, batch_size=batch_size)

    @classmethod
    def like(cls, other: "Trained", *, cut: int | None = None) -> Self:
        """The same model used in this class's way, without loading it again."""
        return cls(other._generator, model=other._model, cut=cut, seed=other._seed, batch_size=other._batch_size)

    @property
    def depth(self) -> int:
        """D, the number of codes of a whole sketch."""
        return self._generator.depth

    def fit(self, clusters: Iterable[Cluster]) -> None:
        """Training has a command of its own."""
        del clusters
        raise UsageError("a model is trained with `parasketch train`, then evaluated with --model")

    def generate(
        self, inputs: Sequence[str], n: int = 1, references: Sequence[Sequence[str]] | None = None
    ) -> list[list[str]]:
        """Paraphrase; an item for which fewer than `n` different candidates are found repeats its last one."""
        # The sketch alone, not `like=`, which would also compare the wording with the exemplar's.
        exemplars = self._exemplars(inputs, references)
        found = self._generator(
            inputs,
            n=n,
            sketch=None if exemplars is None else self._generator.sketch(exemplars),
            depth=self._cut,
            rerank=self.rerank,
            batch_size=self._batch_size,
            seed=self._seed,
            show_progress=True,
        )
        texts = [[candidate.text for candidate in candidates] or [""] for candidates in found]
        return [candidates + candidates[-1:] * (n - len(candidates)) for candidates in texts]

    def fingerprint(self) -> str:
        """The hash of the weights."""
        from parasketch.generate.pretrained import find_model
        from parasketch.model.directory import WEIGHTS

        return sha256(find_model(self._model) / WEIGHTS)

    def _exemplars(self, inputs: Sequence[str], references: Sequence[Sequence[str]] | None) -> Sequence[str] | None:
        """The sentences whose sketches are used; None for predicted sketches."""
        del inputs, references
        return None

    def _write(self, directory: Path) -> Settings:
        """Where the model is, not the model: that has a directory of its own."""
        del directory
        return {"model": self._model, "cut": self._cut}

    @classmethod
    def _read(cls, directory: Path, settings: Settings) -> Self:
        model, cut = settings.get("model"), settings.get("cut")
        if not isinstance(model, str) or not isinstance(cut, int | None):
            raise ModelError(f"system.json in {directory} does not say which model to use")
        return cls.from_pretrained(model, cut=cut)


class Plain(Trained):
    """A trained model alone: the `n` best sketches give the `n` candidates."""

    name = "plain"
    description = "a trained model with predicted sketches and no reranking, as in the paper"
    rerank = False


class OwnSketch(Trained):
    """A trained model that keeps the form of its input."""

    name = "own-sketch"
    description = "a trained model with the sketch of the input itself: how much the form alone decides"

    def _exemplars(self, inputs: Sequence[str], references: Sequence[Sequence[str]] | None) -> Sequence[str]:
        del references
        return inputs


class Oracle(Trained):
    """A trained model that is shown the form of a reference."""

    name = "oracle"
    description = "a trained model with the sketch of the first reference: an upper bound"
    uses_references = True

    def _exemplars(self, inputs: Sequence[str], references: Sequence[Sequence[str]] | None) -> Sequence[str]:
        del inputs
        if references is None:
            raise UsageError("the oracle needs references")
        return [item[0] for item in references]


class PlainOracle(Oracle):
    """The oracle of the paper: the best sentence of the reference's sketch, unjudged."""

    name = "plain-oracle"
    description = "the oracle without reranking, as in the paper: to be compared with plain"
    rerank = False
