"""Dynamic batching: texts of different clients that ask for the same are worked on together.

A request is a ticket with one or more texts. The oldest ticket of a client that had the fewest turns decides what the
next batch is about; every ticket that asks for the same (model, n, depth, ...) gives its texts in turns, one client and
one text at a time, so that long lists and many requests hold up nobody else.
A batch has as many texts as take about half a second, by what the last one of its kind took: who comes meanwhile waits
no longer than that for their turn.
The work itself happens in one thread, because a model uses all cores it is given. Results of the package do not
depend on what else is in a batch, so batching changes nothing but the speed.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from parasketch.errors import ParasketchError
from parasketch.generate.stopping import Stopped, while_wanted
from parasketch.serve.limits import ServiceError
from parasketch.serve.metrics import Metrics

_BATCH_SECONDS = 0.5
_FEW = 4
"""Texts of a batch of which nothing is known yet, or which takes long whatever its size."""
_MOST_PACES = 1_000

Work = Callable[[Sequence[Any]], list[Any]]
"""Items in, as many results out."""


@dataclass(eq=False)
class _Ticket:
    key: Hashable
    work: Work
    items: Sequence[Any]
    client: str
    future: asyncio.Future[list[Any]]
    results: list[Any] = field(init=False)
    started: int = 0
    missing: int = field(init=False)

    def __post_init__(self) -> None:
        self.results, self.missing = [None] * len(self.items), len(self.items)

    @property
    def waiting(self) -> int:
        """Items that no batch has taken; none where nobody waits for the results any more."""
        return 0 if self.future.done() else len(self.items) - self.started

    def put(self, place: int, result: Any) -> None:
        if self.future.done():
            return
        if isinstance(result, Exception):
            self.future.set_exception(result)
            return
        self.results[place] = result
        self.missing -= 1
        if not self.missing:
            self.future.set_result(self.results)


class Batcher:
    """The queue and the thread that works it off."""

    def __init__(self, *, window: float = 0.004, largest: int = 32, queue: int = 2_048, metrics: Metrics) -> None:
        """`window`: seconds that a first text waits for company; `largest`: texts of a batch; `queue`: that wait."""
        self._window, self._largest, self._queue, self._metrics = window, largest, queue, metrics
        self._tickets: deque[_Ticket] = deque()
        self._turns: Counter[str] = Counter()  # how often each client had one, since the queue was last empty
        self._paces: dict[Hashable, float] = {}  # seconds a text, by key
        self._wake = asyncio.Event()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="paraphrase")
        self._loop: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """Texts in the queue."""
        return sum(ticket.waiting for ticket in self._tickets)

    async def submit(
        self, key: Hashable, work: Work, items: Sequence[Any], *, client: str, seconds: float
    ) -> list[Any]:
        """The results of `work` for `items`, made together with those of other calls with an equal key.

        A call that is cancelled, or not done in time, gives its place back. One client fills half of the queue at most.
        """
        own = sum(ticket.waiting for ticket in self._tickets if ticket.client == client)
        if own + len(items) > max(1, self._queue // 2):
            raise ServiceError(503, "too many of your texts are waiting: try again in a moment", retry_after=1)
        if self.waiting + len(items) > self._queue:
            raise ServiceError(503, "too many texts are waiting: try again in a moment", retry_after=1)
        if not items:
            return []
        if self._loop is None:
            self._loop = asyncio.create_task(self._run())
        ticket = _Ticket(key, work, items, client, asyncio.get_running_loop().create_future())
        self._tickets.append(ticket)
        self._wake.set()
        try:
            return await asyncio.wait_for(ticket.future, seconds)
        except TimeoutError:
            raise ServiceError(504, f"no answer within {seconds:g} seconds: ask for less, or later") from None
        finally:
            self._show_queue()

    async def close(self) -> None:
        """End the thread; what is under way is finished by then, because its requests were answered first."""
        if self._loop is not None:
            self._loop.cancel()
        await asyncio.to_thread(self._thread.shutdown)

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            if self._window and self.waiting < self._largest:
                await asyncio.sleep(self._window)
            batch = self._take()
            if not batch:
                self._wake.clear()
                continue
            self._show_queue()
            self._metrics.observe("batch_size", len(batch))
            work = partial(_work, batch[0][0].work, still_wanted=partial(_anybody_waits, batch))
            items = [ticket.items[place] for ticket, place in batch]
            begin = time.monotonic()
            results = await asyncio.get_running_loop().run_in_executor(self._thread, work, items)
            self._remember(batch[0][0].key, (time.monotonic() - begin) / len(batch))
            for (ticket, place), result in zip(batch, results, strict=True):
                ticket.put(place, result)

    def _remember(self, key: Hashable, pace: float) -> None:
        if len(self._paces) >= _MOST_PACES:
            self._paces.clear()
        self._paces[key] = pace

    def _size(self, key: Hashable) -> int:
        """Texts of a batch."""
        pace = self._paces.get(key, _BATCH_SECONDS)
        return min(self._largest, max(_FEW, int(_BATCH_SECONDS / max(pace, 1e-6))))

    def _take(self) -> list[tuple[_Ticket, int]]:
        """The next batch: (ticket, place of the item) of tickets with one key, an item of each in turn."""
        self._tickets = deque(ticket for ticket in self._tickets if ticket.waiting)
        if not self._tickets:
            self._turns.clear()
            return []
        key = min(self._tickets, key=lambda ticket: self._turns[ticket.client]).key
        alike = [ticket for ticket in self._tickets if ticket.key == key]
        batch: list[tuple[_Ticket, int]] = []
        turns = deque(_one_of_each_client_first(alike))
        while turns and len(batch) < self._size(key):
            ticket = turns.popleft()
            batch.append((ticket, ticket.started))
            ticket.started += 1
            if ticket.waiting:
                turns.append(ticket)
        taken = {ticket for ticket, _ in batch}
        self._turns.update({ticket.client for ticket in taken})
        self._tickets = deque(
            [ticket for ticket in self._tickets if ticket not in taken] + [t for t in alike if t in taken and t.waiting]
        )
        return batch

    def _show_queue(self) -> None:
        self._metrics.set("queue", self.waiting)


def _one_of_each_client_first(tickets: Sequence[_Ticket]) -> list[_Ticket]:
    before: Counter[str] = Counter()
    ranked = []
    for ticket in tickets:
        ranked.append((before[ticket.client], ticket))
        before[ticket.client] += 1
    return [ticket for _, ticket in sorted(ranked, key=lambda pair: pair[0])]


def _anybody_waits(batch: Sequence[tuple[_Ticket, int]]) -> bool:
    return any(not ticket.future.done() for ticket, _ in batch)


def _work(work: Work, items: Sequence[Any], still_wanted: Callable[[], bool]) -> list[Any]:
    """A result or an error for each item: where a batch fails, its items are tried alone, so that one spoils no other.

    What the model raises for an item on its own goes to that item's request only. When all who asked have left, the
    search ends where it is.
    """
    try:
        with while_wanted(still_wanted):
            return work(items)
    except Stopped:
        return [None] * len(items)
    except Exception as error:
        if len(items) == 1:
            return [error if isinstance(error, ParasketchError) else _unexpected(error)]
        return [_work(work, [item], still_wanted)[0] for item in items]


def _unexpected(error: Exception) -> Exception:
    return ServiceError(500, f"the model failed: {type(error).__name__}")
