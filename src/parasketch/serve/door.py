"""What every request passes on its way in: who it is, how often it comes, how much it sends; and what is logged of it.

Plain ASGI rather than a framework's middleware, so that the body is counted while it comes, a refusal costs nothing,
and the handlers still see when a client leaves. The access log is one JSON object a line, without any text.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TextIO

from parasketch.serve.clients import Keys, RateLimit
from parasketch.serve.limits import Limits, ServiceError
from parasketch.serve.metrics import Metrics

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

CLIENT = "parasketch.client"
"""Where a request's scope says who asks."""
_GUARDED = "/v1/"
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]


class Door:
    """An ASGI application around another one."""

    def __init__(
        self, app: App, *, limits: Limits, keys: Keys | None, metrics: Metrics, log: TextIO | None, log_texts: bool
    ) -> None:
        self._app, self._limits, self._keys, self._metrics = app, limits, keys, metrics
        self._log, self._log_texts = log, log_texts
        self._rate = RateLimit(limits.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, status, client = time.perf_counter(), 0, (scope.get("client") or ("?",))[0]
        body = b""

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        try:
            if scope["path"].startswith(_GUARDED):
                client = self._admit(scope, client)
            scope[CLIENT] = client
            body = await self._body(scope, receive)
            await self._app(scope, _replay(body, receive), watch)
        except ServiceError as error:
            await refuse(error, watch)
        finally:
            seconds = time.perf_counter() - begin
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.count("requests_total", (("path", route), ("status", str(status))))
            self._metrics.observe("request_seconds", seconds, (("path", route),))
            self._write(scope, status, seconds, client, body)

    def _admit(self, scope: Scope, address: str) -> str:
        """The client's name, or a refusal."""
        client = address
        if self._keys is not None:
            given = _header(scope, b"authorization")
            name = self._keys.name_of(given.removeprefix("Bearer ").strip())
            if name is None:
                self._rate.check(address)  # or else keys could be tried at any speed
                raise ServiceError(401, "an API key is needed: send it as `Authorization: Bearer KEY`")
            client = f"key:{name}"
        self._rate.check(client)
        return client

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """The whole body, if it is not too long and does not take too long to come."""
        most = self._limits.body_bytes
        too_long = ServiceError(413, f"the body is longer than {most:,} bytes")
        length = _header(scope, b"content-length")
        if length.isdigit() and int(length) > most:
            raise too_long
        parts, size, more = [], 0, True
        try:
            async with asyncio.timeout(self._limits.receive_seconds):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ServiceError(400, "the client left before its request was complete")
                    parts.append(message.get("body", b""))
                    size, more = size + len(parts[-1]), message.get("more_body", False)
                    if size > most:
                        raise too_long
        except TimeoutError:
            raise ServiceError(408, f"the body did not come within {self._limits.receive_seconds:g} seconds") from None
        return b"".join(parts)

    def _write(self, scope: Scope, status: int, seconds: float, client: str, body: bytes) -> None:
        if self._log is None:
            return
        row = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "client": client, "method": scope["method"],
            "path": getattr(scope.get("route"), "path", "other"), "status": status, "ms": round(1000 * seconds, 1),
            "bytes": len(body),
        }  # fmt: skip
        if self._log_texts:
            row["body"] = body.decode(errors="replace")
        print(json.dumps(row), file=self._log, flush=True)


async def refuse(error: ServiceError, send: Send) -> None:
    """Answer with an error, and hang up: what else the client sends is not wanted."""
    body = json.dumps(error.body).encode()
    headers = {**error.headers, "Content-Type": "application/json", "Content-Length": str(len(body))}
    if error.status in (408, 413):
        headers["Connection"] = "close"
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": error.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body that was read, and then whatever comes: the news that the client has left."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")
