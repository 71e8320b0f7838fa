"""Sentences of the package's own, made from frames: small clusters of questions and of captions.

They need no licence and no download, so that everything can be tried at once: whole reproductions in tests, and typical
sentences for the codes of a model. Who wants to know how good a system is needs real data.
"""

import itertools
import random
from pathlib import Path

from parasketch.data.corpora import write_clusters, write_eval
from parasketch.data.records import Cluster, EvalItem

SAMPLES = ("questions", "captions")
_FILE = Path(__file__).with_name("samples.txt")
_EVALUATED = 0.15
_EVERY = 3  # combination of several lists


def sample_clusters(name: str) -> list[list[str]]:
    """The clusters of `questions` or of `captions`."""
    lines = [line for line in _FILE.read_text("utf-8").splitlines() if not line.startswith("#")]
    blocks = [block.split("\n") for block in "\n".join(lines).strip().split("\n\n")]
    return [cluster for kind, *block in blocks if kind == name for cluster in _fill(block)]


def write_samples(directory: Path) -> None:
    """Write `questions` and `captions`, each as train.jsonl (clusters), dev.jsonl and test.jsonl (items)."""
    for name in SAMPLES:
        clusters = sample_clusters(name)
        random.Random(0).shuffle(clusters)
        size = int(_EVALUATED * len(clusters))
        dev, test, train = clusters[:size], clusters[size : 2 * size], clusters[2 * size :]
        write_clusters(directory / name / "train.jsonl", (Cluster(tuple(cluster)) for cluster in train))
        for split, part in (("dev", dev), ("test", test)):
            write_eval(directory / name / f"{split}.jsonl", (EvalItem(first, tuple(rest)) for first, *rest in part))


def _fill(block: list[str]) -> list[list[str]]:
    """A cluster for each filling of a block's frames."""
    lists = [[part.strip() for part in line[1:].split("|")] for line in block if line.startswith("=")]
    frames = [line for line in block if not line.startswith("=")]
    every = _EVERY if len(lists) > 1 else 1
    fillings = itertools.islice(itertools.product(*lists), 0, None, every)
    return [[frame.format(*" / ".join(words).split(" / ")) for frame in frames] for words in fillings]
