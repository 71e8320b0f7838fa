"""Whole files on the command line: on one machine or on Ray, and what is said when they are done or stopped."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer
from rich.markup import escape

from parasketch.bulk.answers import BulkReport
from parasketch.console import console
from parasketch.data.records import BadRows
from parasketch.errors import ParasketchError, UsageError
from parasketch.files import STANDARD_STREAM

if TYPE_CHECKING:
    from parasketch.bulk.job import Job

Engine = Literal["local", "ray"]
ShardFormat = Literal["jsonl", "parquet", "csv", "tsv", "txt"]


def paraphrase_on_ray(
    job: "Job",
    inputs: Sequence[str],
    out: str,
    *,
    column: str | None,
    format: ShardFormat,
    resume: bool,
    batch_size: int,
    strict: bool,
    shard_rows: int,
    address: str | None,
    workers: int | None,
    device: str | None,
) -> None:
    """Files and directories, cut into shards that workers on Ray answer."""
    from parasketch.bulk.ray_engine import RayEngine
    from parasketch.bulk.shards import find_inputs, paraphrase_shards

    if out == STANDARD_STREAM:
        raise UsageError("--engine ray writes shards in a directory: name it with --out")
    if batch_size < 1:
        raise UsageError(f"the batch size is {batch_size} (expected at least 1)")
    engine = RayEngine(job, batch_size, strict=strict, address=address, workers=workers, device=device)
    settings = {**job.settings(), "batch_size": batch_size, "strict": strict}
    # Whole batches: the rows that are worked on together are then the same as on one machine.
    whole = -(-shard_rows // batch_size) * batch_size
    work = partial(
        paraphrase_shards, engine, find_inputs(inputs), Path(out),
        format=format, column=column, n=job.n, settings=settings, resume=resume, shard_rows=whole,
    )  # fmt: skip
    do_and_tell(work, out)


def do_and_tell(work: Callable[..., None], out: str) -> None:
    """Have a file worked on, and say what came of it, also when it is stopped."""
    bad, report = BadRows(), BulkReport()
    try:
        with until_the_reader_leaves():
            work(on_bad=bad, report=report)
    except KeyboardInterrupt:
        _tell(bad, report, out)
        go_on = "" if out == STANDARD_STREAM else ": the same command with --resume goes on from here"
        console.print(f"[yellow]stopped[/yellow]{go_on}")
        raise typer.Exit(130) from None
    except ParasketchError:
        _tell(bad, report, out)
        raise
    _tell(bad, report, out)
    if report.done == report.problems > 0 and not report.skipped:
        console.print("[red]not a single row had a text: nothing was paraphrased[/red]")
        raise typer.Exit(1)


@contextlib.contextmanager
def until_the_reader_leaves() -> Iterator[None]:
    """A reader of standard output that has seen enough, such as `head`, is no error."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still in the buffer
        raise typer.Exit from None


def _tell(bad: BadRows, report: BulkReport, out: str) -> None:
    """Counts of what was read and written."""
    if bad.count:
        console.print(f"[yellow]{bad.count:,} rows could not be read and were left out[/yellow]")
    for error in bad.first:
        console.print(f"  {escape(str(error))}", soft_wrap=True)
    if not report.done + report.skipped:
        return
    rows = [
        (f"after {report.skipped:,} that were there", report.skipped),
        (f"{report.problems:,} of them without a text", report.problems),
        (f"{report.refused:,} of them without an acceptable paraphrase", report.refused),
    ]
    parts = ", ".join([f"{report.done:,} rows written", *(said for said, count in rows if count)])
    console.print(f"{parts}: {escape(out)}", soft_wrap=True)
    doubts = [
        (f"{report.not_accepted:,} not accepted", report.not_accepted),
        (f"{report.with_losses:,} lost something", report.with_losses),
        (f"{report.with_warnings:,} with warnings", report.with_warnings),
    ]
    parts = ", ".join(said for said, count in doubts if count) or "all accepted"
    if report.paraphrases:
        console.print(f"{report.paraphrases:,} paraphrases: {parts}", soft_wrap=True)
