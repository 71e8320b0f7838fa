"""Shards answered by workers on a Ray cluster: one model in each, and whoever dies is replaced.

Ray starts the workers wherever there is room, carries texts there and answers back, and says who died. What to do then
is decided here: the shard of a dead worker goes back to the queue, for whoever is free, and a new worker is asked for,
which gets work once it has loaded its model. Ray's own restarts would keep the shard waiting for that one worker; on a
cluster that has become smaller, for ever. When nothing is left to begin, idle workers answer the last shards as well,
and the first answer counts: a slow or silent machine does not hold up the end.
"""

import itertools
import os
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from parasketch.bulk.answers import Answer, answer
from parasketch.bulk.job import Job
from parasketch.bulk.shards import Task
from parasketch.errors import ParasketchError
from parasketch.extras import needs

with needs("ray", "--engine ray"):
    import ray
    from ray.exceptions import ObjectLostError, RayActorError, RaySystemError, RayTaskError

_MOST_ATTEMPTS = 4
_DIED = (RayActorError, ObjectLostError, RaySystemError)


class Worker:
    """Lives in a process of its own, on any machine of the cluster."""

    def __init__(self, job: Job, weights: str, device: str | None, batch_size: int, strict: bool) -> None:
        self._job, self._weights, self._device = job, weights, device
        self._batch_size, self._strict = batch_size, strict

    def start(self) -> int:
        """Load the model; the number of this process."""
        self._job.check(self._weights)
        self._paraphrase = self._job.load(device=self._device, batch_size=self._batch_size)
        return os.getpid()

    def work(self, texts: Sequence[object]) -> list[Answer]:
        """Answers in batches of the same rows as on one machine."""
        starts = range(0, len(texts), self._batch_size)
        batches = [texts[start : start + self._batch_size] for start in starts]
        return [each for batch in batches for each in answer(self._paraphrase, batch, strict=self._strict)]


@dataclass
class RayEngine:
    """Workers on a cluster (`address`), or on this machine alone; as many as there are cores, or GPUs with `device`."""

    job: Job
    batch_size: int
    strict: bool = False
    address: str | None = None
    workers: int | None = None
    device: str | None = None
    pids: list[int] = field(default_factory=list)
    """The processes of the workers that have loaded their model."""

    def __call__(self, tasks: Iterator[Task], /) -> Iterator[tuple[int, list[Answer]]]:
        first = next(tasks, None)
        if first is None:  # all is done: no cluster is needed, and no model
            return
        connected = ray.is_initialized()
        if not connected:
            # Nothing is sent anywhere unless the user has asked for it.
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            try:
                ray.init(self.address, include_dashboard=None if self.address else False, log_to_driver=False,
                         logging_level="ERROR")  # fmt: skip
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise ParasketchError(f"no Ray cluster answers at {self.address or 'this machine'}: {error}") from error
        pool = _Pool(self)
        try:
            yield from pool.run(itertools.chain([first], tasks))
        finally:
            pool.stop()
            if not connected:
                ray.shutdown()


class _Pool:
    """The workers of one run and what each of them does."""

    def __init__(self, engine: RayEngine) -> None:
        on_gpu = engine.device is not None and engine.device.startswith("cuda")
        resources = ray.cluster_resources()
        self._count = engine.workers or max(1, int(resources.get("GPU" if on_gpu else "CPU", 1)))
        self._engine = engine
        self._class: Any = ray.remote(num_cpus=1, num_gpus=1 if on_gpu else 0)(Worker)
        job = engine.job.elsewhere()
        self._arguments = (job, job.weights, engine.device, engine.batch_size, engine.strict)
        self._busy: dict[Any, tuple[Any, Task | None]] = {}  # what is awaited -> worker, its task (None: it starts)
        self._idle: list[Any] = []
        self._again: deque[Task] = deque()
        self._attempts: Counter[int] = Counter()
        self._failed_starts = 0

    def run(self, tasks: Iterator[Task]) -> Iterator[tuple[int, list[Answer]]]:
        for _ in range(self._count):
            self._start_worker()
        open_tasks: dict[int, Task] = {}
        while True:
            while self._idle and (task := self._next_task(tasks, open_tasks)) is not None:
                open_tasks[task.number] = task
                worker = self._idle.pop()
                self._busy[worker.work.remote(task.texts)] = (worker, task)
            if not open_tasks and self._idle:
                return
            [ready], _ = ray.wait(list(self._busy), num_returns=1)
            worker, task = self._busy.pop(ready)
            result = self._result(ready, worker, task)
            if result is None:
                if task is not None and task.number in open_tasks:
                    self._again.append(task)
                continue
            self._idle.append(worker)
            if task is not None and open_tasks.pop(task.number, None) is not None:  # else somebody was faster
                yield task.number, result

    def _next_task(self, tasks: Iterator[Task], open_tasks: dict[int, Task]) -> Task | None:
        """A shard that a worker dropped, a new one, or at the end one that only one worker has."""
        while self._again:
            task = self._again.popleft()
            if task.number in open_tasks:
                return task
        if (fresh := next(tasks, None)) is not None:
            return fresh
        copies = Counter(task.number for _, task in self._busy.values() if task is not None)
        return next((task for number, task in open_tasks.items() if copies[number] == 1), None)

    def _result(self, ready: Any, worker: Any, task: Task | None) -> list[Answer] | None:
        """What a worker answered (nothing, if it has just started); None if it died, and then there is a new one."""
        try:
            result = ray.get(ready)
        except RayTaskError as error:
            cause = getattr(error, "cause", None)
            if isinstance(cause, ParasketchError):
                raise cause from error
            raise ParasketchError(f"a worker failed: {error}") from error
        except _DIED as error:
            self._note_death(task, error)
            ray.kill(worker)
            self._start_worker()
            return None
        if task is None:
            self._engine.pids.append(result)
            self._failed_starts = 0
            return []
        answers: list[Answer] = result
        return answers

    def _note_death(self, task: Task | None, error: Exception) -> None:
        """Give up where dying is the rule."""
        if task is None:
            self._failed_starts += 1
            if self._failed_starts >= _MOST_ATTEMPTS * self._count:
                raise ParasketchError(
                    f"workers die while they load the model, perhaps for want of memory: {error}"
                ) from error
            return
        self._attempts[task.number] += 1
        if self._attempts[task.number] >= _MOST_ATTEMPTS:
            raise ParasketchError(
                f"shard {task.number} has ended {_MOST_ATTEMPTS} workers, perhaps for want of memory: {error}"
            ) from error

    def _start_worker(self) -> None:
        worker = self._class.remote(*self._arguments)
        self._busy[worker.start.remote()] = (worker, None)

    def stop(self) -> None:
        for worker in [*self._idle, *(worker for worker, _ in self._busy.values())]:
            ray.kill(worker)
