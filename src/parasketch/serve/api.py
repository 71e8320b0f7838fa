"""The REST service, version 1: which part of the package answers which request."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Hashable, Mapping, Sequence
from functools import partial
from math import exp
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from parasketch.errors import ParasketchError
from parasketch.generate.paraphrases import Paraphrase, Sketch
from parasketch.serve.batching import Batcher, Work
from parasketch.serve.door import CLIENT
from parasketch.serve.limits import Limits, ServiceError, refusal
from parasketch.serve.models import Item, Models, Wanted, as_json
from parasketch.serve.schema import (
    Codes,
    ParaphraseBody,
    ParaphrasesAnswer,
    ParaphrasesLine,
    SketchBody,
    SketchesAnswer,
    TreeAnswer,
    TreeBody,
)

T = TypeVar("T")


class _Lines(StreamingResponse):
    """JSON, line by line; a proxy in between is asked not to collect them."""

    media_type = "application/x-ndjson"

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        super().init_headers({**(headers or {}), "Cache-Control": "no-store", "X-Accel-Buffering": "no"})


def routes(models: Models, batcher: Batcher, limits: Limits) -> APIRouter:
    """All of /v1."""
    router = APIRouter(prefix="/v1")

    async def ask(
        request: Request, key: Hashable, work: Work, items: Sequence[Any], seconds: float = limits.seconds
    ) -> list[Any]:
        """In the thread that works, together with others that ask for the same."""
        answer = batcher.submit(key, work, items, client=request.scope[CLIENT], seconds=seconds)
        return await _unless_left(request, answer)

    async def paraphrases(
        request: Request, wanted: Wanted, items: Sequence[Item], seconds: float = limits.seconds
    ) -> list[dict[str, Any]]:
        found = await ask(request, wanted, partial(models.paraphrase, wanted), items, seconds)
        return _rows(items, found)

    def asked_for(body: ParaphraseBody) -> tuple[Wanted, list[Item]]:
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
        return wanted, [
            Item(text, likes[place] if likes else None, sketches[place] if sketches else None)
            for place, text in enumerate(texts)
        ]

    async def sketches_of(request: Request, name: str, texts: Sequence[str]) -> list[Sketch]:
        return await ask(request, ("sketch", name), partial(models.sketches, name), texts)

    @router.post("/paraphrase")
    async def paraphrase(body: ParaphraseBody, request: Request) -> ParaphrasesAnswer:
        """Paraphrase a text or several, freely, in the form of another sentence, or in a given sketch."""
        wanted, items = asked_for(body)
        return ParaphrasesAnswer.model_validate(
            {"model": wanted.model, "results": await paraphrases(request, wanted, items)}
        )

    @router.post("/paraphrase/stream", response_class=_Lines, responses={200: {"model": ParaphrasesLine}})
    async def stream(body: ParaphraseBody, request: Request) -> StreamingResponse:
        """The same as lines of JSON: soon a first paraphrase of each text, then, `done`, what /paraphrase answers."""
        wanted, items = asked_for(body)
        end, quick = time.monotonic() + limits.seconds, wanted.quick()
        found = await ask(request, quick, partial(models.paraphrase_quickly, quick), items)

        async def lines() -> AsyncIterator[str]:
            if any(found):
                yield _line(wanted, _rows(items, found), done=False)
            try:
                rows = await paraphrases(request, wanted, items, end - time.monotonic())
            except (ServiceError, ParasketchError) as error:
                yield json.dumps(refusal(error).body) + "\n"  # the status has been sent
            else:
                yield _line(wanted, rows, done=True)

        return _Lines(lines())

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
        [found] = await ask(request, wanted, partial(models.paraphrase, wanted), [Item(texts[0])])
        return TreeAnswer.model_validate({"model": name, "own": list(own), "branches": _branches(found)})

    @router.get("/models")
    async def list_models() -> dict[str, Any]:
        """The models that are served, the default first, and some sentences; depth is null until a model is loaded."""
        return {"models": [models.described(name) for name in models.names], "examples": models.examples()[:12]}

    @router.get("/models/{model:path}")
    async def load_model(model: str, request: Request) -> dict[str, Any]:
        """One of them, which is loaded if it is not yet."""
        name = models.known(model)
        await ask(request, "load", lambda names: [models.get(each) for each in names], [name])
        return models.described(name)

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


def _rows(items: Sequence[Item], found: Sequence[Sequence[Paraphrase]]) -> list[dict[str, Any]]:
    return [
        {"text": item.text, "paraphrases": [as_json(one) for one in each]}
        for item, each in zip(items, found, strict=True)
    ]


def _line(wanted: Wanted, rows: list[dict[str, Any]], *, done: bool) -> str:
    return (
        ParaphrasesLine.model_validate({"model": wanted.model, "results": rows, "done": done}).model_dump_json() + "\n"
    )


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
