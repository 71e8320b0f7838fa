"""From the arguments of a call to requests: everything that can be wrong with them is found here, before any work."""

from collections.abc import Sequence
from typing import TypeVar, cast

from parasketch.errors import UsageError
from parasketch.generate.engine import Engine
from parasketch.generate.inputs import PreparedText, check_texts
from parasketch.generate.results import Sketch
from parasketch.generate.routing import Engines
from parasketch.generate.wishes import Request, Wishes

MOST_OUTPUTS = 1000

T = TypeVar("T")
Assignment = tuple[Engine, Request]


def check_wishes(wishes: Wishes, batch_size: int) -> None:
    """Refuse numbers that make no sense with any model."""
    if not 1 <= wishes.n <= MOST_OUTPUTS:
        raise UsageError(f"n is {wishes.n} (expected 1 to {MOST_OUTPUTS})")
    if wishes.temperature is not None and not 0 < wishes.temperature <= 100:
        raise UsageError(f"the temperature is {wishes.temperature} (expected more than 0)")
    if batch_size < 1:
        raise UsageError(f"the batch size is {batch_size} (expected at least 1)")


def assign(
    engines: Engines,
    texts: Sequence[str],
    *,
    like: str | Sequence[str] | None,
    sketch: Sequence[int] | Sequence[Sequence[int]] | None,
    depth: int | None,
) -> list[Assignment]:
    """A request for each text, with the model that works on it."""
    if like is not None and sketch is not None:
        raise UsageError("the form can follow an exemplar (like) or a sketch, not both")
    check_texts(texts)
    chosen = [engines.choose(text) for text in texts]
    prepared = _prepare(chosen, texts)
    for engine in dict.fromkeys(chosen):
        _check_depth(engine, depth)
    exemplars: list[str] | list[None] = [None] * len(texts)
    if like is not None:
        exemplars = given = _one_each([like] * len(texts) if isinstance(like, str) else list(like), texts, "exemplar")
        prefixes = sketches_of(chosen, given)
    else:
        prefixes = [Sketch(each) for each in _one_each(_sketches(sketch, len(texts)), texts, "sketch")]
        for engine, prefix in zip(chosen, prefixes, strict=True):
            _check_sketch(engine, prefix)
    return [
        (engine, Request(text=text, prefix=prefix, exemplar=exemplar))
        for engine, text, prefix, exemplar in zip(chosen, prepared, prefixes, exemplars, strict=True)
    ]


def sketches_of(chosen: Sequence[Engine], texts: Sequence[str]) -> list[Sketch]:
    """The sketch that each text has itself, in the eyes of the model chosen for it."""
    check_texts(texts)
    sketches: dict[tuple[Engine, str], Sketch] = {}
    for engine in dict.fromkeys(chosen):
        own = list(dict.fromkeys(text for each, text in zip(chosen, texts, strict=True) if each is engine))
        found = engine.sketches_of(engine.prepare(own))
        sketches.update({(engine, text): sketch for text, sketch in zip(own, found, strict=True)})
    return [sketches[pair] for pair in zip(chosen, texts, strict=True)]


def batches(assignments: Sequence[Assignment], wishes: Wishes, batch_size: int) -> list[tuple[Engine, list[int]]]:
    """Places of requests of like length that one model works on together, short ones first."""
    result = []
    for engine in dict.fromkeys(engine for engine, _ in assignments):
        places = [place for place, (each, _) in enumerate(assignments) if each is engine]
        places.sort(key=lambda place: len(assignments[place][1].text.tokens))
        size = engine.batch_size(wishes, batch_size)
        result += [(engine, places[start : start + size]) for start in range(0, len(places), size)]
    return result


def _prepare(chosen: Sequence[Engine], texts: Sequence[str]) -> list[PreparedText]:
    prepared: dict[int, PreparedText] = {}
    for engine in dict.fromkeys(chosen):
        places = [place for place, each in enumerate(chosen) if each is engine]
        prepared.update(zip(places, engine.prepare([texts[place] for place in places]), strict=True))
    return [prepared[place] for place in range(len(texts))]


def _sketches(sketch: Sequence[int] | Sequence[Sequence[int]] | None, count: int) -> list[Sequence[int]]:
    """One prefix a text: none, the same for all, or those given."""
    if sketch is None:
        return [()] * count
    if any(isinstance(part, Sequence) for part in sketch):
        return list(cast(Sequence[Sequence[int]], sketch))
    return [cast(Sequence[int], sketch)] * count


def _one_each(values: list[T], texts: Sequence[str], what: str) -> list[T]:
    if len(values) != len(texts):
        raise UsageError(f"{len(values)} {what}s for {len(texts)} texts (expected one for all, or one for each)")
    return values


def _check_depth(engine: Engine, depth: int | None) -> None:
    if depth is not None and not 0 <= depth <= engine.depth:
        raise UsageError(
            f"depth {depth}: a sketch of this model has {engine.depth} codes (expected 0 to {engine.depth})"
        )


def _check_sketch(engine: Engine, sketch: Sketch) -> None:
    if len(sketch) > engine.depth:
        raise UsageError(f"the sketch {sketch} is too long: a sketch of this model has {engine.depth} codes")
    last = engine.model.config.codes - 1
    for level, code in enumerate(sketch, 1):
        if not 0 <= code <= last:
            raise UsageError(f"code {code} at level {level} of the sketch is out of range (expected 0 to {last})")
