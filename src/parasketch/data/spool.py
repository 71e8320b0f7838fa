"""Flat arrays that grow on the disk while a large corpus is read, and can be taken up again after a kill.

Memory does not grow with them. Now and then everything is synced and a line in a journal says how long each file was
and what else has to be remembered; whoever opens the spool again finds it as it was at the last such line.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

_JOURNAL = "journal.jsonl"


class Spool:
    """Named arrays, and named files of lines, in a directory of their own."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._streams: dict[str, IO[bytes]] = {}
        last = self._last_mark()
        self.state: dict[str, Any] | None = None if last is None else last["state"]
        """What was remembered with the last mark; None if there is none."""
        self._types: dict[str, str] = {} if last is None else last["types"]
        self._sizes: dict[str, int] = {} if last is None else last["sizes"]
        for path in directory.glob("*.bin"):
            os.truncate(path, self._sizes.get(path.stem, 0))  # what came after the last mark

    def append(self, **parts: NDArray[Any]) -> None:
        """Add to arrays; each keeps the type it began with."""
        for name, part in parts.items():
            kind = self._types.setdefault(name, part.dtype.str)
            self._write(name, np.ascontiguousarray(part, dtype=kind).tobytes())

    def append_lines(self, name: str, lines: Iterable[str]) -> None:
        """Add lines to a file."""
        self._write(name, "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"))

    def mark(self, state: dict[str, Any]) -> None:
        """From here it can go on after a kill."""
        for stream in self._streams.values():
            stream.flush()
            os.fsync(stream.fileno())
        with (self._directory / _JOURNAL).open("ab") as journal:
            line = {"sizes": self._sizes, "types": self._types, "state": state}
            journal.write(json.dumps(line).encode() + b"\n")
            journal.flush()
            os.fsync(journal.fileno())

    def path(self, name: str) -> Path:
        """The file of an array or of lines, complete."""
        if name in self._streams:
            self._streams[name].flush()
        return self._directory / f"{name}.bin"

    def array(self, name: str) -> NDArray[Any]:
        """An array, mapped into memory."""
        path = self.path(name)
        if not self._sizes.get(name):
            return np.empty(0, dtype=self._types.get(name, np.int32))
        return np.asarray(np.memmap(path, dtype=self._types[name], mode="r"))

    def close(self) -> None:
        for stream in self._streams.values():
            stream.close()
        self._streams.clear()

    def _write(self, name: str, data: bytes) -> None:
        if name not in self._streams:
            self._streams[name] = (self._directory / f"{name}.bin").open("ab")
        self._streams[name].write(data)
        self._sizes[name] = self._sizes.get(name, 0) + len(data)

    def _last_mark(self) -> dict[str, Any] | None:
        """The last line of the journal that is whole, and whose files are there."""
        journal = self._directory / _JOURNAL
        lines = journal.read_bytes().split(b"\n")[:-1] if journal.exists() else []
        for line in reversed(lines):
            try:
                mark: dict[str, Any] = json.loads(line)
            except ValueError:
                continue
            if all(self._length(name) >= size for name, size in mark["sizes"].items()):
                return mark
        return None

    def _length(self, name: str) -> int:
        path = self._directory / f"{name}.bin"
        return path.stat().st_size if path.exists() else 0
