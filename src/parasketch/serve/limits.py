"""What the service allows, in one place, and the errors that say which limit was met and with which status.

Each limit has a status of its own kind, so that a client can tell what to do: send less (413, 422), slow down (429),
come back later (503) or ask for something smaller (504).
"""

from dataclasses import dataclass

from parasketch.errors import ParasketchError


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds of what one request, one client and all clients together may ask for."""

    body_bytes: int = 1_000_000
    """Of a request; more is answered with 413 before it is read."""
    characters: int = 2_000
    """Of a text or an exemplar (422)."""
    texts: int = 64
    """In one request (422)."""
    outputs: int = 20
    """n, paraphrases of each text (422)."""
    queue: int = 2_048
    """Texts that wait, of all clients (503)."""
    seconds: float = 30.0
    """From acceptance to the answer (504)."""
    receive_seconds: float = 10.0
    """For a client to send its headers, and then its body (408)."""
    rate: float = 50.0
    """Requests a second of one client, with twice as many at once (429); 0 for no limit."""
    connections: int = 4_096
    """Open at a time (503)."""


class ServiceError(Exception):
    """A request that is refused: the status, a sentence for people, and when to come back."""

    def __init__(self, status: int, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after = status, message, retry_after

    @property
    def headers(self) -> dict[str, str]:
        """Those that belong to the answer."""
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return {**headers, "WWW-Authenticate": "Bearer"} if self.status == 401 else headers

    @property
    def body(self) -> dict[str, object]:
        """What the client reads."""
        return {"error": {"status": self.status, "message": self.message}}


def refusal(error: ServiceError | ParasketchError) -> ServiceError:
    """An error of the package as one of the service: what was asked for makes no sense."""
    return error if isinstance(error, ServiceError) else ServiceError(422, str(error))
