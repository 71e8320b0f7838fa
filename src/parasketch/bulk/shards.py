"""Many files, cut into numbered shards that anybody may answer in any order; one process reads and one writes.

A shard is so many rows of one file, in order. Its texts go to an engine (workers on this or other machines) and its
answers come back to be written here, each shard as a file of its own that appears whole or not at all; then a line in
the record says so, and when all are there a manifest. A worker never touches a file: one that dies, or two that answer
the same shard, can neither lose nor double a row, and no disk has to be shared. Reading and writing a row costs
microseconds where paraphrasing it costs many milliseconds, so one process keeps many workers busy (docs/scale.md).
"""

import contextlib
import itertools
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from parasketch.bulk.answers import Answer, BulkReport
from parasketch.bulk.output import Hash, Settings
from parasketch.bulk.reading import ENDINGS, OnBad, Row, RowFormat, Rows, format_of, open_rows
from parasketch.bulk.writing import PROBLEM, RESULTS, RowWriter, as_values
from parasketch.console import progress_bar
from parasketch.errors import DataError, UsageError
from parasketch.files import lock, sha256, write_text

RECORD, MANIFEST = "record.jsonl", "manifest.json"
FORMAT = 1


@dataclass(frozen=True)
class Task:
    """What an engine is asked: answers for some texts (which may be anything that stands in a file)."""

    number: int
    texts: Sequence[object]


class Engine(Protocol):
    """Answers tasks, in any order; takes the next one only when somebody is free for it."""

    def __call__(self, tasks: Iterator[Task], /) -> Iterator[tuple[int, list[Answer]]]: ...


@dataclass(frozen=True)
class Done:
    """A shard that has been written, as the record and the manifest have it."""

    shard: int
    file: str
    input: str
    first_row: int
    rows: int
    rows_hash: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class _Shard:
    number: int
    path: str
    source: Rows
    first_row: int
    rows: list[Row]

    def hash(self) -> str:
        seen = Hash()
        for row in self.rows:
            seen.add_row(row)
        return str(seen)


def find_inputs(arguments: Sequence[str]) -> list[str]:
    """The files that are meant: themselves, or all files of rows in a directory and below it, in order of name."""
    found: list[str] = []
    for argument in arguments:
        if Path(argument).is_dir():
            paths = sorted(path for path in Path(argument).rglob("*") if path.is_file() and _is_input(path, argument))
            if not paths:
                raise DataError("has no file of rows in it", path=argument, expected=", ".join(ENDINGS))
            found += map(str, paths)
        else:
            found.append(argument)
    return found


def _is_input(path: Path, directory: str) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(directory).parts)
    return not hidden and format_of(str(path)) is not None and not path.name.endswith(".record.jsonl")


def paraphrase_shards(
    engine: Engine,
    inputs: Sequence[str],
    out: Path,
    *,
    format: RowFormat,
    column: str | None,
    n: int,
    settings: Settings,
    resume: bool,
    on_bad: OnBad,
    report: BulkReport,
    shard_rows: int,
) -> None:
    """Have every row of some files answered, and write shards, their record and at last a manifest in `out`.

    Shards that are done are never done again. The report is kept up to date, for whoever interrupts the work.
    """
    _check_inputs(inputs, out, column, format, n)
    settings = {**settings, "inputs": list(inputs), "column": column, "format": format, "shard_rows": shard_rows}
    with _open(out, settings, resume=resume) as (done, record), progress_bar() as bar:
        waiting: dict[int, _Shard] = {}
        progress = bar.add_task("paraphrasing", total=None)

        def tasks() -> Iterator[Task]:
            for shard in _cut(inputs, column, shard_rows, on_bad):
                if shard.number in done and _is_there(out, shard, done[shard.number]):
                    report.skipped += len(shard.rows)
                    bar.advance(progress, len(shard.rows))
                    continue
                waiting[shard.number] = shard
                yield Task(shard.number, [row.text for row in shard.rows])

        for number, answers in engine(tasks()):
            shard = waiting.pop(number)
            done[number] = _write(out, shard, answers, format, n)
            _append(record, asdict(done[number]))
            report.add(answers)
            bar.advance(progress, len(answers))
        if not done:
            raise DataError("has not a single row that can be read", path=inputs[0])
        with write_text(out / MANIFEST) as stream:
            shards = [asdict(done[number]) for number in sorted(done)]
            rows = sum(each["rows"] for each in shards)
            manifest = {"format": FORMAT, "settings": settings, "rows": rows, "shards": shards}
            stream.write(json.dumps(manifest, indent=1) + "\n")


