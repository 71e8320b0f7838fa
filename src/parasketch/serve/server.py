"""uvicorn, with what it lacks: a time limit for headers that trickle in, and exit code 0 when it is asked to end."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Generator
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from parasketch.errors import UsageError
from parasketch.serve.door import App
from parasketch.serve.limits import Limits

_SHUTDOWN_SECONDS = 9
"""For requests that were accepted; what is not answered by then is dropped."""


def serve(app: App, *, host: str, port: int, limits: Limits, ready: Callable[[int], None]) -> None:
    """Serve until SIGTERM or SIGINT; `ready` is told the port, once connections are taken."""
    with _bound(host, port) as bound:
        Server(app, limits, ready).run(sockets=[bound])


class Server(uvicorn.Server):
    """A server that ends quietly."""

    def __init__(self, app: App, limits: Limits, ready: Callable[[int], None]) -> None:
        self._ready = ready
        config = uvicorn.Config(
            app,
            http=_protocol(limits.receive_seconds),
            ws="none",
            log_level="warning",
            access_log=False,
            limit_concurrency=limits.connections,
            timeout_keep_alive=10,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
            server_header=False,
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if sockets and not self.should_exit:
            self._ready(sockets[0].getsockname()[1])

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """A signal ends the server in good order, and the process goes on to its own end: exit code 0."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(ValueError, NotImplementedError, RuntimeError):  # not in the main thread: no signals
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, self.handle_exit, number, None)
        yield


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise UsageError(f"{host}:{port} cannot be used: {error.strerror or error} (try another --port)") from error
    return bound


def _protocol(seconds: float) -> type[asyncio.Protocol]:
    """uvicorn's HTTP/1.1, which hangs up on clients whose headers do not come within so many seconds."""

    class Protocol(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._deadline = self.loop.call_later(seconds, self.transport.close)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            waiting = self.cycle is None or self.cycle.response_complete
            if self._deadline is not None and not waiting:
                self._deadline.cancel()
                self._deadline = None
            elif self._deadline is None and waiting:
                self._deadline = self.loop.call_later(seconds, self.transport.close)

        def connection_lost(self, exc: Exception | None) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
            super().connection_lost(exc)

    return Protocol
