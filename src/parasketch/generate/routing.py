"""Which model works on which text: one model for everything, or the models of the package side by side."""

import re
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Protocol

from parasketch.errors import ModelError, UsageError
from parasketch.generate.engine import Engine, require
from parasketch.generate.paraphrases import Sketch
from parasketch.generate.pretrained import find_model, load_engine, shipped_models
from parasketch.generate.requests import Options, PreparedText, Request
from parasketch.systems.sketchlm.place import is_installed
from parasketch.text.sentence_encoder import SentenceModel

FOR_ALL = "everyday"
"""The default, where the base language model that it stands on has been fetched."""
FOR_QUESTIONS, FOR_OTHERS = "questions", "captions"
_QUESTION = re.compile(
    r".*\?\W*$|\W*(?:who|whom|whose|what|when|where|why|which|how|is|are|was|were|do|does|did|can|could|will|would"
    r"|should|has|have|had|may|am)\b",
    re.IGNORECASE | re.DOTALL,
)

Assignment = tuple[Engine, Request]


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

    def __init__(self, device: str | None, semantic: SentenceModel | None, backend: str | None) -> None:
        self._device, self._semantic, self._backend = device, semantic, backend
        self._loaded: dict[str, Engine] = {}

    def first(self) -> Engine:
        return self._get(FOR_QUESTIONS)

    def choose(self, text: str) -> Engine:
        return self._get(FOR_QUESTIONS if is_question(text) else FOR_OTHERS)

    def _get(self, name: str) -> Engine:
        if name not in self._loaded:
            self._loaded[name] = load_engine(find_model(name), self._device, self._semantic, self._backend)
        return self._loaded[name]


def is_question(text: str) -> bool:
    """Whether a text ends in a question mark or begins as questions do."""
    return _QUESTION.match(text) is not None


def has_base() -> bool:
    """Whether the model for everyday English can run: onnxruntime is there, and so is the base that it stands on."""
    return is_installed() and find_spec("onnxruntime") is not None


def load_engines(
    name: str | None, device: str | None, semantic: SentenceModel | None, backend: str | None = None
) -> Engines:
    """The named model, or the default: `everyday`, or else the package's small models for questions and others."""
    if name is not None:
        return OneEngine(load_engine(find_model(name), device, semantic, backend))
    shipped = shipped_models()
    if FOR_ALL in shipped and has_base():
        return OneEngine(load_engine(shipped[FOR_ALL], device, semantic, backend))
    if {FOR_QUESTIONS, FOR_OTHERS} <= set(shipped):
        return DefaultEngines(device, semantic, backend)
    if len(shipped) == 1:
        return OneEngine(load_engine(next(iter(shipped.values())), device, semantic, backend))
    raise ModelError("this installation has no default model: name a model, or the directory of one")


def assign(
    engines: Engines,
    texts: Sequence[str],
    options: Options,
    *,
    exemplars: Sequence[str] | None = None,
    prefixes: Sequence[Sketch] | None = None,
) -> list[Assignment]:
    """A request for each text, with the model that works on it; what a model cannot do is an error."""
    if exemplars is not None and prefixes is not None:
        raise UsageError("the form can follow an exemplar (like) or a sketch, not both")
    chosen = [engines.choose(text) for text in texts]
    for engine in dict.fromkeys(chosen):
        _check_abilities(engine, options, like=exemplars is not None, sketch=prefixes is not None)
    if exemplars is not None:
        prefixes = _exemplar_sketches(chosen, exemplars)
    prefixes = prefixes or [Sketch()] * len(texts)
    followed: Sequence[str | None] = exemplars or [None] * len(texts)
    for engine, prefix in zip(chosen, prefixes, strict=True):
        _check_sketch(engine, prefix)
    return [
        (engine, Request(text=text, prefix=prefix, exemplar=exemplar))
        for engine, text, prefix, exemplar in zip(chosen, _prepare(chosen, texts), prefixes, followed, strict=True)
    ]


def sketches_of(chosen: Sequence[Engine], texts: Sequence[str]) -> list[Sketch]:
    """The sketch that each text has itself, in the eyes of the model chosen for it."""
    sketches: dict[tuple[Engine, str], Sketch] = {}
    for engine in dict.fromkeys(chosen):
        require(engine, "sketch", "sketch")
        own = list(dict.fromkeys(text for each, text in zip(chosen, texts, strict=True) if each is engine))
        found = engine.sketches_of(engine.prepare(own))
        sketches.update({(engine, text): sketch for text, sketch in zip(own, found, strict=True)})
    return [sketches[pair] for pair in zip(chosen, texts, strict=True)]


def batches(assignments: Sequence[Assignment], options: Options, batch_size: int) -> list[tuple[Engine, list[int]]]:
    """Places of requests of like length that one model works on together, short ones first."""
    result = []
    for engine in dict.fromkeys(engine for engine, _ in assignments):
        places = [place for place, (each, _) in enumerate(assignments) if each is engine]
        places.sort(key=lambda place: len(assignments[place][1].text.tokens))
        size = engine.batch_size(options, batch_size)
        result += [(engine, places[start : start + size]) for start in range(0, len(places), size)]
    return result


def _prepare(chosen: Sequence[Engine], texts: Sequence[str]) -> list[PreparedText]:
    prepared: dict[int, PreparedText] = {}
    for engine in dict.fromkeys(chosen):
        places = [place for place, each in enumerate(chosen) if each is engine]
        prepared.update(zip(places, engine.prepare([texts[place] for place in places]), strict=True))
    return [prepared[place] for place in range(len(texts))]


def _exemplar_sketches(chosen: Sequence[Engine], exemplars: Sequence[str]) -> list[Sketch]:
    """The sketch of each text's exemplar; an engine without sketches follows the exemplar in a way of its own."""
    prefixes = [Sketch()] * len(exemplars)
    places = [place for place, engine in enumerate(chosen) if "sketch" in engine.abilities]
    found = sketches_of([chosen[place] for place in places], [exemplars[place] for place in places])
    for place, prefix in zip(places, found, strict=True):
        prefixes[place] = prefix
    return prefixes


def _check_abilities(engine: Engine, options: Options, *, like: bool, sketch: bool) -> None:
    if like:
        require(engine, "like", "like")
    if sketch:
        require(engine, "sketch", "sketch")
    if options.temperature is not None:
        require(engine, "temperature", "temperature")
    if options.effort is not None:
        require(engine, "effort", "effort")
    if options.rounds is not None:
        require(engine, "rounds", "rounds")
    if options.bow:
        require(engine, "bow", "show_bow")
    if options.depth is not None:
        require(engine, "depth", "depth")
        if options.depth > engine.depth:
            raise UsageError(
                f"depth {options.depth}: a sketch of this model has {engine.depth} codes (expected 0 to {engine.depth})"
            )


def _check_sketch(engine: Engine, sketch: Sketch) -> None:
    if len(sketch) > engine.depth:
        raise UsageError(f"the sketch {sketch} is too long: a sketch of this model has {engine.depth} codes")
    last = engine.codes - 1
    for level, code in enumerate(sketch, 1):
        if not 0 <= code <= last:
            raise UsageError(f"code {code} at level {level} of the sketch is out of range (expected 0 to {last})")
