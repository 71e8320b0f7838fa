"""Whole files: any number of rows in constant memory, and an output that can be cut anywhere and continued.

Rows are worked on in chunks; a chunk's lines are written in one go and flushed. To continue, a half-written row at the
end of the output is cut off, the whole ones are counted, and as many rows of the input are skipped. Beside the output
stands a file with the settings it was made with: with other settings it is not continued.
"""

import contextlib
import itertools
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Protocol

from parasketch.console import progress_bar
from parasketch.errors import DataError, UsageError
from parasketch.files import STANDARD_STREAM, write_text
from parasketch.generate.paraphrases import Paraphrase
from parasketch.generate.requests import problem_with
from parasketch.generate.rows import ENDINGS, OnBad, Row, RowFormat, RowWriter, count_rows, format_of, open_rows

CHUNK = 256
"""Rows that are worked on and written together."""

Settings = Mapping[str, Any]


class ParaphraseTexts(Protocol):
    """Anything that paraphrases a list of texts."""

    def __call__(self, texts: list[str], /) -> list[list[Paraphrase]]: ...


@dataclass
class BulkReport:
    """What happened to the rows of a file."""

    done: int = 0
    """Rows written this time."""
    skipped: int = 0
    """Rows that were there already."""
    problems: int = 0
    """Rows written this time without a paraphrase, because they have no text."""


def paraphrase_file(
    paraphrase: ParaphraseTexts,
    path: str,
    out: str,
    *,
    column: str | None,
    n: int,
    settings: Settings,
    resume: bool,
    on_bad: OnBad,
) -> BulkReport:
    """Paraphrase every row of a file; `-` is standard input or output, where JSON lines are written.

    `settings` is all that decides the results; an output made with others is not continued.
    """
    source = open_rows(path, column=column, on_bad=on_bad)
    writer = RowWriter(source, _output_format(out), n)
    report = BulkReport()
    with _output(out, writer, settings, resume=resume) as (stream, finished, header):
        report.skipped = sum(1 for _ in itertools.islice(source.rows, finished))
        with progress_bar() as bar:
            task = bar.add_task("paraphrasing", total=_count_lines(path), completed=report.skipped)
            while chunk := list(itertools.islice(source.rows, CHUNK)):
                lines = _work(paraphrase, chunk, writer, report)
                # What UTF-8 cannot hold (half a surrogate pair) is escaped as JSON does it.
                stream.write("".join([header, *lines]).encode("utf-8", "backslashreplace"))
                stream.flush()
                header = ""
                bar.advance(task, len(chunk))
        stream.write(header.encode())  # of a file without rows
    return report


def settings_path(out: str) -> Path:
    """Where the settings of an output are kept."""
    return Path(f"{out}.settings.json")


def _work(paraphrase: ParaphraseTexts, chunk: list[Row], writer: RowWriter, report: BulkReport) -> Iterator[str]:
    problems = ["has no text" if row.text is None else problem_with(row.text) for row in chunk]
    texts = [row.text for row, problem in zip(chunk, problems, strict=True) if problem is None]
    results = iter(paraphrase([text for text in texts if isinstance(text, str)]) if texts else [])
    report.done += len(chunk)
    report.problems += len(chunk) - len(texts)
    for row, problem in zip(chunk, problems, strict=True):
        yield writer.line(row, next(results) if problem is None else [], problem)


def _output_format(out: str) -> RowFormat:
    if out == STANDARD_STREAM:
        return "jsonl"
    format = format_of(out)
    if format is None or out.endswith(".gz"):
        raise UsageError(f"{out}: what format? The name should end in one of {', '.join(ENDINGS)}")
    return format


@contextlib.contextmanager
def _output(out: str, writer: RowWriter, settings: Settings, *, resume: bool) -> Iterator[tuple[IO[bytes], int, str]]:
    """The output, open for more rows, how many rows it has already, and the header it still needs."""
    if out == STANDARD_STREAM:
        if resume:
            raise UsageError("--resume needs a file to continue: name it with --out")
        yield sys.stdout.buffer, 0, writer.header
        return
    target = Path(out)
    if target.is_file() and target.stat().st_size and not resume:
        raise UsageError(f"{out} exists: continue it with --resume, or remove it first")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        finished = _prepare_to_continue(out, writer, settings) if target.is_file() and resume else 0
        with target.open("ab") as stream:
            is_new = stream.tell() == 0
            if is_new:
                with write_text(settings_path(out)) as beside:
                    beside.write(json.dumps(dict(settings), indent=1) + "\n")
            yield stream, finished, writer.header if is_new else ""
            if target.is_file():  # and not a device such as /dev/null
                os.fsync(stream.fileno())
    except OSError as error:
        if error.filename is not None and Path(error.filename) not in (target, *target.parents):
            raise
        raise DataError(f"cannot be written: {error.strerror or error}", path=out) from error


def _prepare_to_continue(out: str, writer: RowWriter, settings: Settings) -> int:
    """Cut off a half-written row; return how many whole ones there are."""
    rows, size = count_rows(Path(out), writer.format)
    if rows:
        _check_settings(out, settings)
    os.truncate(out, size)
    return max(0, rows - 1) if writer.header else rows


def _check_settings(out: str, settings: Settings) -> None:
    beside = settings_path(out)
    try:
        before = json.loads(beside.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError("cannot be continued: its settings are not known", path=out, expected=str(beside)) from error
    changed = [key for key in {**before, **settings} if before.get(key) != json.loads(json.dumps(settings.get(key)))]
    if changed:
        key = changed[0]
        raise UsageError(
            f"{out} was made with other settings ({key}: {before.get(key)!r}, now {settings.get(key)!r}): "
            "give the same ones, or another --out"
        )


def _count_lines(path: str) -> int | None:
    """How many lines a plain file has, for the progress bar."""
    if not Path(path).is_file() or path.endswith(".gz"):
        return None
    with Path(path).open("rb") as stream:
        return sum(block.count(b"\n") for block in iter(partial(stream.read, 1 << 20), b""))
