"""The service under load and under abuse, over loopback.

    python benchmarks/serve.py                       128 clients for 60 s against a model of no weights
    python benchmarks/serve.py --model questions     the same with a real one, and the share of the bulk command's speed

Every answer is compared with the one that the model gives offline for that text: with a real model, the one that
`parasketch paraphrase FILE` wrote. The speed of both is given by the clock and by the CPU time of the process, which
says more on a busy machine, and where the clients take a part of the cores; what the command needs to start is not
counted. Memory is the server's own, at the start of the load and at its end. Then come clients that misbehave (a body
of 10 MB, n = 1e9, a text of 1 MB, headers that trickle, sockets that are half closed, 10,000 texts at once), while one
that behaves goes on asking.
"""

import argparse
import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parasketch.generate.engine import Ability
from parasketch.generate.paraphrases import Paraphrase, Sketch
from parasketch.serve.app import ServiceOptions, create_app
from parasketch.serve.limits import Limits
from parasketch.serve.models import Models, load
from parasketch.serve.server import serve

TEXTS = [f"How {what} is a {animal} of {age} years?" for what in ("heavy", "tall", "old", "fast")
         for animal in ("moose", "whale", "camel", "horse", "parrot") for age in range(1, 21)]  # fmt: skip


class NoWeights:
    """Says each text backwards, and takes as long as a fast model might: 4 ms a batch and 1 ms a text."""

    depth = 3
    abilities: frozenset[Ability] = frozenset()

    def sketch(self, text: list[str]) -> list[Sketch]:
        return [Sketch(1, 2, 3) for _ in text]

    def __call__(
        self,
        text: list[str],
        /,
        *,
        n: int,
        like: Any,
        sketch: Any,
        depth: Any,
        rerank: bool,
        temperature: Any,
        seed: int,
        effort: int | None,
    ) -> list[list[Paraphrase]]:
        del like, sketch, depth, rerank, temperature, seed, effort
        time.sleep(0.004 + 0.001 * len(text))
        return [
            [Paraphrase(text=f"{each[::-1]} {k}", sketch=Sketch(k), score=0.0, difference=1.0) for k in range(n)]
            for each in text
        ]


def models(name: str | None) -> Models:
    return Models({"model": NoWeights if name is None else load(name, None)})


def run_server(name: str | None) -> None:
    limits = Limits(rate=0)
    app = create_app(models(name), ServiceOptions(limits=limits))
    serve(app, host="127.0.0.1", port=0, limits=limits, ready=lambda port: print(port, flush=True))


