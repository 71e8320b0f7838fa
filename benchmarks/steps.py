"""Where the time of generation goes: every step of the shipped models is timed, and what it contains is taken off.

Used by `generate.py profile`. Functions are wrapped where the engine looks them up, so nothing in the package knows.
"""

import functools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from parasketch.generate import candidates, hrqvae
from parasketch.generate.tokens import TokenSearch

REST = "the rest"


class StepTimes:
    """CPU seconds by step, each without the steps inside of it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._current, self._since = REST, time.process_time()

    @contextmanager
    def during(self, step: str) -> Iterator[None]:
        before = self._switch(step)
        try:
            yield
        finally:
            self._switch(before)

    def _switch(self, step: str) -> str:
        now = time.process_time()
        self.seconds[self._current] += now - self._since
        before, self._current, self._since = self._current, step, now
        return before

    def wrap(self, function: Callable[..., Any], step: str | Callable[..., str]) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*arguments: Any, **options: Any) -> Any:
            with self.during(step if isinstance(step, str) else step(**options)):
                return function(*arguments, **options)

        return timed


def which_search(required: Any = None, **_: Any) -> str:
    return "required-token search" if any(each.tokens for each in required or ()) else "token search"


@contextmanager
def timed_steps(engine: hrqvae.HrqvaeEngine) -> Iterator[StepTimes]:
    """Times everything that the engine does."""
    times, backend = StepTimes(), type(engine.backend)
    places: list[tuple[Any, str, str | Callable[..., str]]] = [
        (backend, "encode", "encode"),
        (hrqvae, "best_sketches", "sketches"),
        (TokenSearch, "__call__", which_search),
        (candidates.CandidateSet, "add", "candidates: facts"),
        (candidates, "restore_case", "casing"),
        (hrqvae, "judge", "features"),
        (backend, "log_likelihood", "cycle"),
        (hrqvae, "verify", "verifier"),
        (hrqvae, "find_finalists", "choice"),
        (hrqvae, "choose", "choice"),
        (hrqvae, "to_paraphrases", "choice"),
    ]
    with ExitStack() as stack:
        for owner, name, step in places:
            stack.enter_context(patch.object(owner, name, times.wrap(getattr(owner, name), step)))
        with times.during(REST):
            yield times
