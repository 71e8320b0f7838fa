"""One place for what people see while work goes on: messages and progress bars, on stderr.

Standard output belongs to results, so that every command can stand in a pipe.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

T = TypeVar("T")

console = Console(stderr=True, highlight=False)


def set_quiet(quiet: bool) -> None:
    """Silence messages and progress bars (`--quiet`); errors are still printed."""
    console.quiet = quiet


def progress_bar() -> Progress:
    """A progress bar with counts and times, shown only on a terminal that wants it."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=console.quiet or not console.is_terminal,
    )


def track(items: Iterable[T], description: str, total: int | None = None, *, show: bool = True) -> Iterator[T]:
    """Yield `items` under a progress bar."""
    if not show:
        yield from items
        return
    with progress_bar() as bar:
        yield from bar.track(items, total=total, description=description)
