"""The one interface of all systems that can be compared: fit on clusters, generate, save, load.

A saved system is a directory with `system.json` (which system, and its settings) and whatever arrays it
needs; there is no pickle in it, so loading one can never run code.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

from parasketch.data.corpora import Cluster
from parasketch.errors import ModelError
from parasketch.files import write_directory

MANIFEST = "system.json"

Settings = Mapping[str, str | int | None]


class System(ABC):
    """A way to make paraphrases."""

    name: ClassVar[str]
    description: ClassVar[str]
    uses_references: ClassVar[bool] = False
    """Whether it is an upper bound that has to be shown the references."""

    @abstractmethod
    def fit(self, clusters: Iterable[Cluster]) -> None:
        """Learn from training clusters."""

    @abstractmethod
    def generate(
        self, inputs: Sequence[str], n: int = 1, references: Sequence[Sequence[str]] | None = None
    ) -> list[list[str]]:
        """Make `n` candidates for each input, best first; only upper bounds look at `references`."""

    @abstractmethod
    def fingerprint(self) -> str | None:
        """A SHA-256 of what was learnt, or None if nothing is."""

    def save(self, directory: Path) -> None:
        """Write the system as a directory, whole or not at all."""
        with write_directory(directory) as temporary:
            manifest = {"system": self.name, **self._write(temporary)}
            (temporary / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, directory: Path) -> Self:
        """Read a system of this kind from its directory."""
        manifest = read_manifest(directory)
        if manifest["system"] != cls.name:
            raise ModelError(f"{directory} holds a system {manifest['system']!r}, not {cls.name!r}")
        return cls._read(directory, manifest)

    @abstractmethod
    def _write(self, directory: Path) -> Settings:
        """Write arrays into the directory and return the settings that go into `system.json`."""

    @classmethod
    @abstractmethod
    def _read(cls, directory: Path, settings: Settings) -> Self:
        """The inverse of `_write`."""


def read_manifest(directory: Path) -> Settings:
    """The contents of `system.json`."""
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{directory} holds no saved system: {MANIFEST} cannot be read ({error})") from error
    if not isinstance(manifest, dict) or "system" not in manifest:
        raise ModelError(f"{directory / MANIFEST} does not say which system it holds")
    return manifest
