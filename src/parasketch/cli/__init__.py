"""The command line: thin functions, one per subcommand, grouped by task."""

import sys
from typing import Annotated

import typer
from rich.markup import escape

from parasketch.cli import analyse, data, evaluate, export, generate, get, judge, prepare, reproduce, serve, train
from parasketch.console import console, set_quiet
from parasketch.errors import ParasketchError
from parasketch.version import __version__

app = typer.Typer(
    name="parasketch",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help=(
        "Paraphrases whose form you can steer.\n\n"
        "Example: [bold]parasketch paraphrase 'How do I become a good writer?' -n 5[/bold]"
    ),
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"parasketch {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No messages and no progress bars.")] = False,
) -> None:
    """Options that come before every subcommand."""
    del version
    set_quiet(quiet)


for module in (generate, get, export, data, prepare, train, evaluate, analyse, reproduce, judge, serve):
    module.register(app)


def main() -> None:
    """Run the command line; a problem that the user can mend is one message, never a traceback."""
    try:
        app()
    except ParasketchError as error:
        console.quiet = False
        console.print(f"[bold red]error:[/bold red] {escape(str(error))}", soft_wrap=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
