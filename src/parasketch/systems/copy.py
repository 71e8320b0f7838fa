"""Copy: the output is the input. The lower bound of every comparison, and the acceptance test of the scores."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from parasketch.data.corpora import Cluster
from parasketch.systems.base import Settings, System


class Copy(System):
    """Repeats its input."""

    name = "copy"
    description = "the input itself: a lower bound, and a check of the scores"

    def fit(self, clusters: Iterable[Cluster]) -> None:
        """There is nothing to learn."""

    def generate(
        self, inputs: Sequence[str], n: int = 1, references: Sequence[Sequence[str]] | None = None
    ) -> list[list[str]]:
        """Each input, `n` times."""
        del references
        return [[text] * n for text in inputs]

    def fingerprint(self) -> None:
        """Nothing is learnt."""

    def _write(self, directory: Path) -> Settings:
        del directory
        return {}

    @classmethod
    def _read(cls, directory: Path, settings: Settings) -> Self:
        del directory, settings
        return cls()