def _check_inputs(inputs: Sequence[str], out: Path, column: str | None, format: RowFormat, n: int) -> None:
    """Find out what is wrong with the last file before the first is begun."""
    for path in inputs:
        if not Path(path).is_file():
            raise DataError("no such file", path=path, expected="files of rows, which can be read twice")
        if out.resolve() in Path(path).resolve().parents:
            raise UsageError(f"{path} is in {out}, where the output goes: give another --out")
        source = open_rows(path, column=column, on_bad=lambda _: None)
        RowWriter(source, format, n)


def _cut(inputs: Sequence[str], column: str | None, size: int, on_bad: OnBad) -> Iterator[_Shard]:
    """Shards of at most `size` rows; each of one file."""
    number = 0
    for path in inputs:
        source = open_rows(path, column=column, on_bad=on_bad)
        first = 0
        while rows := list(itertools.islice(source.rows, size)):
            yield _Shard(number, path, source, first, rows)
            number += 1
            first += len(rows)


def _write(out: Path, shard: _Shard, answers: Sequence[Answer], format: RowFormat, n: int) -> Done:
    path = out / f"part-{shard.number:06d}.{format}"
    rows = list(zip(shard.rows, answers, strict=True))
    source = shard.source
    if format == "parquet":
        from parasketch.bulk.parquet import write_parquet

        values = [
            {**row.fields, RESULTS: as_values(each.paraphrases), PROBLEM: each.problem} for row, each in rows
        ]  # fmt: skip
        write_parquet(path, source.columns if source.schema is None else source.schema, values)
    else:
        writer = RowWriter(source, format, n)
        text = writer.header + "".join(writer.line(row, each.paraphrases, each.problem) for row, each in rows)
        with write_text(path) as stream:
            # What UTF-8 cannot hold (half a surrogate pair) is escaped as JSON does it.
            stream.write(text.encode("utf-8", "backslashreplace").decode())
    return Done(
        shard=shard.number,
        file=path.name,
        input=shard.path,
        first_row=shard.first_row,
        rows=len(rows),
        rows_hash=shard.hash(),
        bytes=path.stat().st_size,
        sha256=sha256(path),
    )


def _is_there(out: Path, shard: _Shard, done: Done) -> bool:
    """Whether a shard of the record is still there, as it was written and of the rows that are in the file now."""
    if shard.hash() != done.rows_hash:
        raise UsageError(
            f"{shard.path} has changed: its rows from {shard.first_row + 1:,} on are not those that {done.file} was "
            "made from; give another --out"
        )
    path = out / done.file
    if not path.exists():
        return False
    if sha256(path) != done.sha256:
        raise UsageError(f"{path} is not as it was written: it is left as it is; remove it, or give another --out")
    return True


@contextlib.contextmanager
def _open(out: Path, settings: Settings, *, resume: bool) -> Iterator[tuple[dict[int, Done], IO[bytes]]]:
    """What is done already, and the record, open for more; nobody else writes here meanwhile."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} exists and is a file (expected a directory for the shards)")
    out.mkdir(parents=True, exist_ok=True)
    with lock(out):
        path = out / RECORD
        if not path.exists():
            if any(not entry.name.endswith(".partial") for entry in out.iterdir()):
                raise UsageError(f"{out} is not empty and was not written by this command: give another --out")
            with write_text(path) as beginning:
                beginning.write(json.dumps({"settings": dict(settings)}) + "\n")
        elif not resume:
            raise UsageError(f"{out} exists: continue it with --resume, or remove it first")
        done = _read_record(path, settings)
        for left in out.glob(".part-*.partial"):  # of a process that was killed while it wrote
            left.unlink()
        with path.open("ab") as record:
            if not path.read_bytes().endswith(b"\n"):
                record.write(b"\n")  # a line that was cut stands alone and is passed over
            yield done, record


def _read_record(path: Path, settings: Settings) -> dict[int, Done]:
    """The shards of a record that was made with these settings; a line that was cut is passed over."""
    first, *lines = path.read_text(encoding="utf-8").splitlines()
    before, now = json.loads(first)["settings"], json.loads(json.dumps(dict(settings)))
    changed = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    if changed:
        key = changed[0]
        raise UsageError(
            f"{path.parent} was made with other settings ({key}: {before.get(key)!r}, now {now.get(key)!r}): "
            "give the same ones, or another --out"
        )
    done = {}
    for line in lines:
        with contextlib.suppress(ValueError, TypeError):
            each = Done(**json.loads(line))
            done[each.shard] = each
    return done


def _append(record: IO[bytes], value: dict[str, Any]) -> None:
    """Add a line, durably."""
    record.write(json.dumps(value).encode() + b"\n")
    record.flush()
    os.fsync(record.fileno())
