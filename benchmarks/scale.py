"""A billion sentences on a hundred workers, simulated; and how many rows the one process in the middle can pass on.

    python benchmarks/scale.py simulate                # seconds; the tables of docs/scale.md
    python benchmarks/scale.py driver --rows 20000     # reading, cutting, hashing and writing, without any model
    python benchmarks/scale.py workers --rows 512      # one and two workers on Ray here, with the model `questions`

The simulation follows `parasketch/bulk`: a driver gives each worker one shard at a time and writes what comes back, one
shard after the other; workers differ in speed, die at random and lose the shard in hand, and come back after a while
with a model to load; at the end idle workers repeat the last shards, and the first answer counts.
"""

import argparse
import heapq
import itertools
import random
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from parasketch.bulk.answers import Answer, BulkReport
from parasketch.bulk.shards import Task, paraphrase_shards
from parasketch.files import raise_error
from parasketch.generate.paraphrases import Paraphrase, Sketch

HOUR = 3600.0


@dataclass(frozen=True)
class Plan:
    rows: int = 1_000_000_000
    workers: int = 100
    shard_rows: int = 16_384
    rate: float = 8.0
    """sentences a second of a usual worker (one core)"""
    spread: float = 0.15
    """standard deviation of the logarithm of a worker's speed"""
    slow_workers: float = 0.03
    """so many have a third of the usual speed"""
    hours_between_failures: float = 200.0
    """of one worker, in the mean"""
    minutes_to_return: float = 5.0
    """until a dead worker has a successor with its model loaded"""
    driver_rate: float = 10_000.0
    """rows a second that the driver reads, sends and writes"""
    repeat_last: bool = True
    """idle workers repeat the last shards"""


@dataclass
class Outcome:
    hours: float = 0.0
    core_hours: float = 0.0
    """that workers were kept for, idle or not"""
    lost_hours: float = 0.0
    """of work on shards that had to be done again, or were done twice"""
    failures: int = 0
    idle_hours: float = 0.0
    """between the last shard given out and the end, over all workers"""
    driver_share: float = 0.0
    """of the time that the driver was busy"""


