"""Splits that do not leak: no sentence of one split occurs, however spelt, in another.

Clusters that share a sentence (normalised) form a component, and components go to a split as a whole. They
are not joined: two photographs with one caption in common are still two clusters, but never in two splits.
"""

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from parasketch.data.clusters import as_eval_item, distinct_sentences, group_clusters
from parasketch.data.corpora import write_clusters, write_eval
from parasketch.data.records import Cluster, EvalItem
from parasketch.errors import UsageError
from parasketch.files import write_directory

Size = int | float
"""A number of clusters (int) or a share of all of them (float)."""


@dataclass(frozen=True)
class Splits:
    """The three parts, and by how many clusters a part fell short because components stay whole."""

    train: list[Cluster]
    dev: list[EvalItem]
    test: list[EvalItem]
    shortfall: dict[str, int]


def parse_size(text: str) -> Size:
    """`2000` is a number of clusters, `0.1` a share of them."""
    try:
        size: Size = int(text) if text.isdigit() else float(text)
    except ValueError:
        size = -1
    if not 0 <= size <= (1 if isinstance(size, float) else math.inf):
        raise UsageError(f"{text!r} is no size: give a whole number such as 2000, or a share such as 0.1")
    return size


def split_clusters(clusters: Iterable[Cluster], *, dev: Size, test: Size, seed: int) -> Splits:
    """Assign whole components at random; `test` is filled before `dev`, and the rest is for training.

    No part gets more clusters than asked for: a component that does not fit any more is passed over.
    Components with a cluster of one sentence, which gives nothing to compare with, are for training.
    Within each part the order of the input is kept.
    """
    cleaned = [Cluster(distinct_sentences(cluster.sentences)) for cluster in clusters]
    wanted = {"test": _count(test, len(cleaned)), "dev": _count(dev, len(cleaned))}
    # Two shares that add up to all may both be rounded up: then dev falls one short, as it may for other reasons.
    asked = sum(size if isinstance(size, int) else size * len(cleaned) for size in (dev, test))
    if min(sum(wanted.values()), asked) > len(cleaned) + 1e-9:
        raise UsageError(
            f"dev ({wanted['dev']:,}) and test ({wanted['test']:,}) are more than the {len(cleaned):,} clusters"
        )
    components = group_clusters(cleaned)
    random.Random(seed).shuffle(components)
    parts = ["train"] * len(cleaned)
    room = dict(wanted)
    for component in components:
        part = next((name for name in room if len(component) <= room[name]), None)
        if part and all(len(cleaned[member].sentences) > 1 for member in component):
            room[part] -= len(component)
            for member in component:
                parts[member] = part

    def members(part: str) -> list[Cluster]:
        return [cluster for cluster, assigned in zip(cleaned, parts, strict=True) if assigned == part]

    return Splits(
        train=members("train"),
        dev=[as_eval_item(cluster) for cluster in members("dev")],
        test=[as_eval_item(cluster) for cluster in members("test")],
        shortfall={name: missing for name, missing in room.items() if missing},
    )


def write_splits(directory: Path | str, splits: Splits) -> None:
    """Write train (clusters), dev and test (evaluation items) to a new directory; an empty part has no file."""
    require_new_directory(directory)
    with write_directory(directory) as temporary:
        if splits.train:
            write_clusters(temporary / "train.jsonl", splits.train)
        for name, items in (("dev", splits.dev), ("test", splits.test)):
            if items:
                write_eval(temporary / f"{name}.jsonl", items)


def require_new_directory(path: Path | str) -> None:
    """Refuse a directory with something in it: a new split beside parts of an old one would leak."""
    path = Path(path)
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise UsageError(f"{path} exists and is not empty: give another directory, or remove it first")


def _count(size: Size, total: int) -> int:
    return size if isinstance(size, int) else round(size * total)
