"""Work that nobody waits for any more ends early: who asks says whether they still want it, and searches listen.

A search over tokens takes from a tenth of a second to some seconds. While somebody types, most of them are out of date
before they end; the next one should not have to wait for them.
"""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

_still_wanted: ContextVar[Callable[[], bool] | None] = ContextVar("still_wanted", default=None)


class Stopped(Exception):
    """The results are not wanted any more."""


@contextlib.contextmanager
def while_wanted(still_wanted: Callable[[], bool]) -> Iterator[None]:
    """Let searches in this thread end with `Stopped` as soon as `still_wanted()` is false."""
    token = _still_wanted.set(still_wanted)
    try:
        yield
    finally:
        _still_wanted.reset(token)


def stop_if_unwanted() -> None:
    """To be called once a step by whatever takes long."""
    wanted = _still_wanted.get()
    if wanted is not None and not wanted():
        raise Stopped
