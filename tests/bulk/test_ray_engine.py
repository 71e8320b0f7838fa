"""Who gets which shard, and what happens to those of the dead: against a stand-in for Ray that dies as it is told."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from bulk.shouting import ShoutingJob

pytest.importorskip("ray", reason="Ray is not installed (parasketch[ray])")

from ray.exceptions import ActorDiedError

from parasketch.bulk import ray_engine
from parasketch.bulk.answers import Answer
from parasketch.bulk.ray_engine import RayEngine
from parasketch.bulk.shards import Task
from parasketch.errors import ParasketchError


@dataclass(eq=False)
class Call:
    """A call of a worker's method that has not been answered."""

    worker: "Actor"
    name: str
    arguments: tuple[Any, ...]


class Actor:
    def __init__(self, number: int, real: Any) -> None:
        self.number, self.real = number, real

    def __getattr__(self, name: str) -> Any:
        return type("Method", (), {"remote": lambda _, *arguments: Call(self, name, arguments)})()


@dataclass
class Ray:
    """Calls end in the order in which `first` puts them; `dies` says whether a worker dies of a call."""

    dies: Callable[[Call], bool] = lambda _: False
    first: Callable[[Call], Any] = lambda _: 0
    actors: list[Actor] = field(default_factory=list)
    worked: list[tuple[int, str]] = field(default_factory=list)
    """(worker, first text) of every piece of work that was done."""
    killed: list[int] = field(default_factory=list)

    def is_initialized(self) -> bool:
        return True

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def remote(self, **_: float) -> Any:
        def wrap(cls: Any) -> Any:
            def make(*arguments: Any) -> Actor:
                self.actors.append(Actor(len(self.actors), cls(*arguments)))
                return self.actors[-1]

            return type("Class", (), {"remote": staticmethod(make)})

        return wrap

    def wait(self, calls: list[Call], num_returns: int) -> tuple[list[Call], list[Call]]:
        ready = min(calls, key=self.first)
        return [ready][:num_returns], []

    def get(self, call: Call) -> Any:
        if self.dies(call):
            raise ActorDiedError
        if call.name == "work":
            self.worked.append((call.worker.number, call.arguments[0][0]))
        return getattr(call.worker.real, call.name)(*call.arguments)

    def kill(self, actor: Actor) -> None:
        self.killed.append(actor.number)


def tasks(count: int) -> Iterator[Task]:
    return (Task(number, [f"{number}", f"{number} again"]) for number in range(count))


def run(monkeypatch: pytest.MonkeyPatch, fake: Ray, count: int = 6) -> dict[int, list[Answer]]:
    monkeypatch.setattr(ray_engine, "ray", fake)
    found = list(RayEngine(ShoutingJob(n=2), batch_size=1)(tasks(count)))
    answers = dict(found)
    assert len(answers) == len(found), "no shard is answered twice"
    return answers


def check(answers: dict[int, list[Answer]], count: int = 6) -> None:
    assert sorted(answers) == list(range(count))
    for number, each in answers.items():
        assert [answer.paraphrases[0].text for answer in each] == [f"{number} 1", f"{number} AGAIN 1"]


def test_a_worker_for_each_core_and_every_shard_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Ray()
    check(run(monkeypatch, fake))
    assert len(fake.actors) == 2
    assert sorted(fake.killed) == [0, 1], "none is left behind"


def test_the_shard_of_a_dead_worker_goes_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Ray(dies=lambda call: call.worker.number == 0 and call.name == "work")
    check(run(monkeypatch, fake))
    assert all(worker != 0 for worker, _ in fake.worked)
    assert len(fake.actors) == 3, "it has a successor"


def test_a_silent_worker_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Ray(first=lambda call: call.worker.number == 0 and call.name == "work")
    check(run(monkeypatch, fake))
    assert all(worker == 1 for worker, _ in fake.worked), "the other one did its shard as well"
    assert 0 in fake.killed


def test_a_successor_that_never_starts_does_not_either(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Ray(
        dies=lambda call: call.worker.number == 0 and call.name == "work",
        first=lambda call: call.worker.number > 1,  # for the third worker there is no room
    )
    check(run(monkeypatch, fake))
    assert {worker for worker, _ in fake.worked} == {1}


def test_a_shard_that_ends_every_worker_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Ray(dies=lambda call: call.name == "work" and call.arguments[0][0] == "3")
    with pytest.raises(ParasketchError, match="shard 3 has ended 4 workers"):
        run(monkeypatch, fake)


def test_workers_that_cannot_start_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParasketchError, match="die while they load the model"):
        run(monkeypatch, Ray(dies=lambda call: call.name == "start"))


def test_where_nothing_is_left_to_do_no_cluster_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_engine, "ray", None)
    assert list(RayEngine(ShoutingJob(), batch_size=1)(iter(()))) == []
