"""Whole files: any number of rows in constant memory, batch by batch.

Batches are so many rows of the input in order, wherever a run begins: an output that was cut and continued is the same,
byte by byte, as one that was not. Rows that arrive on standard input are worked on as soon as no more are waiting.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from parasketch.bulk.output import Batch, Hash, Settings, open_output
from parasketch.bulk.reading import ENDINGS, OnBad, Row, RowFormat, count_rows, format_of, open_rows
from parasketch.bulk.stream import Arriving, as_binary, standard_input
from parasketch.bulk.writing import NOT_ACCEPTED, RowWriter
from parasketch.console import progress_bar
from parasketch.errors import DataError, UsageError
from parasketch.files import STANDARD_STREAM
from parasketch.generate.paraphrases import Paraphrase
from parasketch.generate.requests import problem_with


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
    refused: int = 0
    """Rows written this time without a paraphrase, because none was acceptable (`strict`)."""
    paraphrases: int = 0
    """Paraphrases written this time,"""
    not_accepted: int = 0
    """those of them that are not accepted,"""
    with_losses: int = 0
    """that lost something,"""
    with_warnings: int = 0
    """and that have a warning."""

    def count(self, paraphrases: Sequence[Paraphrase]) -> None:
        """Add the paraphrases of a row."""
        self.paraphrases += len(paraphrases)
        self.not_accepted += sum(not paraphrase.accepted for paraphrase in paraphrases)
        self.with_losses += sum(bool(paraphrase.lost) for paraphrase in paraphrases)
        self.with_warnings += sum(bool(paraphrase.warnings) for paraphrase in paraphrases)


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
    arriving = standard_input() if path == STANDARD_STREAM else None
    source = open_rows(path, column=column, on_bad=on_bad, stream=None if arriving is None else as_binary(arriving))
    writer = RowWriter(source, _output_format(out), n)
    first = next(source.rows, None)
    if first is None:
        raise DataError("has not a single row that can be read", path=path, expected=f"texts ({', '.join(ENDINGS)})")
    rows = itertools.chain([first], source.rows)
    settings = {**settings, "batch_size": batch_size, "strict": strict}
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
            results = _work(paraphrase, batch, strict=strict)
            lines = [writer.line(row, found, problem) for row, found, problem in results]
            output.write(header + "".join(lines), report.skipped + report.done + len(batch), seen)
            header = ""
            report.done += len(batch)
            for _, found, problem in results:
                report.count(found)
                report.refused += problem == NOT_ACCEPTED
                report.problems += problem is not None and problem != NOT_ACCEPTED
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


def _work(
    paraphrase: ParaphraseTexts, batch: list[Row], *, strict: bool
) -> list[tuple[Row, list[Paraphrase], str | None]]:
    """Each row with its paraphrases, or with the reason why it has none."""
    problems = ["has no text" if row.text is None else problem_with(row.text) for row in batch]
    texts = [row.text for row, problem in zip(batch, problems, strict=True) if problem is None]
    found = iter(paraphrase([text for text in texts if isinstance(text, str)]) if texts else [])
    results = []
    for row, problem in zip(batch, problems, strict=True):
        paraphrases = next(found) if problem is None else []
        if strict and problem is None:
            paraphrases = [one for one in paraphrases if one.accepted]
            problem = None if paraphrases else NOT_ACCEPTED
        results.append((row, paraphrases, problem))
    return results


def _output_format(out: str) -> RowFormat:
    if out == STANDARD_STREAM:
        return "jsonl"
    format = format_of(out)
    if format is None or out.endswith(".gz"):
        raise UsageError(f"{out}: what format? The name should end in one of {', '.join(ENDINGS)}")
    return format
