"""The REST service, version 1: what may be asked, what is answered, and which part of the package answers it."""

import asyncio
from collections.abc import Awaitable, Hashable, Sequence
from functools import partial
from math import exp
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, StrictInt

from parasketch.generate.paraphrases import Paraphrase, Sketch
from parasketch.serve.batching import Batcher, Work
from parasketch.serve.door import CLIENT
from parasketch.serve.limits import Limits, ServiceError
from parasketch.serve.models import Item, Models, Wanted, as_json

T = TypeVar("T")
Codes = list[Annotated[StrictInt, Field(ge=0, lt=1 << 31)]]
MOST_SEEDS = (1 << 63) - 1


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")
    model: str | None = Field(None, description="A name of /v1/models; the first one if none is given.")


class ParaphraseBody(_Body):
    """What to paraphrase, and how."""

    text: str | list[str] = Field(description="A text, or several.", examples=["How heavy is a moose?"])
    n: StrictInt = Field(1, description="Paraphrases of each text.")
    like: str | list[str] | None = Field(None, description="Say it in the form of this sentence (one, or one a text).")
    sketch: Codes | list[Codes] | None = Field(None, description="The first codes of the form (one, or one a text).")
    depth: StrictInt | None = Field(None, ge=0, description="How many codes are used; 0 for none.")
    temperature: float | None = Field(None, gt=0, le=100, description="Sample instead of searching.")
    seed: StrictInt = Field(0, ge=0, le=MOST_SEEDS, description="Which samples are drawn.")


class SketchBody(_Body):
    """Whose sketches to find."""

    text: str | list[str] = Field(description="A text, or several.")


class TreeBody(_Body):
    """Whose likeliest sketches to find."""

    text: str
    n: StrictInt = Field(14, description="How many sketches.")


class ParaphraseAnswer(BaseModel):
    """One paraphrase."""

    text: str
    sketch: list[int]
    score: float | None
    difference: float | None
    faithfulness: float | None
    lost: list[str]
    accepted: bool
    warnings: list[str]


class Paraphrased(BaseModel):
    """A text with its paraphrases, best first."""

    text: str
    paraphrases: list[ParaphraseAnswer]


class ParaphrasesAnswer(BaseModel):
    """In the order of the texts."""

    model: str
    results: list[Paraphrased]


class SketchesAnswer(BaseModel):
    """In the order of the texts."""

    model: str
    sketches: list[list[int]]


class Branch(BaseModel):
    """A whole sketch with its probability and what is said in it."""

    sketch: list[int]
    probability: float
    text: str


class TreeAnswer(BaseModel):
    """The likeliest sketches, and the one that the text itself has."""

    model: str
    own: list[int]
    branches: list[Branch]


