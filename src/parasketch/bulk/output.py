"""An output that grows batch by batch, can be cut anywhere and continued, and never harms what somebody else wrote.

Beside the output stands its record, a file of JSON lines: first the settings that decide the results, then for every
batch how many rows of the input had been used and how long the output was, each with a hash. To continue, the last
batch whose output is still there as it was written is found, and the input must begin with the rows that it came from.
What the output has after that (a batch that was cut) is never removed: what is written next must agree with it. So a
file that this program did not write, or that somebody changed, is found out before a byte of it is touched. The output
is locked while it is written; the lock ends with its owner.
"""

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from parasketch.bulk.reading import Row
from parasketch.errors import DataError, UsageError
from parasketch.files import STANDARD_STREAM, lock, write_text

Settings = Mapping[str, Any]

_BLOCK = 1 << 20


class Hash:
    """A hash of what has been seen so far, 32 characters."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)

    def add(self, data: bytes) -> None:
        self._hash.update(data)

    def add_row(self, row: Row) -> None:
        self.add(json.dumps(row.fields, default=str).encode() + b"\n")

    def __str__(self) -> str:
        return self._hash.hexdigest()


@dataclass(frozen=True)
class Batch:
    """What had been done when a batch was written."""

    rows: int = 0
    bytes: int = 0
    input: str = field(default_factory=lambda: str(Hash()))
    output: str = field(default_factory=lambda: str(Hash()))


class Output:
    """An output that is open for more."""

    def __init__(self, stream: IO[bytes], name: str, done: Batch, *, record: IO[bytes] | None = None) -> None:
        self.done = done
        """What is there already, and need not be done again."""
        self._stream, self._name, self._record = stream, name, record
        self._size, self._hash = 0, Hash()  # of what is known to be right

    @classmethod
    def continued(cls, stream: IO[bytes], name: str, batches: list[Batch], record: IO[bytes]) -> "Output":
        """Go on after the last batch that the file still holds as it was written."""
        stream.seek(0)
        output, position, found = Hash(), 0, Batch()
        for batch in batches:
            for block in _blocks(stream, batch.bytes - position):
                output.add(block)
                position += len(block)
            if position < batch.bytes or str(output) != batch.output:
                break
            found = batch
        result = cls(stream, name, found, record=record)
        stream.seek(0)
        for block in _blocks(stream, found.bytes):
            result._hash.add(block)
        result._size = found.bytes
        return result

    def write(self, text: str, rows: int, source: Hash) -> None:
        """Add a batch, durably: `rows` of the input with the hash `source` are done then.

        Where the file has something already it must be the same, and nothing is written.
        """
        # What UTF-8 cannot hold (half a surrogate pair) is escaped as JSON does it.
        data = text.encode("utf-8", "backslashreplace")
        there = b"" if self._record is None else self._read(len(data))
        if not data.startswith(there):
            raise UsageError(
                f"{self._name} has something else after byte {self._size:,} than would be written now: it is left as "
                "it is; give another --out"
            )
        self._stream.write(data[len(there) :])
        self._stream.flush()
        self._size += len(data)
        self._hash.add(data)
        if self._record is not None:
            os.fsync(self._stream.fileno())
            batch = {"rows": rows, "bytes": self._size, "input": str(source), "output": str(self._hash)}
            self._record.write(json.dumps(batch).encode() + b"\n")
            self._record.flush()

    def check_end(self) -> None:
        """After the last row nothing may be left in the file."""
        if self._record is not None and self._read(1):
            raise UsageError(f"{self._name} has more in it than the rows of the input: it is left as it is")

    def _read(self, size: int) -> bytes:
        """What the file has after all that is known to be right; writing appends, wherever it was read."""
        self._stream.seek(self._size)
        return self._stream.read(size)


def record_path(out: str) -> Path:
    """Where the record of an output is kept."""
    return Path(f"{out}.record.jsonl")


@contextlib.contextmanager
def open_output(path: str, out: str, settings: Settings, *, resume: bool) -> Iterator[Output]:
    """The output for the rows of `path`, open for more; `-` is standard output. What is wrong is not touched."""
    if out == STANDARD_STREAM:
        if resume:
            raise UsageError("--resume needs a file to continue: name it with --out")
        yield Output(sys.stdout.buffer, "standard output", Batch())
        return
    target = Path(out)
    if _is_same(Path(path), target) or _is_same(Path(path), record_path(out)):
        raise UsageError(f"{out} is the input itself: give another --out")
    with _naming_output(out):
        if target.exists() and not target.is_file() and not target.is_dir():  # a device or a pipe
            if resume:
                raise UsageError(f"{out} is no file that could be continued")
            with target.open("wb") as device:
                yield Output(device, out, Batch())
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("a+b") as stream, lock(target), _open(stream, out, settings, resume=resume) as output:
            yield output


@contextlib.contextmanager
def _open(stream: IO[bytes], out: str, settings: Settings, *, resume: bool) -> Iterator[Output]:
    """The output in a file that is locked."""
    size = os.fstat(stream.fileno()).st_size
    if size and not resume:
        raise UsageError(f"{out} exists: continue it with --resume, or remove it first")
    if size:
        batches = _read_record(out, settings)
    else:
        batches = []
        if record_path(out).exists() and _settings_in(_record_lines(out)) is None:
            raise UsageError(
                f"{record_path(out)} is in the way and was not written by this command: give another --out"
            )
        with write_text(record_path(out)) as beginning:
            beginning.write(json.dumps({"settings": dict(settings)}) + "\n")
    with record_path(out).open("ab") as record:
        if size and not record_path(out).read_bytes().endswith(b"\n"):
            record.write(b"\n")  # a line that was cut stands alone and is passed over
        yield Output.continued(stream, out, batches, record)


def _read_record(out: str, settings: Settings) -> list[Batch]:
    """The batches of an output that was made with these settings; any other output is an error."""
    values = _record_lines(out) if record_path(out).is_file() else []
    before = _settings_in(values)
    if before is None:
        raise UsageError(
            f"{out} was not written by this command (there is no {record_path(out).name} of its making beside it): "
            "it is left as it is; give another --out"
        )
    now = json.loads(json.dumps(dict(settings)))
    changed = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    if changed:
        key = changed[0]
        raise UsageError(
            f"{out} was made with other settings ({key}: {before.get(key)!r}, now {now.get(key)!r}): "
            "give the same ones, or another --out"
        )
    batches = [_as_batch(value) for value in values[1:]]
    return sorted((batch for batch in batches if batch is not None), key=lambda batch: batch.bytes)


def _record_lines(out: str) -> list[dict[str, Any]]:
    """The lines of a record that are objects; one that was cut is none."""
    lines = record_path(out).read_text(encoding="utf-8", errors="replace").splitlines()
    return [value for line in lines if isinstance(value := _parsed(line), dict)]


def _settings_in(record: list[dict[str, Any]]) -> dict[str, Any] | None:
    settings = record[0].get("settings") if record else None
    return settings if isinstance(settings, dict) else None


def _as_batch(value: dict[str, Any]) -> Batch | None:
    numbers, hashes = (value.get("rows"), value.get("bytes")), (value.get("input"), value.get("output"))
    if not all(isinstance(each, int) for each in numbers) or not all(isinstance(each, str) for each in hashes):
        return None
    return Batch(**{key: value[key] for key in ("rows", "bytes", "input", "output")})


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _blocks(stream: IO[bytes], size: int) -> Iterator[bytes]:
    """The next `size` bytes, or as many as there are."""
    while size > 0 and (block := stream.read(min(size, _BLOCK))):
        size -= len(block)
        yield block


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False


@contextlib.contextmanager
def _naming_output(out: str) -> Iterator[None]:
    """Turn an OSError about the output into a DataError; one about another file passes."""
    own = (Path(out), *Path(out).parents, record_path(out))
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None and Path(error.filename) not in own:
            raise
        raise DataError(f"cannot be written: {error.strerror or error}", path=out) from error
