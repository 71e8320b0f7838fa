"""Standard input as it arrives: its lines, and whether the next one is there yet.

Somebody who types, or a program that waits for an answer, must get the paraphrases of a line without writing 32 more.
"""

import os
import select
import sys
from typing import IO, cast

_BLOCK = 1 << 16


class Arriving:
    """Lines of a pipe or a terminal."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._buffer, self._ended = descriptor, bytearray(), False

    def readline(self) -> bytes:
        """The next line with its end, waiting for it; empty after the last."""
        while (end := self._buffer.find(b"\n") + 1) == 0 and not self._ended:
            self._read()
        line = bytes(self._buffer[: end or len(self._buffer)])
        del self._buffer[: len(line)]
        return line

    def is_silent(self) -> bool:
        """Whether the next line would have to be waited for."""
        while b"\n" not in self._buffer and not self._ended:
            if not select.select([self._descriptor], [], [], 0)[0]:
                return True
            self._read()
        return False

    def _read(self) -> None:
        block = os.read(self._descriptor, _BLOCK)
        self._buffer += block
        self._ended = not block


def standard_input() -> Arriving | None:
    """Standard input, if it is one that lines arrive in."""
    if sys.platform == "win32":  # where only sockets can be asked whether something has come
        return None
    try:
        return Arriving(sys.stdin.fileno())
    except (OSError, ValueError, AttributeError):  # replaced by something in memory
        return None


def as_binary(stream: Arriving) -> IO[bytes]:
    """The same for readers of files, which use `readline` alone."""
    return cast("IO[bytes]", stream)
