"""What a model directory says of itself, read without the library that runs the model."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from parasketch.config import C, from_dict
from parasketch.errors import ConfigError, ModelError
from parasketch.files import sha256
from parasketch.text.tokenizer import Tokenizer

FORMAT = 1
CONFIG, WEIGHTS, TOKENIZER, CARD = "config.json", "model.safetensors", "tokenizer.json", "README.md"
HASHES = "sha256"
"""The section of config.json with the hashes of the other files; models that are older have none."""
FIRST_KIND = "hrqvae"
"""The kind of models that do not say theirs: they were written when there was one."""

Sections = dict[str, Any]


@dataclass(frozen=True)
class ModelDirectory:
    """A model directory that was found to be one; its weights and its tokenizer are not read yet."""

    path: Path
    kind: str
    config: Sections
    """The section `model`: the shape of the network."""
    sections: Sections
    """The other sections of config.json, such as `generate` and `data`."""
    hashes: Sections
    """The hashes of the other files, by their names."""

    def read_tokenizer(self) -> Tokenizer:
        """The tokenizer beside the weights."""
        return Tokenizer.load(self.path / TOKENIZER)

    def read_config(self, shape: type[C]) -> C:
        """The shape of the network as a dataclass."""
        try:
            return from_dict(shape, self.config, "model.")
        except ConfigError as error:
            raise ModelError(f"{self.path / CONFIG}: {error}") from error

    def check_hash(self, name: str) -> None:
        """Refuse a file that is not the one that config.json was written with."""
        if name in self.hashes and self.hashes[name] != sha256(self.path / name):
            raise ModelError(f"{self.path / name}: damaged, or not the file that {CONFIG} was written with")


M = TypeVar("M", bound=ModelDirectory)


def open_directory(directory: Path | str, kind: type[M]) -> M:
    """Look into a model directory; one that is missing or damaged is a ModelError."""
    path = Path(directory)
    if not path.is_dir():
        raise ModelError(f"{path}: no such model directory")
    missing = [name for name in (CONFIG, WEIGHTS, TOKENIZER) if not (path / name).is_file()]
    if missing:
        raise ModelError(f"{path}: not a model directory: {', '.join(missing)} missing")
    sections = read_config(path)
    config, hashes = sections.pop("model"), sections.pop(HASHES, {})
    if not isinstance(hashes, dict):
        raise ModelError(f"{path / CONFIG}: {HASHES}: expected the hashes of files by their names")
    return kind(path, str(sections.pop("kind", FIRST_KIND)), config, sections, hashes)


def read_config(directory: Path) -> Sections:
    """The sections of config.json, checked to be those of a model; without `format`."""
    path = directory / CONFIG
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: cannot be read: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        raise ModelError(f"{path}: not the configuration of a parasketch model (no section `model`)")
    if content.pop("format", None) != FORMAT:
        raise ModelError(f"{path}: written by another version (expected format {FORMAT})")
    return content
