"""`make stress`: much of everything in faults.py, with counts."""

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from stress import faults

ROUNDS: dict[str, Callable[[Path], Counter[str]]] = {
    "texts read": lambda _: faults.read_texts(100_000),
    "texts paraphrased by a tiny model": lambda _: faults.paraphrase_texts(5_000),
    "changed bytes of a model": lambda place: faults.damage_models(1_000, place),
    "absurd settings of a model": lambda place: faults.hostile_configs(500, place),
    "a model saved on a full disk": faults.starve_models,
    "bulk jobs killed": lambda place: faults.kill_bulk(200, place),
    "bulk jobs on a full disk": lambda place: faults.starve_bulk(100, place),
    "trainings killed": lambda place: faults.kill_training(200, place),
    "reproductions killed": lambda place: faults.kill_reproductions(5, place),
}


def main() -> None:
    torch.set_num_threads(1)  # forked children must find no threads
    for what, work in ROUNDS.items():
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as directory:
            counts = work(Path(directory))
        print(f"{what}: {dict(counts)} in {time.monotonic() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
