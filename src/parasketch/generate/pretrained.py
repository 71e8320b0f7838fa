"""Where models are (inside the package by name, in a directory, or on the Hugging Face Hub), and how they are loaded.

A model directory says in `config.json` which `kind` it is; each kind names the module of its engine
(`parasketch.systems.kinds`), which is imported when such a model is wanted and not before.
"""

import hashlib
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Protocol

from parasketch.errors import ModelError, UsageError
from parasketch.extras import needs
from parasketch.files import sha256
from parasketch.generate.engine import Engine
from parasketch.light.names import GRAPHS
from parasketch.model.directory import CARD, CONFIG, FIRST_KIND, TOKENIZER, WEIGHTS
from parasketch.systems.kinds import KINDS, kind_of
from parasketch.text.sentence_encoder import SentenceModel

SHIPPED = Path(__file__).parents[1] / "models"
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


class LoadEngine(Protocol):
    """What the module of a kind has under the name `load_engine`."""

    def __call__(
        self, directory: Path, device: str | None, semantic: SentenceModel | None, backend: str | None = None, /
    ) -> Engine: ...


def shipped_models() -> dict[str, Path]:
    """The paraphrasing models inside the package, by name; what else is there (the verifier) says another kind."""
    kinds = {
        path.parent: json.loads(path.read_text(encoding="utf-8")).get("kind", FIRST_KIND)
        for path in sorted(SHIPPED.glob(f"*/{CONFIG}"))
    }
    return {path.name: path for path, kind in kinds.items() if kind in KINDS}


def find_model(name: str) -> Path:
    """The directory of a model given by shipped name, path or Hub id."""
    shipped = shipped_models()
    if name in shipped:
        return shipped[name]
    if Path(name).is_dir():
        return Path(name)
    if _HUB_ID.fullmatch(name):
        return _download(name)
    raise ModelError(f"{name}: neither a model directory nor a model inside the package ({_names(shipped)})")


def _names(shipped: dict[str, Path]) -> str:
    return f"those are {', '.join(shipped)}" if shipped else "there is none in this installation"


def _download(name: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise ModelError(
            f"{name}: no such directory; to fetch a model of that name from the Hub: pip install 'parasketch[hub]'"
        ) from error
    try:
        return Path(
            snapshot_download(name, allow_patterns=[CONFIG, WEIGHTS, TOKENIZER, CARD, *GRAPHS], etag_timeout=10)
        )
    except Exception as error:  # the Hub library raises errors of many kinds: no network, no such model, no access
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(f"{name}: no such directory, and not to be had from the Hub: {reason}") from error


def fingerprint(name: str | None) -> str:
    """A hash of a model and its settings, or of all models of the package: changes when they do."""
    paths = list(shipped_models().values()) if name is None else [find_model(name)]
    return "+".join(_hash(path) for path in paths)


def _hash(directory: Path) -> str:
    """Of all files but the card."""
    files = sorted(path for path in directory.iterdir() if path.is_file() and path.name != CARD)
    hashes = [f"{path.name} {sha256(path)}\n" for path in files]
    return hashlib.sha256("".join(hashes).encode()).hexdigest()[:16]


def load_engine(
    directory: Path, device: str | None, semantic: SentenceModel | None, backend: str | None = None
) -> Engine:
    """The model of a directory, of whichever kind its config.json says, with the settings stored beside it."""
    kind = kind_of(directory)
    with needs("torch", f"the model {directory.name}"):
        load: LoadEngine = import_module(kind.engine).load_engine
    if backend is None or len(kind.backends) == 1:
        if backend not in (None, *kind.backends):
            raise UsageError(
                f"{directory}: a model of this kind runs on {kind.backends[0]} alone, not on the backend {backend!r}"
            )
        return load(directory, device, semantic)
    return load(directory, device, semantic, backend)
