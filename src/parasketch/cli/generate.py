"""`parasketch paraphrase | sketches | demo`: paraphrases of a text or of a whole file, and what sketches do to them."""

import json
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.tree import Tree

from parasketch.bulk.answers import NOT_ACCEPTED
from parasketch.bulk.work import paraphrase_file
from parasketch.cli.whole_files import Engine, ShardFormat, do_and_tell, paraphrase_on_ray, until_the_reader_leaves
from parasketch.console import console, progress_bar
from parasketch.errors import DataError, UsageError
from parasketch.files import STANDARD_STREAM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parasketch.analyse.tables import SketchTable
    from parasketch.generate.paraphraser import Paraphraser
    from parasketch.generate.paraphrases import Paraphrase

DEMO_TEXTS = [
    "How can I fall asleep faster at night?",
    "Please send me the signed contract by Friday.",
    "The hotel was lovely, but the breakfast was a bit disappointing.",
    "A little girl is feeding ducks by the lake.",
    "The company raised its prices by 20 percent last year.",
    "I can't believe that you forgot my birthday again!",
]
DEMO_TEXT = "How do I become a good writer?"
DEMO_EXEMPLAR = "What are the benefits of green tea?"

ModelName = Annotated[
    str | None,
    typer.Option("--model", "-m", help="A model: its name, its directory, or a Hub id. The default suits the text."),
]
Device = Annotated[str | None, typer.Option("--device", help="cpu, cuda, ...; a GPU is used if there is one.")]


def register(app: typer.Typer) -> None:
    """Add this module's subcommands to the command line."""
    app.command("paraphrase", rich_help_panel="Paraphrase")(paraphrase_command)
    app.command("sketches", rich_help_panel="Paraphrase")(sketches_command)
    app.command("demo", rich_help_panel="Paraphrase")(demo_command)


