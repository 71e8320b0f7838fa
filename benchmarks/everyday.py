"""Start, speed and memory of the model for everyday English, now and before it ran on onnxruntime, in one run.

    python benchmarks/everyday.py                     both sides, and the ratios of the former to the present one
    python benchmarks/everyday.py --sides now         this checkout alone
    OMP_NUM_THREADS=1 python benchmarks/everyday.py   with one thread

`command` is `parasketch paraphrase TEXT -n 3`, the median of some runs; `sentence` is one text after the other in a
running process, `file` all of them in one call, as a file is worked on. Each is told in seconds of the clock and of
CPU time (of all threads), which other work on the machine changes less, with the peak of memory. The base has to be
there (`parasketch get everyday`). The texts are the inputs of docs/grades/everyday-second.tsv. The former sources come
out of the repository's own history; they need torch.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from former import unpack_former

BEFORE = "ce1bc3ce783c4becbdd3592f43914d8351f12f16"
"""The last commit whose `everyday` generates with torch."""
HERE = Path(__file__).resolve().parents[1]
TEXTS = HERE / "docs" / "grades" / "everyday-second.tsv"
COMMAND = "from parasketch.cli import main; main()"
OUTPUTS = 3
WALL, CPU, MEMORY = "wall", "cpu", "MB"

Figures = dict[str, float]


def texts(count: int) -> list[str]:
    """Inputs of all kinds."""
    found = list(dict.fromkeys(line.split("\t")[3] for line in TEXTS.read_text("utf-8").splitlines()))
    return found[:: max(1, len(found) // count)][:count]


def running_process(count: int, result: Path) -> None:
    """One side: figures of a process that has a model, with whatever version of the package is on the path."""
    from parasketch import Paraphraser

    given = texts(count)
    paraphraser = Paraphraser.from_pretrained("everyday")
    paraphraser(given[0], n=OUTPUTS)  # warms up
    one_by_one = timed(lambda: [paraphraser(text, n=OUTPUTS) for text in given], count)
    together = timed(lambda: paraphraser(given, n=OUTPUTS), count)
    result.write_text(json.dumps({"sentence": one_by_one, "file": together}))


def timed(work: Callable[[], object], count: int) -> Figures:
    """Seconds for each of so many."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    seconds = {WALL: (time.perf_counter() - wall) / count, CPU: (time.process_time() - cpu) / count}
    return {**seconds, MEMORY: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def command(environment: dict[str, str], repeats: int) -> Figures:
    """A whole command, from the shell to its output; the first one makes the model ready and fills caches."""
    arguments = ["paraphrase", texts(1)[0], "-n", str(OUTPUTS), "--model", "everyday"]
    runs = []
    for _ in range(repeats + 1):
        begin = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *arguments], env=environment, stdout=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"parasketch {' '.join(arguments)} failed")
        wall = time.perf_counter() - begin
        runs.append({WALL: wall, CPU: usage.ru_utime + usage.ru_stime, MEMORY: usage.ru_maxrss / 1024})
    return {name: statistics.median(run[name] for run in runs[1:]) for name in runs[0]}


def one_side(checkout: Path, count: int, repeats: int, folder: Path) -> dict[str, Figures]:
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    found = {"command": command(environment, repeats)}
    result = folder / "result.json"
    inner = [sys.executable, __file__, "--inner", str(result), "--items", str(count)]
    subprocess.run(inner, check=True, env=environment)
    return found | json.loads(result.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sides", nargs="+", choices=["before", "now"], default=["before", "now"])
    parser.add_argument("--items", type=int, default=24, help="how many texts")
    parser.add_argument("--repeats", type=int, default=3, help="of the command")
    parser.add_argument("--inner", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inner is not None:
        running_process(options.items, options.inner)
        return
    found = {}
    print(f"everyday, n = {OUTPUTS}, {options.items} texts; the median of {options.repeats} commands")
    print("side    what       seconds  CPU seconds  a second      MB")
    with tempfile.TemporaryDirectory() as name:
        for side in options.sides:
            checkout = HERE
            if side == "before":
                checkout = Path(name) / "before"
                unpack_former(BEFORE, checkout)
            found[side] = one_side(checkout, options.items, options.repeats, Path(name))
            for what, each in found[side].items():
                numbers = f"{each[WALL]:8.2f} {each[CPU]:12.2f} {1 / each[WALL]:9.2f} {each[MEMORY]:7.0f}"
                print(f"{side:7} {what:9}{numbers}", flush=True)
    if len(found) == 2:
        for what, each in found["now"].items():
            ratios = [found["before"][what][name] / each[name] for name in (WALL, CPU, MEMORY)]
            print(f"ratio   {what:9}{ratios[0]:7.2f}x {ratios[1]:11.2f}x {'':9} {ratios[2]:6.2f}x", flush=True)


if __name__ == "__main__":
    main()