def simulate(plan: Plan, seed: int = 0) -> Outcome:
    """One run, event by event: a worker ends its shard, or dies, or returns."""
    draw = random.Random(seed)
    speeds = [plan.rate * draw.lognormvariate(0, plan.spread) for _ in range(plan.workers)]
    for worker in draw.sample(range(plan.workers), round(plan.slow_workers * plan.workers)):
        speeds[worker] = plan.rate / 3
    shards = -(-plan.rows // plan.shard_rows)
    fresh, again = 0, deque[int]()
    open_shards: dict[int, int] = {}  # shard -> how many workers have it
    outcome, events, driver_free, busy = (
        Outcome(),
        [(0.0, worker, -1, "ready", 0.0) for worker in range(plan.workers)],
        0.0,
        0.0,
    )
    heapq.heapify(events)
    idle: list[int] = []
    idle_since: dict[int, float] = {}
    done, now = 0, 0.0
    service = plan.shard_rows / plan.driver_rate

    def give(worker: int, start: float) -> bool:
        nonlocal fresh
        while again and again[0] not in open_shards:
            again.popleft()
        if again:
            shard = again.popleft()
        elif fresh < shards:
            shard, fresh = fresh, fresh + 1
        elif plan.repeat_last and (single := next((s for s, n in open_shards.items() if n == 1), None)) is not None:
            shard = single
        else:
            return False
        open_shards[shard] = open_shards.get(shard, 0) + 1
        took = plan.shard_rows / speeds[worker]
        dies = draw.expovariate(1 / (plan.hours_between_failures * HOUR))
        event = ("died", start + dies) if dies < took else ("done", start + took)
        heapq.heappush(events, (event[1], worker, shard, event[0], start))
        return True

    while done < shards:
        now, worker, shard, what, start = heapq.heappop(events)
        if what == "died":
            outcome.failures += 1
            outcome.lost_hours += (now - start) / HOUR
            if shard in open_shards:
                open_shards[shard] -= 1
                if open_shards[shard] == 0:
                    again.append(shard)
            heapq.heappush(events, (now + plan.minutes_to_return * 60, worker, -1, "ready", now))
        elif what == "done":
            if open_shards.pop(shard, None) is None:
                outcome.lost_hours += (now - start) / HOUR  # somebody was faster
            else:
                driver_free = max(driver_free, now) + service
                busy += service
                done += 1
                now = driver_free  # the worker gets its next shard when the driver has written this one
            if not give(worker, now):
                idle.append(worker)
                idle_since[worker] = now
        elif not give(worker, now):
            idle.append(worker)
            idle_since[worker] = now
        while idle and again and give(idle[-1], now):
            worker = idle.pop()
            outcome.idle_hours += (now - idle_since.pop(worker)) / HOUR
    outcome.idle_hours += sum(now - since for since in idle_since.values()) / HOUR
    outcome.hours, outcome.driver_share = now / HOUR, busy / now
    outcome.core_hours = outcome.hours * plan.workers
    return outcome


def show(label: str, plan: Plan) -> None:
    found = simulate(plan)
    ideal = plan.rows / plan.rate / HOUR
    print(
        f"| {label} | {found.hours / 24:,.1f} | {found.core_hours / plan.rows * 1e6:,.1f} | "
        f"{ideal / found.core_hours:.1%} | {found.failures:,} | {found.lost_hours / found.core_hours:.2%} | "
        f"{found.idle_hours:,.1f} | {found.driver_share:.1%} |"
    )


def tables(rates: list[float]) -> None:
    head = (
        "| days | core-hours per million | of ideal | failures | work lost | idle core-hours at the end | driver busy |"
    )
    rule = "|---|---:|---:|---:|---:|---:|---:|---:|"
    base = Plan()
    print(f"A billion sentences, {base.workers} workers; sentences a second of one core:\n\n| rate {head}\n{rule}")
    for rate in rates:
        show(f"{rate:g}", replace(base, rate=rate))
    print(
        f"\nAt {base.rate:g} sentences a second, one thing changed at a time:\n\n| {head[1:]}\n{rule}".replace(
            "| |", "| |"
        )
    )
    changes: list[tuple[str, dict[str, object]]] = [
        ("as above", {}),
        ("shards of 4,096 rows", {"shard_rows": 4096}),
        ("shards of 131,072 rows", {"shard_rows": 131_072}),
        ("the same, last shards not repeated", {"shard_rows": 131_072, "repeat_last": False}),
        ("last shards not repeated", {"repeat_last": False}),
        ("a fifth of the workers slow", {"slow_workers": 0.2}),
        ("a failure every 20 hours", {"hours_between_failures": 20.0}),
        ("a failure every 2 hours", {"hours_between_failures": 2.0}),
        ("the driver passes on 1,000 rows a second", {"driver_rate": 1000.0}),
        ("1,000 workers", {"workers": 1000}),
        ("2,000 workers", {"workers": 2000}),
    ]
    for label, change in changes:
        show(label, replace(base, **change))  # type: ignore[arg-type]


def driver(rows: int, shard_rows: int) -> None:
    """Rows a second through the driver, with answers that cost nothing."""
    found = Paraphrase(text="what does a moose weigh?", sketch=Sketch(1, 2, 3), score=0.5, difference=0.7)

    def engine(tasks: Iterator[Task], /) -> Iterator[tuple[int, list[Answer]]]:
        for task in tasks:
            yield task.number, [Answer((found,) * 3)] * len(task.texts)

    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "rows.jsonl"
        lines = (f'{{"id": {i}, "text": "How heavy is moose number {i} in kilograms?"}}\n' for i in itertools.count())
        source.write_text("".join(itertools.islice(lines, rows)))
        clock, cpu = time.perf_counter(), time.process_time()
        paraphrase_shards(
            engine, [str(source)], Path(name) / "out", format="jsonl", column=None, n=3, settings={}, resume=False,
            on_bad=raise_error, report=BulkReport(), shard_rows=shard_rows,
        )  # fmt: skip
        seconds, cpu_seconds = time.perf_counter() - clock, time.process_time() - cpu
        size = sum(path.stat().st_size for path in (Path(name) / "out").glob("part-*"))
    print(
        f"driver: {rows:,} rows in shards of {shard_rows:,}: {rows / cpu_seconds:,.0f} rows per CPU second "
        f"({rows / seconds:,.0f} a second on the clock); {size / rows:,.0f} bytes a row with 3 paraphrases"
    )


def workers(rows: int) -> None:
    """Rows a second of one and of two workers on this machine, from the first shard that is done."""
    from parasketch.bulk.job import Job
    from parasketch.bulk.ray_engine import RayEngine

    rates = []
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "rows.txt"
        source.write_text("".join(f"How can I learn to swim in {i} days?\n" for i in range(2, rows + 2)))
        for count in (1, 2):
            engine = RayEngine(Job(model="questions", n=3), batch_size=32, workers=count)
            moments: list[float] = []

            def timed(tasks: Iterator[Task], /) -> Iterator[tuple[int, list[Answer]]]:
                for found in engine(tasks):  # noqa: B023  # used up within the turn
                    moments.append(time.perf_counter())  # noqa: B023
                    yield found

            paraphrase_shards(
                timed, [str(source)], Path(name) / str(count), format="jsonl", column=None, n=3, settings={},
                resume=False, on_bad=raise_error, report=BulkReport(), shard_rows=32,
            )  # fmt: skip
            # From the first shard on: how long Ray takes to start says nothing about workers.
            rates.append((rows - 32) / (moments[-1] - moments[0]))
    one, two = rates
    print(f"one worker: {one:,.1f} rows/s; two: {two:,.1f} rows/s, {two / one:.2f} times as many")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["simulate", "driver", "workers"])
    parser.add_argument("--rates", type=float, nargs="+", default=[2, 8, 32, 128], help="sentences/s of one core")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--shard-rows", type=int, default=1024)
    arguments = parser.parse_args()
    if arguments.what == "simulate":
        tables(arguments.rates)
    elif arguments.what == "workers":
        workers(arguments.rows)
    else:
        driver(arguments.rows, arguments.shard_rows)


if __name__ == "__main__":
    main()
