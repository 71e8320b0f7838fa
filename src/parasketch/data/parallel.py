"""Work on chunks in several processes; the results come in order, and are the same however many processes there are."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from parasketch.errors import ParasketchError

T = TypeVar("T")
R = TypeVar("R")

_CHUNKS_IN_FLIGHT = 3  # for each worker: enough to keep it busy, too few to fill the memory


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def work_in_order(make: Callable[[], Callable[[T], R]], chunks: Iterable[T], workers: int) -> Iterator[R]:
    """What becomes of each chunk, in order; with more than one worker in that many processes.

    `make` is called once in every process and gives what works on the chunks; it has to be picklable.
    """
    if workers == 1:
        yield from map(make(), chunks)
        return
    context = multiprocessing.get_context("spawn")  # a fork would copy threads and locks in any state
    with ProcessPoolExecutor(workers, context, _start, (make,)) as pool:
        waiting: deque[Future[R]] = deque()
        try:
            for chunk in chunks:
                waiting.append(pool.submit(_work, chunk))
                if len(waiting) >= workers * _CHUNKS_IN_FLIGHT:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise ParasketchError("a worker process died, perhaps for want of memory; try --workers 1") from error
        finally:
            for future in waiting:
                future.cancel()


_worker: Callable[[Any], Any]  # one for each process


def _start(make: Callable[[], Callable[[Any], Any]]) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends the pool
    _worker = make()


def _work(chunk: Any) -> Any:
    return _worker(chunk)
