"""Who asks, and how often: optional API keys, of which only hashes are on disk, and a rate for each client."""

import hashlib
import hmac
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from parasketch.errors import DataError, UsageError
from parasketch.files import read_lines, write_text
from parasketch.serve.limits import ServiceError

_MOST_CLIENTS = 10_000  # remembered at a time: an attacker with many addresses fills no memory
_NAME = re.compile(r"[\w.-]+")


class Keys:
    """The names and hashes of a key file, one `name sha256` a line.

    Keys are 32 random bytes, so a plain hash cannot be guessed back; a slow one would only slow down each request.
    """

    def __init__(self, hashes: dict[str, str]) -> None:
        self._hashes = hashes

    @classmethod
    def read(cls, path: Path) -> "Keys":
        """Read a key file."""
        hashes: dict[str, str] = {}
        for number, line in read_lines(path):
            if not line.strip():
                continue
            name, _, digest = line.partition(" ")
            if not _NAME.fullmatch(name) or not re.fullmatch(r"[0-9a-f]{64}", digest):
                raise DataError("no key", path=path, line=number, expected="a name and 64 hexadecimal digits")
            hashes[name] = digest
        return cls(hashes)

    def name_of(self, key: str) -> str | None:
        """Whose key it is. All are compared, each in constant time: how long it takes tells nothing."""
        digest, found = _digest(key), None
        for name, known in self._hashes.items():
            if hmac.compare_digest(digest, known):
                found = name
        return found

    def add(self, name: str) -> str:
        """A new key for somebody; it is shown once and kept nowhere."""
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name!r} is no name for a key (expected letters, digits, dots and dashes)")
        if name in self._hashes:
            raise UsageError(f"there is a key of {name} already: remove its line first")
        key = secrets.token_urlsafe(32)
        self._hashes[name] = _digest(key)
        return key

    def write(self, path: Path) -> None:
        """Write the file, readable by its owner only."""
        with write_text(path) as stream:
            stream.writelines(f"{name} {digest}\n" for name, digest in self._hashes.items())
        path.chmod(0o600)


class RateLimit:
    """A bucket of tokens for each client: `rate` a second flow in, twice as many fit."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # client: (tokens, when)

    def check(self, client: str) -> None:
        """Take a token, or refuse."""
        if not self._rate:
            return
        now, most = self._clock(), max(1.0, 2 * self._rate)
        tokens, since = self._buckets.pop(client, (most, now))
        tokens = min(most, tokens + (now - since) * self._rate)
        allowed = tokens >= 1
        self._buckets[client] = (tokens - allowed, now)
        while len(self._buckets) > _MOST_CLIENTS:
            self._buckets.popitem(last=False)
        if not allowed:
            wait = max(1, round((1 - tokens) / self._rate))
            raise ServiceError(429, f"more than {self._rate:g} requests a second: slow down", retry_after=wait)


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
