"""`parasketch train`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from parasketch.console import console
from parasketch.extras import needs


def register(app: typer.Typer) -> None:
    """Add this module's subcommands to the command line."""
    app.command("train", rich_help_panel="Train on your own data")(train_command)


def train_command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SYSTEM] [CLUSTERS|PRESET|CONFIG]",
            help="What to train ([bold]parasketch systems[/bold] lists them; hrqvae unless told), and a file of "
            "clusters, or a preset or YAML file with --data.",
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="A directory made by [bold]parasketch prepare[/bold], or a file of clusters.")
    ] = None,
    dev: Annotated[
        Path | None,
        typer.Option(help="Evaluation items (JSONL) that select the best model; else some clusters are set aside."),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="A preset of the system, such as small or paper, or a YAML file.")
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="MODEL", help="Go on with this model, shipped or your own, and its vocabulary."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Directory of the run; the model will be in OUT/best.")
    ] = Path("runs/parasketch"),
    minutes: Annotated[
        float | None, typer.Option(min=0.01, help="Length of the run; the schedules fit themselves to it.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a setting: [bold]--set model.width=192[/bold]; may be repeated."),
    ] = None,
    resume: Annotated[
        Literal["auto", "never"], typer.Option(help="[bold]auto[/bold] goes on from the last checkpoint in OUT.")
    ] = "auto",
    accelerator: Annotated[str, typer.Option(help="cpu, cuda, mps or auto.")] = "auto",
    devices: Annotated[str, typer.Option(help="How many devices (or processes on CPUs), or auto.")] = "auto",
) -> None:
    """Train a model on your own clusters of paraphrases.

    A run that was cut goes on where its last checkpoint was; the same command continues it. Watch OUT/metrics.jsonl,
    or TensorBoard if it is installed.

    Example: [bold]parasketch train clusters.jsonl --minutes 60 --out runs/mine[/bold]

    Example: [bold]parasketch train clusters.jsonl --from questions --minutes 10 --out runs/mine[/bold]

    Example: [bold]parasketch train hrqvae --data prepared --dev dev.jsonl --out runs/mine --set model.width=192[/bold]
    """
    with needs("train", "training"):
        from parasketch.experiment import alone_in, has_checkpoint, make_fabric, run_experiment, set_up, understand

    order = understand(words or [], preset=preset, data=data, start=from_)
    try:
        with alone_in(out):
            experiment = set_up(order, dev=dev, run=out, overrides=set_ or [], minutes=minutes)
            precision = experiment.task.config.train.precision
            fabric = make_fabric(accelerator=accelerator, devices=devices, precision=precision)
            best = run_experiment(experiment, fabric=fabric, resume=resume == "auto")
    except KeyboardInterrupt as error:
        how = "goes on from the last checkpoint" if has_checkpoint(out) else "begins again: there is no checkpoint yet"
        console.print(f"interrupted: the same command {how} in {out}", soft_wrap=True)
        raise typer.Exit(130) from error
    console.print(f"the best model is in {best}; try: parasketch paraphrase 'your sentence' --model {best}")
