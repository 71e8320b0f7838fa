"""`parasketch analyse codes | tsne | alpha | sketches | examples`: a look inside models, and at results."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from parasketch.console import console
from parasketch.extras import needs
from parasketch.files import write_text

analyse_app = typer.Typer(no_args_is_help=True, help="What the codes of a model mean, and what its sketches do.")

Model = Annotated[str, typer.Option("--model", "-m", help="A model of the kind hrqvae: its name or directory.")]
Clusters = Annotated[list[Path], typer.Option("--data", help="Files of clusters whose sentences are looked at.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="Where figures and JSON go.")]
Results = Annotated[list[Path], typer.Argument(help="Results directories of [bold]parasketch evaluate[/bold].")]


def register(app: typer.Typer) -> None:
    """Add this module's subcommands to the command line."""
    app.add_typer(analyse_app, name="analyse", rich_help_panel="Evaluate")


@analyse_app.command("codes")
def codes_command(
    model: Model,
    data: Clusters,
    out: Out = Path("analysis"),
    limit: Annotated[int, typer.Option(min=10, help="At most so many sentences, at random.")] = 20_000,
    templates: Annotated[Literal["chunk", "pos"], typer.Option(help="pos suits captions.")] = "chunk",
    typical: Annotated[
        Path | None, typer.Option(help="Take typical sentences from these clusters instead, such as your own.")
    ] = None,
    name: Annotated[
        bool, typer.Option("--name", help="Write the descriptions into the directory of the model and its card.")
    ] = False,
) -> None:
    """What each code goes with: heat maps, mutual information, and statements with p-values.

    Example: [bold]parasketch analyse codes --model questions --data train.jsonl.gz[/bold]
    """
    with needs("eval", "the analysis of codes"):
        from parasketch.analyse.codes import explain_codes
        from parasketch.analyse.figures import crossing_values, draw_crossings, save
        from parasketch.analyse.forms import forms_of, load_hrqvae, read_sentences
        from parasketch.analyse.naming import name_codes
        from parasketch.analyse.properties import properties
    from parasketch.generate.pretrained import find_model
    from parasketch.text.tagger import load_tagger

    network, tokenizer = load_hrqvae(model)
    forms = forms_of(network, tokenizer, read_sentences(data, limit))
    shown = None if typical is None else forms_of(network, tokenizer, read_sentences([typical], limit))
    found = properties(forms.sentences, load_tagger("crf"), templates)
    report = explain_codes(forms, found, model=Path(model).name, typical=shown)
    _write(out / "codes.json", asdict(report))
    for one in found:
        save(draw_crossings(report, one.name), out / f"codes-{_slug(one.name)}", crossing_values(report, one.name))
    if name:
        name_codes(find_model(model), report, data=_named(data), typical=_named([typical] if typical else data))
    _print_codes(report)
    console.print(f"figures and numbers: {escape(str(out))}")


@analyse_app.command("tsne")
def tsne_command(
    model: Model,
    data: Clusters,
    out: Out = Path("analysis"),
    limit: Annotated[int, typer.Option(min=10, help="At most so many sentences, at random.")] = 3000,
) -> None:
    """Forms on a plane, coloured by their codes, zooming in from level to level.

    Example: [bold]parasketch analyse tsne --model questions --data train.jsonl.gz[/bold]
    """
    with needs("eval", "t-SNE"):
        from parasketch.analyse.figures import draw_map, save
        from parasketch.analyse.forms import forms_of, load_hrqvae, read_sentences
        from parasketch.analyse.tsne import lay_out

    network, tokenizer = load_hrqvae(model)
    found = lay_out(forms_of(network, tokenizer, read_sentences(data, limit)), model=Path(model).name)
    _write(out / "tsne.json", asdict(found))
    save(draw_map(found), out / "tsne", asdict(found))
    console.print(f"figure and numbers: {escape(str(out))}")


@analyse_app.command("alpha")
def alpha_command(results: Results, out: Out = Path("analysis")) -> None:
    """IBLEU over the weight of BLEU, from 0.5 to 1, for all systems.

    Example: [bold]parasketch analyse alpha results/*[/bold]
    """
    with needs("eval", "the analysis of results"):
        from parasketch.analyse.figures import alpha_values, draw_alpha, save
        from parasketch.evaluate.results import Results as Loaded

    values = alpha_values([Loaded.load(path) for path in results])
    _write(out / "alpha.json", values)
    save(draw_alpha(values), out / "alpha", values)
    console.print(f"figure and numbers: {escape(str(out))}")


@analyse_app.command("sketches")
def sketches_command(
    texts: Annotated[list[str], typer.Argument(help="The texts to paraphrase.")],
    like: Annotated[list[str] | None, typer.Option("--like", help="Exemplars, to be followed code by code.")] = None,
    model: Model = "questions",
    n: Annotated[int, typer.Option("-n", min=1, help="How many sketches to show.")] = 14,
    out: Out = Path("analysis"),
) -> None:
    """Tables of one input in many sketches, and in 0 to D codes of an exemplar's sketch, as JSON and on the screen.

    Example: [bold]parasketch analyse sketches "How heavy is a moose?" --like "Why do cats sleep so much?"[/bold]
    """
    from parasketch.analyse.tables import granularity_table, sketch_table
    from parasketch.generate.paraphraser import Paraphraser

    paraphraser = Paraphraser.from_pretrained(model)
    sketched = [sketch_table(paraphraser, text, n) for text in texts]
    granular = [granularity_table(paraphraser, text, other) for text in texts for other in like or []]
    _write(
        out / "sketches.json",
        {"sketches": [asdict(one) for one in sketched], "granularity": list(map(asdict, granular))},
    )
    shown = [(one.text, one.said) for one in sketched]
    shown += [(f"{one.text}  in the form of  {one.like}", one.said) for one in granular]
    for title, outputs in shown:
        table = Table("sketch", "paraphrase", title=escape(title), title_justify="left")
        for said in outputs:
            table.add_row(".".join(map(str, said.sketch)) or "none", escape(said.text))
        Console(highlight=False).print(table)


@analyse_app.command("examples")
def examples_command(
    results: Results,
    item: Annotated[int, typer.Option(min=0, help="Which item of each data set, from 0.")] = 0,
    out: Out = Path("analysis"),
) -> None:
    """One item of each data set in all systems.

    Example: [bold]parasketch analyse examples results/* --item 3[/bold]
    """
    with needs("eval", "the analysis of results"):
        from parasketch.analyse.tables import example_table

    tables = example_table(results, item)
    _write(out / "examples.json", [asdict(one) for one in tables])
    for one in tables:
        table = Table("system", "output", title=escape(f"{one.data}: {one.text}"), title_justify="left")
        for system, text in one.outputs.items():
            table.add_row(escape(system), escape(text))
        Console(highlight=False).print(table)


def _print_codes(report: Any) -> None:
    from parasketch.analyse.naming import format_p

    table = Table("level", "code", "share", "description", "p")
    for code in report.codes:
        table.add_row(str(code.level), str(code.code), f"{code.share:.1%}", escape(code.name), format_p(code.least_p))
    Console(highlight=False).print(table)


def _write(path: Path, values: Any) -> None:
    with write_text(path) as stream:
        json.dump(values, stream, indent=1, ensure_ascii=False)
        stream.write("\n")


def _named(files: list[Path]) -> str:
    """Directory and file of each, without endings."""
    return ", ".join(f"{file.absolute().parent.name}/{file.name.partition('.')[0]}" for file in files)


def _slug(name: str) -> str:
    return name.replace(" ", "-")