def paraphrase_command(
    texts: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT|FILE|-", help="A text, a file of texts, or - for standard input; RAY: files and directories."
        ),
    ],
    n: Annotated[int, typer.Option("-n", help="How many paraphrases of each text.")] = 1,
    model: ModelName = None,
    like: Annotated[str | None, typer.Option("--like", help="Say it in the form of this sentence.")] = None,
    sketch: Annotated[
        str | None, typer.Option("--sketch", metavar="CODES", help="The first codes of the form, such as 13,5.")
    ] = None,
    depth: Annotated[
        int | None, typer.Option("--depth", help="Use only so many codes of each sketch; 0: none.")
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="The best sentence of each sketch, without judging them.")
    ] = False,
    temperature: Annotated[
        float | None, typer.Option("--temperature", help="Sample, more daringly from 1 on, instead of searching.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Which samples are drawn.")] = 0,
    effort: Annotated[
        int | None, typer.Option("--effort", help="1 (one sketch, greedily) to 5 (everything, the default).")
    ] = None,
    semantic: Annotated[
        str | None,
        typer.Option("--semantic", metavar="MODEL", help="A sentence-transformers model that joins the choice."),
    ] = None,
    column: Annotated[str | None, typer.Option("--column", help="FILE: the column with the texts.")] = None,
    out: Annotated[
        str, typer.Option("--out", "-o", help="FILE: where the rows go (.jsonl, .csv, .tsv, .txt, .parquet).")
    ] = STANDARD_STREAM,
    resume: Annotated[bool, typer.Option("--resume", help="FILE: continue an output that was cut.")] = False,
    batch_size: Annotated[
        int, typer.Option("--batch-size", help="FILE: how many rows are worked on and written together.")
    ] = 32,
    split: Annotated[
        bool, typer.Option("--split-sentences", help="Paraphrase longer texts sentence by sentence.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Only accepted paraphrases; where there are none, no output.")
    ] = False,
    rounds: Annotated[
        int | None, typer.Option("--rounds", help="BTmPG: paraphrase the output again, so many times in all, 1 to 10.")
    ] = None,
    show_bow: Annotated[
        bool, typer.Option("--show-bow", help="LBoW: show the bag of words that it predicts, with their weights.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="TEXT: print JSON lines instead of a table.")] = False,
    show_orders: Annotated[
        bool, typer.Option("--show-orders", help="TEXT, sowreap: show the order of words that each one follows.")
    ] = False,
    device: Device = None,
    engine: Annotated[
        Engine, typer.Option("--engine", help="Where the work is done: in this process, or by workers on Ray.")
    ] = "local",
    address: Annotated[
        str | None, typer.Option("--address", help="RAY: a cluster, such as auto or ray://head:10001.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="RAY: how many, each with its model; one for each core.")
    ] = None,
    shard_rows: Annotated[
        int, typer.Option("--shard-rows", min=1, help="RAY: how many rows go into one file of the output.")
    ] = 1024,
    format: Annotated[ShardFormat, typer.Option("--format", help="RAY: what the files of the output are.")] = "jsonl",
    backend: Annotated[
        str | None, typer.Option("--backend", help="light (onnxruntime) or torch; light where it can be had.")
    ] = None,
) -> None:
    """Paraphrase a text, or every row of a file.

    Files may be text (one a line), CSV, TSV, JSON lines or Parquet, plain or .gz and of any length. Their other columns
    are kept; a row without a text is kept too, with a word about the problem.

    With --engine ray many files are worked on by many workers, and --out is a directory of shards with a manifest.

    Example: [bold]parasketch paraphrase "How do I become a good writer?" -n 5[/bold]

    Example: [bold]parasketch paraphrase "How do I become a writer?" --like "What are the benefits of green tea?"[/bold]

    Example: [bold]parasketch paraphrase faq.csv --column question -n 3 --out faq.jsonl --resume[/bold]

    Example: [bold]parasketch paraphrase corpus/ --engine ray --address auto --out paraphrased --resume[/bold]
    """
    from parasketch.bulk.job import Job
    from parasketch.bulk.reading import names_a_file
    from parasketch.generate.paraphrases import Sketch

    job = Job(
        model=model, semantic=semantic, n=n, like=like, sketch=None if sketch is None else Sketch.parse(sketch),
        depth=depth, plain=plain, temperature=temperature, seed=seed, effort=effort,
        split=split, rounds=rounds, show_bow=show_bow,
    )  # fmt: skip
    if engine == "ray":
        _prepare(model)
        paraphrase_on_ray(
            job, texts, out, column=column, format=format, resume=resume, batch_size=batch_size, strict=strict,
            shard_rows=shard_rows, address=address, workers=workers, device=device,
        )  # fmt: skip
        return
    if len(texts) > 1:
        raise UsageError("one text or one file at a time (is the text in quotes?); several files: --engine ray")
    [text] = texts
    is_file = names_a_file(text)
    if not is_file and (column or resume or out != STANDARD_STREAM):
        raise UsageError("--column, --out and --resume are for files, and this is a text (is the file's name right?)")
    _prepare(model)
    run = job.load(device=device, batch_size=batch_size, backend=backend)
    if show_orders:
        run.paraphraser.require("orders", "--show-orders")
    if not is_file:
        with progress_bar() as bar:
            bar.add_task("paraphrasing", total=None)
            [found] = run([text])
        accepted = [one for one in found if one.accepted]
        if strict and not accepted:
            raise DataError(NOT_ACCEPTED)
        with until_the_reader_leaves():
            plain_text = not sys.stdout.isatty()
            _print_paraphrases(
                accepted if strict else found, as_json=as_json, plain=plain_text, show_orders=show_orders
            )
        return
    settings = {"input": text, "column": column, **job.settings()}
    work = partial(
        paraphrase_file, run, text, out,
        column=column, n=n, settings=settings, resume=resume, batch_size=batch_size, strict=strict,
    )  # fmt: skip
    do_and_tell(work, out)


def sketches_command(
    text: Annotated[str | None, typer.Argument(help="The text to paraphrase.")] = None,
    like: Annotated[str | None, typer.Option("--like", help="Take the sketch of this sentence, code by code.")] = None,
    n: Annotated[int, typer.Option("-n", min=1, help="How many sketches to show.")] = 14,
    explain: Annotated[
        bool, typer.Option("--explain", help="Tell what each code of the model means, with typical sentences.")
    ] = False,
    level: Annotated[int | None, typer.Option(min=1, help="With --explain: the codes of this level alone.")] = None,
    model: ModelName = None,
    device: Device = None,
) -> None:
    """Show what sketches do: the likeliest ones as a tree, each with its output; or those of an exemplar, code by code.

    Example: [bold]parasketch sketches "How do I become a good writer?"[/bold]

    Example: [bold]parasketch sketches "How do I become a writer?" --like "What are the benefits of green tea?"[/bold]

    Example: [bold]parasketch sketches --explain --model questions[/bold]
    """
    from parasketch.analyse.tables import sketch_table

    if explain:
        _explain(model or "questions", level)
        return
    if text is None:
        raise UsageError("give a text to paraphrase, or --explain")
    paraphraser = _load(model, device)
    results = Console(highlight=False)
    if like is None:
        results.print(_tree(sketch_table(paraphraser, text, n)))
    else:
        results.print(f"{escape(text)}  [dim]in the form of[/dim]  {escape(like)}")
        results.print(_truncated(paraphraser, text, like))


def demo_command(
    text: Annotated[str, typer.Argument(help="The text to paraphrase.")] = DEMO_TEXT,
    like: Annotated[str, typer.Option("--like", help="An exemplar of another form.")] = DEMO_EXEMPLAR,
    model: ModelName = None,
    device: Device = None,
) -> None:
    """Paraphrase sentences of six kinds; then say a question in the form of another, code by code.

    Example: [bold]parasketch demo "How do I learn to swim?"[/bold]
    """
    paraphraser = _load(model, device)
    results = Console(highlight=False)
    for sentence, paraphrases in zip(DEMO_TEXTS, paraphraser(DEMO_TEXTS, n=3), strict=True):
        results.print(f"[bold]{escape(sentence)}[/bold]")
        for paraphrase in paraphrases:
            results.print(
                f"  {escape(paraphrase.text)}" + ("" if paraphrase.accepted else "  [yellow](doubtful)[/yellow]")
            )
    results.print(f"\n[bold]{escape(text)}[/bold]  in the form of  {escape(like)}")
    _print_paraphrases(paraphraser(text, like=like))
    results.print("\n[bold]Code by code: how much of that form is used[/bold]")
    results.print(_truncated(paraphraser, text, like))


def _load(model: str | None, device: str | None) -> "Paraphraser":
    _prepare(model)
    from parasketch.generate.paraphraser import Paraphraser

    return Paraphraser.from_pretrained(model, device=device)


def _prepare(model: str | None) -> None:
    """What has to happen before a model is loaded; say so if the default one is not the best there is."""
    # Threads that wait must not spin: on a busy machine that makes a command many times as slow. Read with torch.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from parasketch.generate.routing import has_base

    if model is None and not has_base():
        console.print(
            "[yellow]note:[/yellow] the small models for questions and captions answer; the model for everyday English "
            "needs its base, once: parasketch get everyday (93 MB)"
        )


def _print_paraphrases(
    paraphrases: "Sequence[Paraphrase]", *, as_json: bool = False, plain: bool = False, show_orders: bool = False
) -> None:
    """As a table; as JSON lines; or, for other programs, just the texts, one a line (a tab before what is shown)."""
    if as_json or plain:
        for paraphrase in paraphrases:
            shown = [paraphrase.text, str(paraphrase.order or "")] if show_orders else [paraphrase.text]
            texts = "\t".join(" ".join(part.split()) for part in shown)
            typer.echo(json.dumps(paraphrase.to_dict()) if as_json else texts)
        if plain and not as_json:
            _print_bow(paraphrases)
            _print_notes(paraphrases)
        return
    table = Table("paraphrase", "order" if show_orders else "sketch")
    table.add_column("different", justify="right")
    table.add_column("faithful", justify="right")
    for paraphrase in paraphrases:
        faithful = "" if paraphrase.faithfulness is None else f"{paraphrase.faithfulness:.0%}"
        mark = "" if paraphrase.accepted else "[yellow]![/yellow] "
        form = escape(str(paraphrase.order or "")) if show_orders else str(paraphrase.sketch)
        table.add_row(mark + escape(paraphrase.text), form, f"{paraphrase.difference:.0%}", faithful)
    Console(highlight=False).print(table)
    _print_bow(paraphrases)
    _print_notes(paraphrases)


def _print_bow(paraphrases: "Sequence[Paraphrase]") -> None:
    """The bag of words, where one was asked for; it is the input's, so all have the same."""
    if paraphrases and paraphrases[0].bow:
        typer.echo("bag of words: " + ", ".join(f"{one.word} {one.weight:.2f}" for one in paraphrases[0].bow))


def _print_notes(paraphrases: "Sequence[Paraphrase]") -> None:
    for note in dict.fromkeys(note for paraphrase in paraphrases for note in _notes(paraphrase)):
        console.print(f"[yellow]note:[/yellow] {escape(note)}", soft_wrap=True)


def _notes(paraphrase: "Paraphrase") -> list[str]:
    lost = [f"lost in {paraphrase.text!r}: {', '.join(paraphrase.lost)}"] if paraphrase.lost else []
    return [*paraphrase.warnings, *lost]


def _tree(table: "SketchTable") -> Tree:
    """The outputs of the likeliest sketches, under the codes that they share."""
    tree = Tree(f"{escape(table.text)}  [dim]sketch {','.join(map(str, table.own))}[/dim]")
    branches: dict[tuple[int, ...], Tree] = {(): tree}
    for said in table.said:
        path = tuple(said.sketch)
        for level in range(1, len(path)):
            if path[:level] not in branches:
                branches[path[:level]] = branches[path[: level - 1]].add(f"[bold]{path[level - 1]}[/bold]")
        branches[path[:-1]].add(f"[bold]{path[-1]}[/bold]  {escape(said.text)}")
    return tree


def _truncated(paraphraser: "Paraphraser", text: str, like: str) -> Table:
    """The outputs for no code, the first code, the first two, ... of an exemplar's sketch."""
    from parasketch.analyse.tables import granularity_table

    table = Table("sketch", "paraphrase")
    for said in granularity_table(paraphraser, text, like).said:
        table.add_row(",".join(map(str, said.sketch)) or "none", escape(said.text))
    return table


def _explain(model: str, level: int | None) -> None:
    """What is known of the codes of a model."""
    from parasketch.analyse.naming import format_p, read_names
    from parasketch.generate.pretrained import find_model

    report = read_names(find_model(model))
    if report is None:
        command = f"parasketch analyse codes --model {model} --data CLUSTERS --name"
        raise UsageError(f"the codes of {model} have no names yet: {command}")
    table = Table("level", "code", "share", "description", "p", "typical sentences", show_lines=True)
    for code in report.codes:
        if level in (None, code.level):
            cells = [str(code.level), str(code.code), f"{code.share:.1%}", escape(code.name), format_p(code.least_p)]
            table.add_row(*cells, escape("\n".join(code.sentences)))
    Console(highlight=False).print(table)
