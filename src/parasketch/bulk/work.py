"""Whole files: any number of rows in constant memory, batch by batch.

Batches are so many rows of the input in order, wherever a run begins: an output that was cut and continued is the same,
byte by byte, as one that was not. Rows that arrive on standard input are worked on as soon as no more are waiting.
"""

import itertools
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from parasketch.bulk.answers import BulkReport, ParaphraseTexts, answer
from parasketch.bulk.output import Batch, Hash, Settings, open_output, record_path
from parasketch.bulk.reading import ENDINGS, OnBad, Row, RowFormat, count_rows, format_of, open_rows
from parasketch.bulk.stream import Arriving, as_binary, standard_input
from parasketch.bulk.writing import PROBLEM, RESULTS, RowWriter
from parasketch.console import progress_bar
from parasketch.errors import DataError, UsageError
from parasketch.files import STANDARD_STREAM, read_lines


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
    report: BulkReport,
    batch_size: int = 32,
    strict: bool = False,
) -> None:
    """Paraphrase every row of a file; `-` is standard input or output, where JSON lines are written.

    `settings` is all that decides the results; an output made with others is not continued. The report is kept up to
    date, for whoever interrupts the work. With `strict` only accepted paraphrases are written.
    """
    if batch_size < 1:
        raise UsageError(f"the batch size is {batch_size} (expected at least 1)")
    settings = {**settings, "batch_size": batch_size, "strict": strict}
    work = partial(
        _paraphrase_lines, paraphrase, path, column=column, n=n, settings=settings, resume=resume, on_bad=on_bad,
        report=report, batch_size=batch_size, strict=strict,
    )  # fmt: skip
    if out != STANDARD_STREAM and _output_format(out) == "parquet":
        _paraphrase_to_parquet(work, path, out, column=column, n=n, settings=settings, resume=resume, report=report)
    else:
        work(out)


def _paraphrase_to_parquet(
    work: Callable[[str], None],
    path: str,
    out: str,
    *,
    column: str | None,
    n: int,
    settings: Settings,
    resume: bool,
    report: BulkReport,
) -> None:
    """The answers grow as JSON lines beside the output; when the last is there, they become a Parquet file."""
    from parasketch.bulk.parquet import settings_in, write_parquet

    if not Path(path).is_file():
        raise UsageError(f"{out}: Parquet is made of an input that can be read twice: name a file, or write JSON lines")
    target, lines = Path(out), f"{out}.rows.jsonl"
    if target.exists():
        before, rows = settings_in(target)
        if not resume:
            raise UsageError(f"{out} exists: remove it first, or give another --out")
        if before != json.loads(json.dumps(dict(settings))):
            raise UsageError(f"{out} was not written by this command with these settings: give another --out")
        report.skipped = rows
        return
    source = open_rows(path, column=column, on_bad=lambda _: None)
    RowWriter(source, "parquet", n)  # refuses what Parquet cannot hold before any work is done
    work(lines)
    answers = (json.loads(line) for _, line in read_lines(lines))
    both = zip(source.rows, answers, strict=True)
    added = ({**row.fields, RESULTS: each[RESULTS], PROBLEM: each.get(PROBLEM)} for row, each in both)
    write_parquet(target, source.columns if source.schema is None else source.schema, added, settings)
    Path(lines).unlink()
    record_path(lines).unlink()


def _paraphrase_lines(
    paraphrase: ParaphraseTexts,
    path: str,
    out: str,
    *,
    column: str | None,
    n: int,
    settings: Settings,
    resume: bool,
    on_bad: OnBad,
    report: BulkReport,
    batch_size: int,
    strict: bool,
) -> None:
    arriving = standard_input() if path == STANDARD_STREAM else None
    source = open_rows(path, column=column, on_bad=on_bad, stream=None if arriving is None else as_binary(arriving))
    writer = RowWriter(source, _output_format(out), n)
    first = next(source.rows, None)
    if first is None:
        raise DataError("has not a single row that can be read", path=path, expected=f"texts ({', '.join(ENDINGS)})")
    rows = itertools.chain([first], source.rows)
    with open_output(path, out, settings, resume=resume) as output, progress_bar() as bar:
        seen = Hash()
        _skip(rows, output.done, seen, path, out)
        report.skipped = output.done.rows
        header = "" if output.done.rows else writer.header
        total = None if bar.disable else count_rows(path, column=column)
        task = bar.add_task("paraphrasing", total=total, completed=report.skipped)
        while batch := _next_batch(rows, batch_size, arriving):
            for row in batch:
                seen.add_row(row)
            answers = answer(paraphrase, [row.text for row in batch], strict=strict)
            lines = [writer.line(row, each.paraphrases, each.problem) for row, each in zip(batch, answers, strict=True)]
            output.write(header + "".join(lines), report.skipped + report.done + len(batch), seen)
            header = ""
            report.add(answers)
            bar.advance(task, len(batch))
        output.check_end()


def _next_batch(rows: Iterator[Row], size: int, arriving: Arriving | None) -> list[Row]:
    """The next rows: as many as make a batch, or as many as have arrived."""
    batch: list[Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) == size or (arriving is not None and arriving.is_silent()):
            break
    return batch


def _skip(rows: Iterator[Row], done: Batch, seen: Hash, path: str, out: str) -> None:
    """Pass over the rows that are done; they must be those that were done."""
    count = 0
    for row in itertools.islice(rows, done.rows):
        seen.add_row(row)
        count += 1
    if count < done.rows or str(seen) != done.input:
        raise UsageError(
            f"{path} has changed: its first {done.rows:,} rows are not those that {out} was made from; "
            "give another --out"
        )


def _output_format(out: str) -> RowFormat:
    if out == STANDARD_STREAM:
        return "jsonl"
    format = format_of(out)
    if format is None or out.endswith(".gz"):
        raise UsageError(f"{out}: what format? The name should end in one of {', '.join(ENDINGS)}")
    return format
