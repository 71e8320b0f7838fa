"""A server in a thread, with a model that needs no weights."""

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from parasketch.errors import UsageError
from parasketch.generate.engine import Ability
from parasketch.generate.paraphrases import Paraphrase, Sketch
from parasketch.generate.stopping import Stopped, stop_if_unwanted
from parasketch.serve.app import ServiceOptions, create_app
from parasketch.serve.limits import Limits
from parasketch.serve.models import Models
from parasketch.serve.server import Server, _bound


class FakeModel:
    """Says every text in a way that shows what was asked, and counts its batches.

    It works while its gate is open; without the least effort, while the second one is open too.
    """

    abilities: frozenset[Ability] = frozenset({"effort"})

    def __init__(self, depth: int = 3, seconds: float = 0.0) -> None:
        self.depth, self.seconds = depth, seconds
        self.batches: list[list[str]] = []
        self.stopped: list[list[str]] = []
        self.gate, self.second_gate = threading.Event(), threading.Event()
        self.gate.set()
        self.second_gate.set()

    def sketch(self, text: list[str]) -> list[Sketch]:
        return [Sketch(len(each) % 4, len(each) % 3, 1)[: self.depth] for each in text]

    def __call__(
        self,
        text: list[str],
        /,
        *,
        n: int,
        like: Any,
        sketch: Any,
        depth: Any,
        rerank: bool,
        temperature: Any,
        seed: int,
        effort: int | None = None,
    ) -> list[list[Paraphrase]]:
        del temperature
        self._pass(self.gate, text)
        if effort is None:
            self._pass(self.second_gate, text)
        time.sleep(self.seconds)
        self.batches.append(list(text))
        if "refuse later" in text and effort is None:
            raise UsageError("this text is refused after all")
        if "refuse" in text:
            raise UsageError("this text is refused")
        if "crash" in text:
            raise ZeroDivisionError
        results = []
        for place, each in enumerate(text):
            form = Sketch(sketch[place]) if sketch else Sketch(self.sketch(like)[place]) if like else Sketch(1)
            form = Sketch([*form, 0, 2, 1][: self.depth if depth is None else depth])
            words = each.split()
            results.append(
                [
                    Paraphrase(
                        text=" ".join(
                            ["quickly"] * (effort is not None)
                            + words[k % len(words) :]
                            + words[: k % len(words)]
                            + [f"({form}, {seed})"]
                        ),
                        sketch=form if rerank else Sketch(k % 3, k % 2, k % 4),
                        score=-1.0 - k / 2,
                        difference=0.5 if rerank else float("nan"),
                        accepted=k < 4,
                        lost=("7",) if k == 4 else (),
                    )
                    for k in range(n)
                ]
            )
        return results

    def _pass(self, gate: threading.Event, text: list[str]) -> None:
        end = time.monotonic() + 20
        while not gate.wait(0.01) and time.monotonic() < end:
            try:
                stop_if_unwanted()
            except Stopped:
                self.stopped.append(list(text))
                raise


class OneEffort(FakeModel):
    """A model that always makes the same effort."""

    abilities = frozenset()


@dataclass
class Service:
    """Where a server is, and its models."""

    port: int
    model: FakeModel
    server: Server

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, method: str, path: str, body: Any, headers: dict[str, str] | None, source: str = "127.0.0.1"
    ) -> "Answer":
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30, source_address=(source, 0))
        with contextlib.closing(connection):
            data = json.dumps(body).encode() if not isinstance(body, bytes | None) else body
            connection.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            return Answer(
                response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
            )

    def post(self, path: str, body: Any, headers: dict[str, str] | None = None, source: str = "127.0.0.1") -> "Answer":
        return self.ask("POST", path, body, headers, source)

    def get(self, path: str, headers: dict[str, str] | None = None) -> "Answer":
        return self.ask("GET", path, None, headers)


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> str:
        return str(self.json["error"]["message"])


@contextlib.contextmanager
def running(options: ServiceOptions | None = None, models: dict[str, FakeModel] | None = None) -> Iterator[Service]:
    chosen = options or ServiceOptions(limits=Limits(rate=0))
    served = models or {"fake": FakeModel(), "flat": FakeModel(depth=1)}
    loaders = {name: (lambda model=model: model) for name, model in served.items()}  # type: ignore[misc]
    up, ports = threading.Event(), []

    def ready(port: int) -> None:
        ports.append(port)
        up.set()

    server = Server(create_app(Models(loaders), chosen), chosen.limits, ready)
    with _bound("127.0.0.1", 0) as bound:
        thread = threading.Thread(target=lambda: server.run(sockets=[bound]), daemon=True)
        thread.start()
        assert up.wait(60)
        try:
            yield Service(ports[0], next(iter(served.values())), server)
        finally:
            server.should_exit = True
            for model in served.values():
                if isinstance(model, FakeModel):
                    model.gate.set()
                    model.second_gate.set()
            thread.join(20)


@pytest.fixture
def service() -> Iterator[Service]:
    with running() as found:
        yield found


def limited(**changes: Any) -> ServiceOptions:
    """Options with other limits."""
    return ServiceOptions(limits=replace(Limits(rate=0), **changes))
