"""`parasketch export`: a model as ONNX, to be run without torch."""

from typing import Annotated

import typer

from parasketch.console import console
from parasketch.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add this module's subcommand to the command line."""
    app.command("export", rich_help_panel="Models")(export_command)


def export_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model: its name, or its directory.")],
    out: Annotated[str, typer.Option("--out", "-o", help="The directory to write: a new one.")],
    int8: Annotated[
        bool, typer.Option("--int8", help="Matrices in 8 bits: half the size, and not quite the same.")
    ] = False,
) -> None:
    """Write a model (HRQ-VAE, or a verifier) as ONNX: it then needs onnxruntime and no torch.

    Example: [bold]parasketch export runs/mine --out mine-light[/bold]
    """
    from pathlib import Path

    from parasketch.generate.pretrained import find_model
    from parasketch.light.export import export_model

    source = Path(model) if Path(model).is_dir() else find_model(model)
    if Path(out).exists():
        raise UsageError(f"{out} exists: name a directory that is to be made")
    names = export_model(source, out, int8=int8)
    console.print(f"{', '.join(names)} written: {out}")
