"""`parasketch serve | serve-key`: the REST service with the explorer, and keys for its clients."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from parasketch.cli.generate import Device
from parasketch.console import console
from parasketch.extras import needs


def register(app: typer.Typer) -> None:
    """Add this module's subcommands to the command line."""
    app.command("serve", rich_help_panel="Serve")(serve_command)
    app.command("serve-key", rich_help_panel="Serve")(key_command)


def serve_command(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", "-m", help="A model: its name, its directory, or a Hub id. May be given several times."
        ),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen at; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 for any free one.")] = 8000,
    keys: Annotated[
        Path | None, typer.Option("--keys", help="Only for clients with a key of this file (see serve-key).")
    ] = None,
    study: Annotated[Path | None, typer.Option("--study", help="A study to be judged at /judge.")] = None,
    sentences: Annotated[
        Path | None, typer.Option("--sentences", help="Sentences, one a line, that show what codes mean.")
    ] = None,
    rate: Annotated[float, typer.Option("--rate", min=0, help="Requests a second of one client; 0: any.")] = 50.0,
    queue: Annotated[int, typer.Option("--queue", min=1, help="Texts that may wait.")] = 2048,
    timeout: Annotated[float, typer.Option("--timeout", min=0.01, help="Seconds for a request.")] = 30.0,
    batch_size: Annotated[int, typer.Option("--batch-size", min=1, help="Most texts worked on together.")] = 32,
    log_texts: Annotated[bool, typer.Option("--log-texts", help="Write the requests' bodies to the log.")] = False,
    device: Device = None,
) -> None:
    """Serve paraphrases over HTTP, with an explorer for the browser; nothing is fetched from elsewhere.

    The access log, one JSON object a line, goes to standard error and has no texts unless asked for. SIGTERM ends the
    server when the requests that it has accepted are answered.

    Example: [bold]parasketch serve[/bold]

    Example: [bold]parasketch serve --model questions --model runs/mine/best --host 0.0.0.0 --keys keys.txt[/bold]
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    with needs("serve", "the service"):
        from parasketch.serve.app import ServiceOptions, create_app
        from parasketch.serve.server import serve
    from parasketch.serve.clients import Keys
    from parasketch.serve.limits import Limits
    from parasketch.serve.models import DEFAULT, Models, load

    loaders = {name: load(name, device) for name in model} if model else {DEFAULT: load(None, device)}
    models = Models(loaders, sentences)
    limits = Limits(rate=rate, queue=queue, seconds=timeout)
    options = ServiceOptions(
        limits=limits, keys=None if keys is None else Keys.read(keys), study=study, batch_size=batch_size,
        log=None if console.quiet else sys.stderr, log_texts=log_texts,
    )  # fmt: skip
    models.get(models.names[0])  # what is wrong with it is an error now, not at the first request

    def ready(bound: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        console.print(f"parasketch is at http://{shown}:{bound}/", markup=False)

    serve(create_app(models, options), host=host, port=port, limits=limits, ready=ready)


def key_command(
    name: Annotated[str, typer.Argument(help="Whose key: it appears in the access log.")],
    file: Annotated[Path, typer.Option("--keys", help="The key file; it is made if it is not there.")],
) -> None:
    """Make an API key and print it, once; the file keeps only its hash.

    Example: [bold]parasketch serve-key alice --keys keys.txt[/bold]
    """
    from parasketch.serve.clients import Keys

    known = Keys.read(file) if file.exists() else Keys({})
    key = known.add(name)
    known.write(file)
    typer.echo(key)
