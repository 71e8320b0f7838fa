"""`parasketch reproduce`: the paper's tables and figures with one command."""

from pathlib import Path
from typing import Annotated

import typer

from parasketch.console import console
from parasketch.errors import ParasketchError
from parasketch.extras import needs


def register(app: typer.Typer) -> None:
    """Add this module's subcommands to the command line."""
    app.command("reproduce", rich_help_panel="Evaluate")(reproduce_command)


def reproduce_command(
    data: Annotated[
        Path | None,
        typer.Option(help="The directory of the data; the plan names the files. --quick can do without it."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="A part of the plan, or a step, by its name or the beginning of it; may be repeated."),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(min=0.001, help="Length of the longest training runs, in minutes of one core; others scale."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Everything in ten minutes: the shapes of the tables, not their quality.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where runs, results and the report go.")] = Path(
        "reproduction"
    ),
    plan: Annotated[Path | None, typer.Option(help="Another plan than the package's.")] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Steps at a time, one for each core unless told.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Only show the steps and which of them are done.")] = False,
    publish: Annotated[
        Path | None,
        typer.Option(
            help="Run nothing; copy the numbers in OUT to DIR/results, and write DIR/results.md and DIR/figures.",
            metavar="DIR",
        ),
    ] = None,
) -> None:
    """Train what is missing, evaluate, analyse, and write a report: the paper's tables and figures.

    What is done stays done: the same command goes on where it was killed, and only runs again what has changed.
    The report is OUT/report.md and OUT/index.html; every number in it is in the JSON beside it.

    Example: [bold]parasketch reproduce --quick[/bold]

    Example: [bold]parasketch reproduce --data data --only comparison[/bold]

    Example: [bold]parasketch reproduce --data data --only comparison/train/hrqvae --jobs 1[/bold]
    """
    with needs("train", "reproduction"), needs("eval", "reproduction"):
        from parasketch.reproduce.command import Wanted, list_steps, reproduce
        from parasketch.reproduce.command import publish as publish_results

    if publish is not None:
        publish_results(out, publish)
        console.print(f"written from the JSON in {publish / 'results'}: {publish / 'results.md'}")
        return
    wanted = Wanted(data=data, only=only or [], minutes=minutes, quick=quick, out=out, plan=plan)
    if list_:
        for name, is_done in list_steps(wanted):
            typer.echo(f"{'done' if is_done else 'open':6}{name}")
        return
    try:
        outcome = reproduce(wanted, jobs=jobs)
    except KeyboardInterrupt as error:
        console.print("interrupted: the same command goes on")
        raise typer.Exit(130) from error
    report = out / "index.html"
    console.print(f"{len(outcome.done)} steps done, {len(outcome.skipped)} were done before: {report}", soft_wrap=True)
    if outcome.failed:
        raise ParasketchError(f"{len(outcome.failed)} steps failed: {', '.join(outcome.failed)}")
