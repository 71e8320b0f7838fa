"""The whole application: the service, its health and figures, the pages, and the errors that all of them share."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles

from parasketch.errors import ParasketchError
from parasketch.serve.api import routes
from parasketch.serve.batching import Batcher
from parasketch.serve.clients import Keys
from parasketch.serve.door import App, Door
from parasketch.serve.judging import judging_routes
from parasketch.serve.limits import Limits, ServiceError, refusal
from parasketch.serve.metrics import Metrics
from parasketch.serve.models import Models
from parasketch.version import __version__

STATIC = Path(__file__).parent / "static"


@dataclass(frozen=True, kw_only=True)
class ServiceOptions:
    """How a service behaves."""

    limits: Limits = field(default_factory=Limits)
    keys: Keys | None = None
    log: TextIO | None = None
    """Where the access log goes."""
    log_texts: bool = False
    window: float = 0.004
    """Seconds that a text waits for others to be worked on with."""
    batch_size: int = 32
    study: Path | None = None
    """A study to be judged at /judge."""


def create_app(models: Models, options: ServiceOptions | None = None) -> App:
    """The ASGI application."""
    chosen = options or ServiceOptions()
    metrics = Metrics()
    batcher = Batcher(window=chosen.window, largest=chosen.batch_size, queue=chosen.limits.queue, metrics=metrics)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await batcher.close()

    app = FastAPI(
        title="parasketch",
        version=__version__,
        summary="Paraphrases whose form you can steer.",
        lifespan=lifespan,
        docs_url=None,  # its page would come from a CDN: there is one of our own
        redoc_url=None,
    )
    app.include_router(routes(models, batcher, chosen.limits))

    @app.get("/healthz")
    async def health() -> dict[str, Any]:
        """Whether the server answers."""
        return {"status": "ok", "version": __version__, "queue": batcher.waiting}

    @app.get("/metrics", response_class=PlainTextResponse)
    async def figures() -> str:
        """Prometheus' text format."""
        return metrics.render()

    @app.get("/", include_in_schema=False)
    async def explorer() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> FileResponse:
        return FileResponse(STATIC / "docs.html")

    if chosen.study is not None:
        app.include_router(judging_routes(chosen.study, STATIC))
    app.mount("/static", StaticFiles(directory=STATIC))
    _add_errors(app)
    return Door(
        app,
        limits=chosen.limits,
        keys=chosen.keys,
        metrics=metrics,
        log=chosen.log,
        log_texts=chosen.log_texts,
    )


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(ServiceError)
    @app.exception_handler(ParasketchError)
    async def refused(_: Request, error: ServiceError | ParasketchError) -> JSONResponse:
        answer = refusal(error)
        return JSONResponse(answer.body, answer.status, headers=answer.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        problems = [f"{'.'.join(map(str, each['loc'][1:])) or 'body'}: {each['msg']}" for each in error.errors()]
        return JSONResponse(ServiceError(422, "; ".join(problems)).body, 422)
