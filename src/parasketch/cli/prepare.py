"""`parasketch prepare` and `parasketch data exemplars`: clusters made ready for training, and a look at them."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from parasketch.cli.data import data_app
from parasketch.config import DataConfig

_DEFAULTS = DataConfig()

Templates = Annotated[
    Literal["chunk", "pos"], typer.Option(help="[bold]chunk[/bold] suits questions, [bold]pos[/bold] suits captions.")
]
TaggerName = Annotated[str, typer.Option(help="crf (inside the package), spacy:MODEL or flair.")]


def register(app: typer.Typer) -> None:
    """Add this module's subcommands to the command line."""
    app.command("prepare", rich_help_panel="Train on your own data")(prepare_command)
    data_app.command("exemplars")(exemplars_command)


def prepare_command(
    clusters: Annotated[list[Path], typer.Argument(help="Files of clusters, in any format, plain or .gz.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory to write.")],
    templates: Templates = _DEFAULTS.templates,
    vocab_size: Annotated[int, typer.Option(help="Size of the subword vocabulary to learn.")] = _DEFAULTS.vocab_size,
    tagger: TaggerName = _DEFAULTS.tagger,
    max_tokens: Annotated[int, typer.Option(help="Leave out sentences with more subwords.")] = _DEFAULTS.max_tokens,
    tokenizer: Annotated[
        Path | None, typer.Option(help="Use this tokenizer.json, so that two corpora share a vocabulary.")
    ] = None,
    bert_vocab: Annotated[Path | None, typer.Option(help="Use BERT's vocab.txt, as in the paper.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; one for each core unless told.")] = None,
) -> None:
    """Make clusters ready for training: tokens, templates and exemplars, in a directory of arrays.

    A directory that is up to date is left alone.

    Example: [bold]parasketch prepare train.jsonl.gz --out prepared[/bold]
    """
    from parasketch.data.prepare import prepare

    config = replace(_DEFAULTS, templates=templates, vocab_size=vocab_size, tagger=tagger, max_tokens=max_tokens)
    if bert_vocab is not None:
        config = replace(config, tokenizer="bert", bert_vocab=str(bert_vocab))
    prepared = prepare(clusters, out, config, workers=workers, tokenizer=tokenizer)
    for name, value in prepared.summary().items():
        typer.echo(f"{name:<34}{value}")


def exemplars_command(
    corpus: Annotated[Path, typer.Argument(help="A file of clusters, or a directory made by `parasketch prepare`.")],
    show: Annotated[int, typer.Option(min=1, help="How many examples to print.")] = 10,
    templates: Templates = _DEFAULTS.templates,
    tagger: TaggerName = _DEFAULTS.tagger,
    seed: Annotated[int, typer.Option(help="Another seed shows other sentences.")] = 0,
) -> None:
    """Show how exemplars are found: a sentence, its chunks, its template, and another sentence of that form.

    [bold]real[/bold] exemplars are sentences of another cluster; where there is none, one is [bold]synthesised[/bold]
    from spans of the corpus. Options other than --show and --seed are for a file of clusters.

    Example: [bold]parasketch data exemplars train.jsonl.gz --show 10[/bold]
    """
    from parasketch.data.exemplars import examples
    from parasketch.data.prepare import prepare
    from parasketch.data.prepared import Prepared

    with tempfile.TemporaryDirectory() as scratch:
        config = replace(_DEFAULTS, templates=templates, tagger=tagger)
        prepared = Prepared(corpus) if corpus.is_dir() else prepare([corpus], Path(scratch) / "prepared", config)
        for example in examples(prepared, show, seed=seed):
            typer.echo(f"{'input':<10}{example.sentence}")
            typer.echo(f"{'chunks':<10}{example.tagged}")
            typer.echo(f"{'template':<10}{example.template}")
            typer.echo(f"{'exemplar':<10}{example.exemplar} ({'real' if example.real else 'synthesised'})\n")
        typer.echo(f"sentences with a real exemplar: {prepared.manifest['counts']['share_with_real_exemplar']:.1%}")
