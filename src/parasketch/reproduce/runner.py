"""Runs the steps of a plan, several at a time, each in a process of its own kind, under one progress bar.

Everything a step leaves is whole or not there, so that the whole can be killed at any moment and started again. A step
that fails does not stop those that do not need it. Several runners may share a directory: they wait for each
other's steps.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from parasketch.console import console, set_quiet
from parasketch.errors import ParasketchError
from parasketch.reproduce.steps import Space, Step

LOOK_SECONDS = 0.25
MOST_EARLY = 0.95
"""A step that takes longer than expected stands still here."""


@dataclass
class Outcome:
    """What became of the steps."""

    done: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    """They were done before."""
    failed: dict[str, str] = field(default_factory=dict)
    """With the reason."""
    waiting: list[str] = field(default_factory=list)
    """They need one that failed."""


def run_steps(steps: Sequence[Step], space: Space, *, jobs: int) -> Outcome:
    """Run what is not done yet, `jobs` steps at a time with a share of the cores each."""
    space.out.mkdir(parents=True, exist_ok=True)
    outcome, left = Outcome(), list(steps)
    running: dict[Future[None], tuple[Step, float]] = {}
    names = {step.name for step in steps}
    context = multiprocessing.get_context("spawn")
    threads = max(1, cores() // jobs)
    with (
        _bar() as bar,
        ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker, initargs=(threads,)) as pool,
        _children_end_with_errors(),  # before the pool waits for them
    ):
        task = bar.add_task("", total=sum(step.estimate for step in steps), news="", remaining="")
        clock = _Remaining(jobs)
        while left or running:
            settled = {*outcome.done, *outcome.skipped}
            for step in list(left):
                if any(need in outcome.failed or need in outcome.waiting for need in step.needs):
                    outcome.waiting.append(step.name)
                    left.remove(step)
                elif len(running) < jobs and all(need in settled or need not in names for need in step.needs):
                    left.remove(step)
                    if step.is_done(space):
                        outcome.skipped.append(step.name)
                        settled.add(step.name)
                        clock.total_skipped += step.estimate
                    else:
                        running[pool.submit(_work, step, space)] = (step, time.monotonic())
            finished, _ = wait(running, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
            for future in finished:
                step, _ = running.pop(future)
                _settle(step, future, outcome)
            ended = sum(step.estimate for step in steps if step.name in (*outcome.done, *outcome.skipped))
            partly = sum(clock.partly(step, begun) for step, begun in running.values())
            news = ", ".join(step.name for step, _ in running.values())
            total = sum(step.estimate for step in steps if step.name not in (*outcome.failed, *outcome.waiting))
            remaining = clock.left(total - ended - partly, ended + partly)
            bar.update(task, completed=ended + partly, total=total, news=news, remaining=remaining)
    return outcome


class _Remaining:
    """How long the rest will take, from how fast it went so far."""

    def __init__(self, jobs: int) -> None:
        self.jobs, self.begun, self.total_skipped = jobs, time.monotonic(), 0.0

    def partly(self, step: Step, begun: float) -> float:
        return min(MOST_EARLY * step.estimate, time.monotonic() - begun)

    def left(self, work: float, done: float) -> str:
        passed, worked = time.monotonic() - self.begun, done - self.total_skipped
        # The estimates are of one core; at first there is nothing else to go by.
        pace = worked / passed if worked > 60 else self.jobs
        minutes = max(0.0, work) / max(pace, 0.05) / 60
        return f"{minutes // 60:.0f} h {minutes % 60:.0f} min left" if minutes >= 60 else f"{minutes:.0f} min left"


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _settle(step: Step, future: Future[None], outcome: Outcome) -> None:
    try:
        future.result()
    except ParasketchError as error:
        outcome.failed[step.name] = str(error)
    except BrokenProcessPool:
        raise ParasketchError(f"{step.name}: its process was ended from outside; the same command goes on") from None
    except Exception as error:  # a step that fails is told of at the end; the others go on
        outcome.failed[step.name] = f"{type(error).__name__}: {error}"
    else:
        outcome.done.append(step.name)
        return
    console.print(f"{step.name}: {outcome.failed[step.name]}", markup=False, soft_wrap=True)


@contextmanager
def _children_end_with_errors() -> Iterator[None]:
    """Who presses Ctrl-C does not want to wait until the steps that run have ended."""
    try:
        yield
    except BaseException:
        for child in multiprocessing.active_children():
            child.kill()
        raise


def _work(step: Step, space: Space) -> None:
    step.ensure(space)


def _start_worker(threads: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends the pool
    set_quiet(True)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # waiting threads would use up budgets of CPU time
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import torch

    torch.set_num_threads(threads)


def _end_with_parent() -> None:
    """A parent that was killed leaves nobody who could tell its workers to stop."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _bar() -> Progress:
    return Progress(
        BarColumn(),
        TextColumn("{task.percentage:.0f} %"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[remaining]}"),
        TextColumn("{task.fields[news]}", style="dim"),
        console=console,
        transient=True,
        disable=console.quiet or not console.is_terminal,
    )
