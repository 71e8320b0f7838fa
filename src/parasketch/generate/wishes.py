"""What is asked for: a text with the form it is to have, and what a call wants for all of its texts."""

from dataclasses import dataclass

from parasketch.generate.inputs import PreparedText
from parasketch.generate.results import Sketch


@dataclass(frozen=True, kw_only=True)
class Request:
    """One text to paraphrase."""

    text: PreparedText
    prefix: Sketch
    """The first codes that its sketches must have; empty for any."""
    exemplar: str | None = None
    """The sentence that the prefix is the sketch of: other sentences with its sketch are compared with it, and sketches
    that share only a part of the prefix may help out when there are too few candidates."""


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What a call asks for, the same for all its texts."""

    n: int
    depth: int | None
    """How many codes a sketch has; None for as many as the model's have."""
    rerank: bool
    temperature: float | None
    seed: int
