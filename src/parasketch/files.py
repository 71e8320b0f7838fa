"""Reading and writing files so that bad input is named, no output is ever half there, and no two write one.

Text is UTF-8, plain or gzip (by the `.gz` ending), and `-` means standard input or output. Whatever is
written appears whole or not at all: it grows in a hidden temporary neighbour that is synced and then renamed
into place.
"""

import contextlib
import gzip
import hashlib
import io
import os
import secrets
import shlex
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TextIO, cast

from parasketch.errors import DataError, UsageError

if sys.platform != "win32":
    import fcntl

STANDARD_STREAM = "-"


def raise_error(error: DataError) -> None:
    """What happens to bad input unless the caller asks for something else."""
    raise error


def read_lines(
    path: Path | str, on_bad: Callable[[DataError], None] = raise_error, stream: IO[bytes] | None = None
) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without its LF or CRLF ending); lines are split at LF only.

    A line that is not UTF-8 goes to `on_bad` and is left out; a file that cannot be read to its end (missing,
    a truncated or damaged gzip file) or that is no text at all is always a DataError. With a `stream` that is read
    instead, and the path is only its name.
    """
    number = 0
    with _reading(path) if stream is None else contextlib.nullcontext(stream) as lines:
        while raw := _next_line(lines, path, number + 1):
            number += 1
            if number == 1:
                _check_is_text(raw, path)
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                problem = f"invalid UTF-8 at byte {error.start + 1} of the line"
                on_bad(DataError(problem, path=path, line=number, expected="UTF-8 text"))
                continue
            yield number, text.removesuffix("\n").removesuffix("\r")


@contextlib.contextmanager
def write_text(path: Path | str) -> Iterator[TextIO]:
    """Open a text file for writing; it appears under its name only when the block ends without an error."""
    if str(path) == STANDARD_STREAM:
        yield sys.stdout
        sys.stdout.flush()
        return
    target = Path(path).resolve()  # write through a symbolic link, never over it
    if _is_stream(target):
        with _naming(path, target), target.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        return
    temporary = _neighbour(target)
    with _naming(path, target, temporary):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with _writing(temporary, compressed=target.suffix == ".gz") as stream:
                yield stream
            _sync(temporary)
            temporary.replace(target)
            _sync(target.parent)
        finally:
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def write_directory(path: Path | str) -> Iterator[Path]:
    """Yield a temporary directory beside `path` that takes its place when the block ends without an error.

    An existing directory at `path` is replaced as a whole; an error leaves it as it was.
    """
    target = Path(path).resolve()
    temporary = _neighbour(target)
    with _naming(path, target, temporary):
        if target.exists() and not target.is_dir():
            raise DataError("cannot be written: it exists and is a file", path=path, expected="a directory")
        try:
            temporary.mkdir(parents=True)
            yield temporary
            for entry in temporary.rglob("*"):
                if entry.is_file():  # some libraries write files that only their owner may read
                    entry.chmod(temporary.stat().st_mode & 0o666)
                _sync(entry)
            _sync(temporary)
            _take_place(temporary, target)
            _sync(target.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def sha256(path: Path | str) -> str:
    """The hex digest of a file's content."""
    with _reading(path, compressed=False) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]  # any binary file


def cache_directory() -> Path:
    """Where what can be had again is kept: PARASKETCH_CACHE, or else a part of the user's cache directory."""
    root = os.environ.get("PARASKETCH_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "parasketch"
    return Path(root).expanduser()


@contextlib.contextmanager
def lock(path: Path | str) -> Iterator[None]:
    """Let nobody else lock this file or directory, which must exist, until the block ends.

    If somebody has it already that is a UsageError. The lock belongs to the process: it ends when that does, however
    it ends, and leaves nothing behind. (On Windows nothing is locked.)
    """
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(f"{path} is being written by another process: wait until it ends, or stop it") from error
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _reading(path: Path | str, compressed: bool | None = None) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked when it is gzip (by its ending, unless told)."""
    if str(path) == STANDARD_STREAM:
        yield sys.stdin.buffer
        return
    with contextlib.ExitStack() as stack:
        try:
            raw = stack.enter_context(Path(path).open("rb"))
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror or error}", path=path) from error
        if str(path).endswith(".gz") if compressed is None else compressed:
            yield cast("IO[bytes]", stack.enter_context(gzip.open(raw)))
        else:
            yield raw


def _check_is_text(start: bytes, path: Path | str) -> None:
    """Refuse files that are often taken for UTF-8 text, by their first bytes."""
    name = "FILE" if str(path) == STANDARD_STREAM else shlex.quote(str(path))
    kinds = {
        b"\xff\xfe": ("is UTF-16 text", f"UTF-8: iconv -f UTF-16 -t UTF-8 {name} > NEW"),
        b"\xfe\xff": ("is UTF-16 text", f"UTF-8: iconv -f UTF-16 -t UTF-8 {name} > NEW"),
        b"\x1f\x8b": ("is packed by gzip", "a name that ends in .gz"),
        b"PK\x03\x04": ("is a spreadsheet or a zip archive", "text: save it as CSV"),
    }
    for beginning, (problem, expected) in kinds.items():
        if start.startswith(beginning):
            raise DataError(problem, path=path, expected=expected)


def _next_line(stream: IO[bytes], path: Path | str, number: int) -> bytes:
    try:
        return stream.readline()
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(f"cannot be read further: {error}", path=path, line=number) from error


@contextlib.contextmanager
def _writing(path: Path, *, compressed: bool) -> Iterator[TextIO]:
    with path.open("xb") as raw:
        # No name and no time in the header: the same content is the same file, byte for byte.
        binary = gzip.GzipFile("", "wb", 6, fileobj=raw, mtime=0) if compressed else raw
        with io.TextIOWrapper(cast("IO[bytes]", binary), encoding="utf-8", newline="\n") as stream:
            yield stream


def _is_stream(path: Path) -> bool:
    """Whether `path` is a device or a pipe, such as /dev/null, that a rename would destroy."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _neighbour(target: Path) -> Path:
    """A fresh name in the same directory, so that the rename stays on one file system."""
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")


def _sync(path: Path) -> None:
    """Make a file's content, or the names inside a directory, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _take_place(temporary: Path, target: Path) -> None:
    """Rename a directory to `target`; a full one there has to step aside first, and returns on failure."""
    if not target.exists():
        temporary.replace(target)
        return
    aside = _neighbour(target)
    target.replace(aside)
    try:
        temporary.replace(target)
    except OSError:
        aside.replace(target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


@contextlib.contextmanager
def _naming(path: Path | str, *own: Path) -> Iterator[None]:
    """Turn an OSError about the output itself into a DataError; one that names another file passes."""
    try:
        yield
    except OSError as error:
        named = Path(error.filename) if isinstance(error.filename, str | os.PathLike) else None
        if named is None or any(place in (named, *named.parents) or named in place.parents for place in own):
            raise DataError(f"cannot be written: {error.strerror or error}", path=path) from error
        raise
