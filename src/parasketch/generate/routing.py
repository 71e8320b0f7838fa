"""Which model works on which text: one model for everything, or the models of the package side by side."""

import re
from pathlib import Path
from typing import Protocol

import torch

from parasketch.config import from_dict
from parasketch.errors import ConfigError, ModelError, UsageError
from parasketch.generate.engine import Engine
from parasketch.generate.pretrained import find_model, shipped_models
from parasketch.generate.semantic import SentenceModel
from parasketch.generate.settings import GenerateConfig
from parasketch.systems.kinds import load_model

FOR_QUESTIONS, FOR_OTHERS = "questions", "captions"
_QUESTION = re.compile(
    r".*\?\W*$|\W*(?:who|whom|whose|what|when|where|why|which|how|is|are|was|were|do|does|did|can|could|will|would"
    r"|should|has|have|had|may|am)\b",
    re.IGNORECASE | re.DOTALL,
)


class Engines(Protocol):
    """One or more models."""

    def first(self) -> Engine:
        """The one that speaks for all."""
        ...

    def choose(self, text: str) -> Engine:
        """The one for this text."""
        ...


class OneEngine:
    """One model for everything."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def first(self) -> Engine:
        return self._engine

    def choose(self, text: str) -> Engine:
        del text
        return self._engine


class DefaultEngines:
    """The models of the package, each loaded when it is first needed."""

    def __init__(self, device: torch.device, semantic: SentenceModel | None) -> None:
        self._device, self._semantic = device, semantic
        self._loaded: dict[str, Engine] = {}

    def first(self) -> Engine:
        return self._get(FOR_QUESTIONS)

    def choose(self, text: str) -> Engine:
        return self._get(FOR_QUESTIONS if is_question(text) else FOR_OTHERS)

    def _get(self, name: str) -> Engine:
        if name not in self._loaded:
            self._loaded[name] = load_engine(find_model(name), self._device, self._semantic)
        return self._loaded[name]


def is_question(text: str) -> bool:
    """Whether a text ends in a question mark or begins as questions do."""
    return _QUESTION.match(text) is not None


def load_engines(name: str | None, device: torch.device, semantic: SentenceModel | None) -> Engines:
    """The named model, or the default: the package's models for questions and for other sentences."""
    if name is not None:
        return OneEngine(load_engine(find_model(name), device, semantic))
    shipped = shipped_models()
    if {FOR_QUESTIONS, FOR_OTHERS} <= set(shipped):
        return DefaultEngines(device, semantic)
    if len(shipped) == 1:
        return OneEngine(load_engine(next(iter(shipped.values())), device, semantic))
    raise ModelError("this installation has no default model: name a model, or the directory of one")


def load_engine(directory: Path, device: torch.device, semantic: SentenceModel | None) -> Engine:
    """The model of a directory with the settings stored beside it."""
    loaded = load_model(directory)
    try:
        config = from_dict(GenerateConfig, loaded.sections.get("generate", {}), "generate.")
    except ConfigError as error:
        raise ModelError(f"{directory}: {error}") from error
    return Engine(loaded.model, loaded.tokenizer, config, device=device, semantic=semantic)


def find_device(name: str | None) -> torch.device:
    """The device of that name; without one a GPU if there is one."""
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"device {name!r} cannot be used: {reason}") from error
    return device
