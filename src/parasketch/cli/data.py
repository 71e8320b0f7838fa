"""`parasketch data convert | split | check`: any format in, splits that do not leak, and what is in a file."""

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from parasketch.console import console, track
from parasketch.data.check import CheckReport, check_corpora
from parasketch.data.convert import Target, convert
from parasketch.data.corpora import AUTO, FORMATS, BadRows, Corpus, gather_clusters, open_corpus
from parasketch.data.splits import parse_size, require_new_directory, split_clusters, write_splits
from parasketch.files import STANDARD_STREAM, raise_error

_FORMAT_LIST = "\n\n".join(f"[bold]{name}[/bold]: {escape(entry.description)}" for name, entry in FORMATS.items())

data_app = typer.Typer(
    name="data",
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Read corpora in any format, split them without leaks, and see what is in them.",
)

Inputs = Annotated[list[str], typer.Argument(help="Files, plain or .gz; - is standard input.", metavar="IN")]
FormatName = Annotated[str, typer.Option("--format", "-f", help="Format of the files; auto finds it out.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave bad rows out and list them, instead of stopping.")]
TextColumns = Annotated[
    tuple[str, str] | None,
    typer.Option("--text-columns", help="The two text columns of a CSV or TSV file.", metavar="A B"),
]
LabelColumn = Annotated[
    str | None, typer.Option("--label-column", help="The column that says 1 (paraphrases) or 0 (none).")
]


def register(app: typer.Typer) -> None:
    """Add this module's subcommands to the command line."""
    app.add_typer(data_app, rich_help_panel="Train on your own data")


@data_app.command("convert", epilog=f"Formats:\n\n{_FORMAT_LIST}")
def convert_command(
    inputs: Inputs,
    out: Annotated[str, typer.Option("--out", "-o", help="File to write, plain or .gz.")] = STANDARD_STREAM,
    to: Annotated[
        Target, typer.Option("--to", help="Clusters, or items with the first sentence as input.")
    ] = "clusters",
    merge: Annotated[bool, typer.Option("--merge", help="Join clusters that share a sentence.")] = False,
    format: FormatName = AUTO,
    text_columns: TextColumns = None,
    label_column: LabelColumn = None,
    skip_bad: SkipBad = False,
) -> None:
    """Turn corpora of any format into clusters (JSON lines).

    Positive pairs become clusters by connected components, over all files.
    Sentences that only differ in case, spacing or final punctuation count as
    the same; the first stays.

    Example: [bold]parasketch data convert train.tsv dev.tsv --out qqp.jsonl.gz[/bold]

    Example: [bold]parasketch data convert my.csv --text-columns old new -o my.jsonl[/bold]
    """
    bad = BadRows()
    corpora = _open(inputs, format, bad if skip_bad else None, text_columns, label_column)
    done = convert(track(gather_clusters(corpora, merge=merge), "reading"), out, to=to)
    _tell_bad(bad)
    if done.too_small:
        console.print(f"{done.too_small:,} clusters without two different sentences were left out")
    where = "standard output" if out == STANDARD_STREAM else out
    console.print(f"{done.clusters:,} clusters with {done.sentences:,} sentences: {escape(where)}")


@data_app.command("split")
def split_command(
    inputs: Inputs,
    out: Annotated[str, typer.Option("--out", "-o", help="New directory for train, dev and test.")],
    dev: Annotated[str, typer.Option("--dev", help="Clusters (2000) or share (0.1) for development.")] = "0.1",
    test: Annotated[str, typer.Option("--test", help="Clusters (2000) or share (0.1) for the test.")] = "0.1",
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same split.")] = 0,
    format: FormatName = AUTO,
    text_columns: TextColumns = None,
    label_column: LabelColumn = None,
    skip_bad: SkipBad = False,
) -> None:
    """Split corpora into train, dev and test so that no sentence is in two of them.

    Writes train.jsonl (clusters), dev.jsonl and test.jsonl (input, references).
    Clusters that share a sentence always go to the same part.

    Example: [bold]parasketch data split qqp.jsonl.gz --dev 2000 --test 0.1 -o qqp[/bold]
    """
    sizes = parse_size(dev), parse_size(test)
    require_new_directory(out)
    bad = BadRows()
    corpora = _open(inputs, format, bad if skip_bad else None, text_columns, label_column)
    splits = split_clusters(track(gather_clusters(corpora), "reading"), dev=sizes[0], test=sizes[1], seed=seed)
    write_splits(out, splits)
    _tell_bad(bad)
    for name, missing in splits.shortfall.items():
        console.print(f"{name} has {missing:,} clusters fewer than asked for: those that share sentences stay together")
    sizes_text = f"train {len(splits.train):,}, dev {len(splits.dev):,}, test {len(splits.test):,}"
    console.print(f"{sizes_text} clusters: {escape(out)}")


@data_app.command("check")
def check_command(
    inputs: Inputs,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    format: FormatName = AUTO,
    text_columns: TextColumns = None,
    label_column: LabelColumn = None,
    skip_bad: SkipBad = False,
) -> None:
    """Show sizes, lengths and repeats of files, and what leaks between them.

    A leak is a sentence that occurs in two files; the exit code is then 1.

    Example: [bold]parasketch data check train.jsonl dev.jsonl test.jsonl[/bold]
    """
    bad = BadRows()
    report = check_corpora(_open(inputs, format, bad if skip_bad else None, text_columns, label_column))
    _tell_bad(bad)
    if as_json:
        typer.echo(json.dumps(asdict(report), ensure_ascii=False, indent=2))
    else:
        _print_report(report)
    if report.leaks:
        raise typer.Exit(1)


def _open(
    inputs: list[str],
    format: str,
    bad: BadRows | None,
    text_columns: tuple[str, str] | None,
    label_column: str | None,
) -> list[Corpus]:
    return [
        open_corpus(path, format, on_bad=bad or raise_error, text_columns=text_columns, label_column=label_column)
        for path in inputs
    ]


def _tell_bad(bad: BadRows) -> None:
    if not bad.count:
        return
    console.print(f"[yellow]{bad.count:,} bad rows were left out[/yellow]")
    for error in bad.first:
        console.print(f"  {escape(str(error))}", soft_wrap=True)
    if bad.count > len(bad.first):
        console.print("  ...")


def _print_report(report: CheckReport) -> None:
    results = Console(highlight=False)
    table = Table("file", "format", box=box.SIMPLE_HEAD)
    for heading in ("rows", "sentences", "words", "5/50/95 %", "max", "repeats"):
        table.add_column(heading, justify="right", no_wrap=True)
    for file in report.files:
        words = file.words
        table.add_row(
            escape(file.name),
            file.format,
            f"{file.rows:,}",
            f"{file.sentences:,}",
            f"{words.mean:.1f}",
            f"{words.p5}/{words.median}/{words.p95}",
            str(words.longest),
            f"{file.repeats_in_row:,} + {file.repeats_between_rows:,}",
        )
    results.print(table)
    results.print("[dim]words a sentence: mean, percentiles, longest; repeats: in rows + between rows[/dim]")
    for leak in report.leaks:
        first, *others = leak.summary()
        results.print(f"[bold red]LEAK {escape(first)}[/bold red]", soft_wrap=True)
        for line in (*others, *(f"such as: {example}" for example in leak.examples)):
            results.print(f"     {escape(line)}", soft_wrap=True)
    if not report.leaks and len(report.files) > 1:
        results.print("[green]no leak[/green]: the files share no sentence")