def routes(models: Models, batcher: Batcher, limits: Limits) -> APIRouter:
    """All of /v1."""
    router = APIRouter(prefix="/v1")

    async def ask(request: Request, key: Hashable, work: Work, items: Sequence[Any]) -> list[Any]:
        """In the thread that works, together with others that ask for the same."""
        answer = batcher.submit(key, work, items, client=request.scope[CLIENT], seconds=limits.seconds)
        return await _unless_left(request, answer)

    async def paraphrases(request: Request, wanted: Wanted, items: Sequence[Item]) -> list[list[Paraphrase]]:
        return await ask(request, wanted, partial(models.paraphrase, wanted), items)

    async def sketches_of(request: Request, name: str, texts: Sequence[str]) -> list[Sketch]:
        return await ask(request, ("sketch", name), partial(models.sketches, name), texts)

    @router.post("/paraphrase")
    async def paraphrase(body: ParaphraseBody, request: Request) -> ParaphrasesAnswer:
        """Paraphrase a text or several, freely, in the form of another sentence, or in a given sketch."""
        texts = _texts(body.text, limits)
        check_most("n", body.n, limits.outputs)
        if body.like is not None and body.sketch is not None:
            raise ServiceError(422, "the form can follow an exemplar (like) or a sketch, not both")
        likes = None if body.like is None else _each(_texts(body.like, limits), isinstance(body.like, str), texts)
        wanted = Wanted(
            model=models.known(body.model), n=body.n, depth=body.depth, temperature=body.temperature, seed=body.seed,
            like=likes is not None, sketch=body.sketch is not None,
        )  # fmt: skip
        sketches = _sketches(body.sketch, texts)
        items = [
            Item(text, likes[place] if likes else None, sketches[place] if sketches else None)
            for place, text in enumerate(texts)
        ]
        found = await paraphrases(request, wanted, items)
        rows = [{"text": text, "paraphrases": [as_json(one) for one in each]} for text, each in _pair(texts, found)]
        return ParaphrasesAnswer.model_validate({"model": wanted.model, "results": rows})

    @router.post("/sketch")
    async def sketch(body: SketchBody, request: Request) -> SketchesAnswer:
        """The sketches that texts have themselves."""
        texts, name = _texts(body.text, limits), models.known(body.model)
        found = await sketches_of(request, name, texts)
        return SketchesAnswer(model=name, sketches=[list(each) for each in found])

    @router.post("/tree")
    async def tree(body: TreeBody, request: Request) -> TreeAnswer:
        """The likeliest sketches for a text, each with its probability and its best sentence."""
        texts, name = _texts(body.text, limits), models.known(body.model)
        check_most("n", body.n, limits.outputs)
        wanted = Wanted(model=name, n=body.n, rerank=False)
        [own] = await sketches_of(request, name, texts)
        [found] = await paraphrases(request, wanted, [Item(texts[0])])
        return TreeAnswer.model_validate({"model": name, "own": list(own), "branches": _branches(found)})

    @router.get("/models")
    async def list_models(request: Request) -> dict[str, Any]:
        """The models that are served, the default first, and the sentences of the explorer."""
        rows = await ask(request, "models", lambda names: [models.describe(name) for name in names], models.names)
        return {"models": rows, "examples": models.examples()[:12]}

    @router.get("/codes/{model:path}")
    async def codes(model: str, request: Request) -> dict[str, Any]:
        """What each code means: how many sentences of a list have it, and some of them."""
        name = models.known(model)
        [found] = await ask(request, "codes", lambda names: [models.codes(each) for each in names], [name])
        return {"model": name, "codes": found}

    return router


def check_most(what: str, value: int, most: int) -> None:
    """Refuse what is not from 1 to `most`."""
    if not 1 <= value <= most:
        raise ServiceError(422, f"{what} is {value} (expected 1 to {most})")


def _texts(given: str | list[str], limits: Limits) -> list[str]:
    texts = [given] if isinstance(given, str) else given
    if not 1 <= len(texts) <= limits.texts:
        raise ServiceError(422, f"{len(texts)} texts (expected 1 to {limits.texts} in one request)")
    for number, text in enumerate(texts, 1):
        if len(text) > limits.characters:
            raise ServiceError(
                422, f"text {number} has {len(text):,} characters (expected at most {limits.characters:,})"
            )
        if not text.strip():
            raise ServiceError(422, f"text {number} is empty: there is nothing to paraphrase")
    return texts


def _each(values: list[T], for_all: bool, texts: Sequence[str]) -> list[T]:
    if for_all:
        return values * len(texts)
    if len(values) != len(texts):
        raise ServiceError(422, f"{len(values)} forms for {len(texts)} texts (expected one for all, or one for each)")
    return values


def _sketches(given: Codes | list[Codes] | None, texts: Sequence[str]) -> list[Sketch] | None:
    if given is None:
        return None
    nested = [Sketch(each) for each in given if isinstance(each, list)]
    flat = [each for each in given if isinstance(each, int)]
    return _each(nested or [Sketch(flat)], not nested, texts)


def _pair(texts: Sequence[str], found: Sequence[T]) -> list[tuple[str, T]]:
    return list(zip(texts, found, strict=True))


def _branches(found: Sequence[Paraphrase]) -> list[dict[str, Any]]:
    """Unjudged paraphrases have their sketch's log probability as their score; a short list repeats its last one."""
    first = {one.sketch: one for one in reversed(found)}
    best = sorted(first.values(), key=lambda one: (-one.score, one.sketch))
    return [{"sketch": list(one.sketch), "probability": min(1.0, exp(one.score)), "text": one.text} for one in best]


async def _unless_left(request: Request, answer: Awaitable[T]) -> T:
    """The answer; if the client leaves before, its place in the queue is given back."""
    work = asyncio.ensure_future(answer)
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ServiceError(499, "the client has left")
        return await work
    finally:
        leaving.cancel()
        work.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
