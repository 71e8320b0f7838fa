"""`parasketch judge create | report`: people compare systems in pairs, and what they found."""

from pathlib import Path
from typing import Annotated

import typer

from parasketch.console import console
from parasketch.extras import needs


def register(app: typer.Typer) -> None:
    """Add this module's subcommands to the command line."""
    judge = typer.Typer(no_args_is_help=True, help="Human evaluation: create a study, report what people judged.")
    judge.command("create")(create_command)
    judge.command("report")(report_command)
    app.add_typer(judge, name="judge", rich_help_panel="Evaluate")


def create_command(
    data: Annotated[Path, typer.Option("--data", help="The items that they were evaluated on.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The study, a new file.")],
    systems: Annotated[
        list[Path] | None, typer.Option("--systems", help="Results directories of evaluate; two or more.")
    ] = None,
    others: Annotated[list[Path] | None, typer.Argument(metavar="[DIRECTORIES]...", show_default=False)] = None,
    items: Annotated[int, typer.Option("--items", min=1, help="Inputs to be judged, each with all pairs.")] = 100,
    ratings: Annotated[int, typer.Option("--ratings", min=1, help="Raters of each pair.")] = 3,
    raters: Annotated[int, typer.Option("--raters", min=1, help="People to invite.")] = 9,
    check_every: Annotated[int, typer.Option("--check-every", min=1, help="Pairs for each attention check.")] = 10,
    seed: Annotated[int, typer.Option("--seed", help="Which items are drawn, and in which order.")] = 0,
    url: Annotated[str, typer.Option("--url", help="Where the server will be.")] = "http://127.0.0.1:8000",
) -> None:
    """Create a study of the systems' outputs, and print an invitation link for each rater.

    Example: [bold]parasketch judge create --systems results/a results/b --data test.jsonl --out study.db[/bold]

    Then: [bold]parasketch serve --study study.db[/bold]
    """
    with needs("eval", "a study"):
        from parasketch.judge.create import create_study

    directories = [*(systems or []), *(others or [])]
    study = create_study(
        directories, data, out, items=items, ratings=ratings, raters=raters, check_every=check_every, seed=seed
    )
    page = study.page(study.tokens()[0])
    pairs = page.total if page else 0
    console.print(f"{out}: {len(study.systems)} systems, {raters} raters, about {pairs} pairs each", markup=False)
    for token in study.tokens():
        typer.echo(f"{url.rstrip('/')}/judge/{token}")


def report_command(
    path: Annotated[Path, typer.Argument(metavar="STUDY", help="A study of judge create.")],
    csv: Annotated[Path | None, typer.Option("--csv", help="Write all answers here.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw the means (.png or .svg).")] = None,
    least_passed: Annotated[
        float, typer.Option("--least-passed", min=0, max=1, help="Share of checks a rater must get right to count.")
    ] = 0.7,
    seed: Annotated[int, typer.Option("--seed", help="Of the bootstrap.")] = 0,
) -> None:
    """Report means, intervals, agreement, a ranking and the raters' care, as Markdown.

    Example: [bold]parasketch judge report study.db --csv answers.csv --plot means.svg[/bold]
    """
    from parasketch.judge.analysis import analyse
    from parasketch.judge.report import plot as draw
    from parasketch.judge.report import to_markdown, write_csv
    from parasketch.judge.study import Study

    study = Study(path)
    judgements = study.judgements()
    if csv is not None:
        write_csv(judgements, csv)
    analysis = analyse(judgements, study.systems, least_passed=least_passed, seed=seed)
    if plot is not None:
        draw(analysis, plot)
    typer.echo(to_markdown(analysis), nl=False)
