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
    data: Annotated[Path, typer.Option(help="The directory of the data; the plan names the files in it.")],
    only: Annotated[
        list[str] | None,
        typer.Option(help="A part of the plan, or a step, by its name or the beginning of it; may be repeated."),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(min=0.001, help="Length of the longest training runs, in minutes of one core; others scale."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where runs, results and the report go.")] = Path(
        "reproduction"
    ),
    plan: Annotated[Path | None, typer.Option(help="Another plan than the package's.")] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Steps at a time, one for each core unless told.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Only show the steps and which of them are done.")] = False,
) -> None:
    """Train what is missing, evaluate, analyse, and write a report: the paper's tables and figures.

    What is done stays done: the same command goes on where it was killed, and only runs again what has changed.

    Example: [bold]parasketch reproduce --data data --only comparison[/bold]

    Example: [bold]parasketch reproduce --data data --only comparison/train/hrqvae --jobs 1[/bold]
    """
    with needs("train", "reproduction"):
        from parasketch.reproduce.build import build, choose
        from parasketch.reproduce.plan import load_plan
        from parasketch.reproduce.report import whole_report
        from parasketch.reproduce.runner import cores, run_steps
        from parasketch.reproduce.steps import Space
        from parasketch.reproduce.summary import summarise
    from parasketch.files import write_text

    chosen = load_plan(plan)
    steps = build(chosen, minutes=minutes)
    mine = choose(steps, only or [])
    space = Space(data=data, out=out)
    if list_:
        for step in mine:
            typer.echo(f"{'done' if space.note(step.name).exists() else 'open':6}{step.name}")
        return
    try:
        outcome = run_steps(mine, space, jobs=jobs or cores())
    except KeyboardInterrupt as error:
        console.print("interrupted: the same command goes on")
        raise typer.Exit(130) from error
    summaries = [
        summarise(chosen, name, list(steps.values()), space, out / f"{name}.json")
        for name in chosen.parts
        if any(step.name.startswith(f"{name}/") for step in mine)
    ]
    with write_text(out / "report.md") as stream:
        stream.write(whole_report(summaries))
    console.print(f"{len(outcome.done)} steps done, {len(outcome.skipped)} were done before: {out / 'report.md'}")
    if outcome.failed:
        raise ParasketchError(f"{len(outcome.failed)} steps failed: {', '.join(outcome.failed)}")