@dataclass
class Bulk:
    """What the bulk command says to each text, and the seconds, by the clock and of the CPU, that a text takes it."""

    answers: dict[str, str]
    seconds: float
    cpu: float

    @classmethod
    def of(cls, model: str) -> "Bulk":
        """All texts, less what it takes to start and to answer the first one."""
        _, start, start_cpu = cls._run(model, TEXTS[:1])
        answers, seconds, cpu = cls._run(model, TEXTS)
        return cls(answers, (seconds - start) / (len(TEXTS) - 1), (cpu - start_cpu) / (len(TEXTS) - 1))

    @staticmethod
    def _run(model: str, texts: list[str]) -> tuple[dict[str, str], float, float]:
        with tempfile.TemporaryDirectory() as place:
            source, target = Path(place, "texts.txt"), Path(place, "paraphrases.jsonl")
            source.write_text("\n".join(texts) + "\n", encoding="utf-8")
            program = "from parasketch.cli import main; main()"
            arguments = ["paraphrase", str(source), "--model", model, "--out", str(target)]
            begin, cpu = time.perf_counter(), _children()
            subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True)
            seconds, cpu = time.perf_counter() - begin, _children() - cpu
            rows = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
        return {row["text"]: row["paraphrases"][0]["text"] for row in rows}, seconds, cpu


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass
class Seen:
    """What the clients saw."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: int = 0

    def show(self, name: str, duration: float) -> None:
        times = sorted(self.seconds)
        p50, p95, p99 = (1000 * times[min(len(times) - 1, int(q * len(times)))] for q in (0.5, 0.95, 0.99))
        print(
            f"{name}: {len(times):,} answers in {duration:.0f} s ({len(times) / duration:.0f}/s), statuses "
            f"{dict(self.statuses)}, wrong {self.wrong}; p50 {p50:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms",
            flush=True,
        )


class Client:
    """One connection that is kept."""

    def __init__(self, port: int, address: str = "127.0.0.1") -> None:
        self._port, self._address = port, address
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, body: bytes, path: str = "/v1/paraphrase") -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, local_addr=(self._address, 0))
        reader, writer = self._streams
        head = (
            f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(answer.split("content-length: ")[1].split("\r\n")[0])
        return int(answer.split()[1]), await reader.readexactly(length)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()


async def load_test(port: int, clients: int, seconds: float, expected: dict[str, str], seen: Seen) -> None:
    end = time.perf_counter() + seconds

    async def one(number: int) -> None:
        client, place = Client(port), number
        while time.perf_counter() < end:
            text = TEXTS[place % len(TEXTS)]
            place += 37
            begin = time.perf_counter()
            status, body = await client.post(json.dumps({"text": text}).encode())
            seen.seconds.append(time.perf_counter() - begin)
            seen.statuses[status] += 1
            if status == 200:
                [result] = json.loads(body)["results"]
                seen.wrong += result["text"] != text or result["paraphrases"][0]["text"] != expected[text]
        client.close()

    await asyncio.gather(*(one(number) for number in range(clients)))


async def abuse(port: int, expected: dict[str, str]) -> None:
    async def status(body: Any) -> int:
        client = Client(port, "127.0.0.2")  # loopback has many addresses
        try:
            return (await client.post(body if isinstance(body, bytes) else json.dumps(body).encode()))[0]
        except (OSError, asyncio.IncompleteReadError):
            return 0  # hung up on while still sending
        finally:
            client.close()

    polite = Seen()
    going = asyncio.create_task(load_test(port, 2, 8, expected, polite))
    slow = [await asyncio.open_connection("127.0.0.1", port) for _ in range(200)]
    for _, writer in slow:
        writer.write(b"POST /v1/para")
    for _ in range(50):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /v1/paraphrase HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
        writer.write_eof()
    print("10 MB body:", await status(b"x" * 10_000_000))
    print("n = 1e9:", await status({"text": "a", "n": 10**9}))
    print("1 MB text:", await status({"text": "a" * 999_900}))
    many = await asyncio.gather(*(status({"text": TEXTS[:64]}) for _ in range(157)))
    print("10,000 texts at once:", dict(Counter(many)))
    await going
    polite.show("two polite clients meanwhile", 8)
    for _, writer in slow:
        writer.close()


def memory(pid: int) -> float:
    """Resident, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def cpu_seconds(pid: int) -> float:
    """That a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model")
    parser.add_argument("--clients", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--texts", type=int, default=len(TEXTS), help="how many different ones")
    parser.add_argument("--serve", action="store_true", help="be the server (used by the benchmark itself)")
    options = parser.parse_args()
    if options.serve:
        run_server(options.model)
        return
    del TEXTS[options.texts :]
    bulk = None if options.model is None else Bulk.of(options.model)
    expected = {text: f"{text[::-1]} 0" for text in TEXTS} if bulk is None else bulk.answers
    command = [sys.executable, __file__, "--serve", *(["--model", options.model] if options.model else [])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    port = int(process.stdout.readline())
    asyncio.run(load_test(port, options.clients, 2, expected, Seen()))  # warms up
    before, cpu, seen = memory(process.pid), cpu_seconds(process.pid), Seen()
    asyncio.run(load_test(port, options.clients, options.seconds, expected, seen))
    seen.show(f"{options.clients} clients", options.seconds)
    print(f"memory {before:.0f} MB, then {memory(process.pid):.0f} MB", flush=True)
    if bulk is not None:
        cpu = (cpu_seconds(process.pid) - cpu) / len(seen.seconds)
        rate = len(seen.seconds) / options.seconds
        print(
            f"bulk command: {1 / bulk.seconds:.1f} texts/s, {1000 * bulk.cpu:.1f} ms of CPU a text; the service: "
            f"{rate:.1f}/s, {1000 * cpu:.1f} ms; its share: {rate * bulk.seconds:.0%} by the clock, "
            f"{bulk.cpu / cpu:.0%} by CPU time",
            flush=True,
        )
    asyncio.run(abuse(port, expected))
    begin = time.perf_counter()
    os.kill(process.pid, signal.SIGTERM)
    print(f"SIGTERM: exit {process.wait()} after {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()
