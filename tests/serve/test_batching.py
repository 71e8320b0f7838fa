"""How many texts are worked on together, and whose turn it is."""

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from parasketch.serve.batching import Batcher
from parasketch.serve.metrics import Metrics


@pytest.mark.parametrize(("seconds", "sizes"), [(0.15, {4}), (0.0, {4, 28})])
def test_slow_texts_come_in_small_batches_and_fast_ones_in_large(seconds: float, sizes: set[int]) -> None:
    batches: list[int] = []

    def work(items: Sequence[Any]) -> list[Any]:
        time.sleep(seconds * len(items))
        batches.append(len(items))
        return list(items)

    async def run() -> list[Any]:
        batcher = Batcher(window=0, largest=28, metrics=Metrics())
        found = await batcher.submit("key", work, range(12 if seconds else 60), client="a", seconds=60)
        await batcher.close()
        return found

    assert asyncio.run(run()) == list(range(12 if seconds else 60))
    assert set(batches) == sizes, "of the first batch nothing is known, the others are as large as it was fast"


@pytest.mark.parametrize("alike", [True, False])
def test_a_client_with_many_requests_holds_up_no_other(alike: bool) -> None:
    order: list[str] = []
    gate = threading.Event()

    def work(items: Sequence[str]) -> list[str]:
        gate.wait(20)
        order.extend(items)
        return list(items)

    async def run() -> None:
        batcher = Batcher(window=0, largest=4, metrics=Metrics())

        async def ask(client: str, number: int) -> None:
            await batcher.submit("key" if alike else number, work, [client] * 2, client=client, seconds=60)

        many = [asyncio.create_task(ask("many", number)) for number in range(30)]
        await asyncio.sleep(0)
        few = [asyncio.create_task(ask("few", 100 + number)) for number in range(2)]
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(*many, *few)
        await batcher.close()

    asyncio.run(run())
    assert [order.count(client) for client in ("many", "few")] == [60, 4]
    last = max(place for place, client in enumerate(order) if client == "few")
    assert last < 16, "after the first batch they take turns"
