"""Reproductions as programs of their own, for tests that kill them."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from parasketch.reproduce.report import Found

PLAN = Path(__file__).parent / "reproduce" / "plan.yaml"
JOBS = 2
_PROGRAM = "from parasketch.cli import main; main()"


def start_reproduction(out: Path, only: str | None) -> subprocess.Popen[bytes]:
    chosen = [] if only is None else ["--only", only]
    # As many jobs as the run it is compared with: how many threads a step has shows in the last bits.
    words = ["--quiet", "reproduce", "--quick", "--plan", str(PLAN), "--out", str(out), "--jobs", str(JOBS), *chosen]
    return subprocess.Popen([sys.executable, "-c", _PROGRAM, *words], start_new_session=True)


def kill_reproduction(times: int, out: Path, *, only: str | None = None, seed: int = 0) -> Counter[str]:
    """Kill it so many times, each a random while after it has begun a step that was not begun; then let it end."""
    rng, counts = random.Random(seed), Counter[str]()
    for _ in range(times):
        process = start_reproduction(out, only)
        begun = len(_begun(out))
        while process.poll() is None and len(_begun(out)) <= begun:
            time.sleep(0.01)
        time.sleep(rng.random() * 2)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            counts["killed"] += 1
        process.wait()
    assert start_reproduction(out, only).wait() == 0
    counts["ended"] += 1
    return counts


def numbers(out: Path) -> dict[str, list[dict[str, Any]]]:
    """What a reproduction found, by part, without times."""
    return {
        summary.part: [
            {
                "system": row.record.system,
                "data": row.record.data,
                "seed": row.seed,
                "model": row.record.model_sha256,
                "steps": row.training.steps if row.training else None,
                "scores": {name: score.value for name, score in row.record.scores.items()},
            }
            for row in summary.rows
        ]
        for summary in Found.read(out / "numbers").summaries
    }


def _begun(out: Path) -> list[Path]:
    """The files by which steps are locked; they stay."""
    return list((out / "steps").rglob("*.lock"))
