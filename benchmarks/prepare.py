"""How fast clusters are tagged and prepared, and how time and memory grow when the corpus is ten times as large.

    python benchmarks/prepare.py --data train.jsonl.gz
    python benchmarks/prepare.py --data train.jsonl.gz --sentences 1000000 5000000 10000000    # the growth curve

The large corpus repeats the small one with its longer words exchanged for others, so that sentences, templates and
spans are new ones. Each run has a process of its own, and memory is the parent's peak plus the largest peak of a
worker times the number of workers: an upper bound of what all hold at once. (A peak counts pages of files that are
mapped, which the system may take back at any time.)
"""

import argparse
import itertools
import multiprocessing
import os
import random
import re
import resource
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from parasketch.config import DataConfig
from parasketch.data.corpora import Cluster, read_clusters, write_clusters
from parasketch.data.prepare import prepare
from parasketch.data.prepared import Prepared
from parasketch.data.triples import Triples
from parasketch.text.tagger import load_tagger

_LONG_WORD = re.compile(r"\b[A-Za-z]{5,}\b")


@dataclass(frozen=True)
class Run:
    sentences: int
    seconds: float
    cpu_seconds: float
    """of all processes; what else the machine does hardly changes it"""
    parent_megabytes: float
    worker_megabytes: float
    """of the largest one"""

    def megabytes(self, workers: int) -> float:
        return self.parent_megabytes + workers * self.worker_megabytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a file of clusters")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--copies", type=int, default=10, help="size of the large corpus")
    parser.add_argument("--sentences", type=int, nargs="+", help="the growth curve at these sizes, and nothing else")
    parser.add_argument("--templates", choices=["chunk", "pos"], default="chunk")
    arguments = parser.parse_args()
    config = DataConfig(templates=arguments.templates)
    if arguments.sentences:
        growth_curve(arguments.data, arguments.sentences, config, arguments.workers)
        return

    sentences = [s for cluster in itertools.islice(read_clusters(arguments.data), 4000) for s in cluster.sentences]
    print(f"tagging: {tagging_rate(sentences):,.0f} sentences per CPU second ({len(sentences):,} sentences)")
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        write_clusters(scratch / "large.jsonl", copies_with_other_words(arguments.data, arguments.copies))
        small = measure(arguments.data, scratch / "small", config, arguments.workers)
        print(f"triples: {triples_rate(scratch / 'small'):,.0f} per CPU second, in batches of 64")
        large = measure(scratch / "large.jsonl", scratch / "large", config, arguments.workers)
    for label, run in (("1x", small), (f"{arguments.copies}x", large)):
        print(
            f"prepare {label}: {run.sentences:,} sentences in {run.seconds:.1f} s with {arguments.workers} workers; "
            f"{run.sentences / run.cpu_seconds:,.0f} sentences per CPU second; "
            f"peak {run.megabytes(arguments.workers):,.0f} MB"
        )
    growth = large.sentences / small.sentences
    print(
        f"sentences x{growth:.1f}: CPU time x{large.cpu_seconds / small.cpu_seconds:.1f}, "
        f"memory x{large.megabytes(arguments.workers) / small.megabytes(arguments.workers):.1f}"
    )


def growth_curve(data: Path, sizes: list[int], config: DataConfig, workers: int) -> None:
    """Time and memory of corpora of some sizes, the same sentences with ever other words."""
    print(
        "| sentences | seconds | sentences per CPU second | parent, MB | a worker, MB | parent, bytes a sentence more |"
    )
    print("|---:|---:|---:|---:|---:|---:|")
    before: Run | None = None
    for size in sorted(sizes):
        with tempfile.TemporaryDirectory() as name:
            write_clusters(Path(name) / "clusters.jsonl", first_sentences(data, size))
            run = measure(Path(name) / "clusters.jsonl", Path(name) / "prepared", config, workers)
        more = ""
        if before is not None:
            extra = (run.parent_megabytes - before.parent_megabytes) * (1 << 20)
            more = f"{extra / (run.sentences - before.sentences):,.0f}"
        print(
            f"| {run.sentences:,} | {run.seconds:,.0f} | {run.sentences / run.cpu_seconds:,.0f} | "
            f"{run.parent_megabytes:,.0f} | {run.worker_megabytes:,.0f} | {more} |",
            flush=True,
        )
        before = run


def first_sentences(data: Path, size: int) -> Iterator[Cluster]:
    """Copies of a corpus with other words, until there are `size` sentences."""
    count = 0
    for cluster in copies_with_other_words(data, size):
        if count >= size:
            return
        count += len(cluster.sentences)
        yield cluster


def tagging_rate(sentences: list[str]) -> float:
    tagger = load_tagger("crf")
    tagger.tag(sentences[:10])  # reads the models
    start = time.process_time()
    tagger.tag(sentences)
    return len(sentences) / (time.process_time() - start)


def triples_rate(directory: Path) -> float:
    triples = Triples(Prepared(directory), seed=1, template_dropout=0.3, max_pairs=26)
    order = triples.order(0)[:32_000]
    start = time.process_time()
    for first in range(0, len(order), 64):
        triples.batch(0, order[first : first + 64])
    return len(order) / (time.process_time() - start)


def measure(data: Path, out: Path, config: DataConfig, workers: int) -> Run:
    """Prepare in a fresh process, since a process remembers its peak memory for ever."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measure_here, data, out, config, workers).result()


def _measure_here(data: Path, out: Path, config: DataConfig, workers: int) -> Run:
    start = time.perf_counter()
    prepared = prepare([data], out, config, workers=workers)
    seconds = time.perf_counter() - start
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu_seconds = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    parent, worker = (usage.ru_maxrss / 1024 for usage in usages)
    return Run(prepared.num_sentences, seconds, cpu_seconds, parent, worker if workers > 1 else 0.0)


def copies_with_other_words(path: Path, copies: int) -> Iterator[Cluster]:
    """The corpus itself, then again and again with its longer words shuffled among themselves."""
    found = {word for c in read_clusters(path) for sentence in c.sentences for word in _LONG_WORD.findall(sentence)}
    words = sorted(found)
    yield from read_clusters(path)
    for copy in range(1, copies):
        others = dict(zip(words, random.Random(copy).sample(words, len(words)), strict=True))
        yield from (_exchange(cluster, others) for cluster in read_clusters(path))


def _exchange(cluster: Cluster, others: dict[str, str]) -> Cluster:
    return Cluster(tuple(_LONG_WORD.sub(lambda word: others[word[0]], sentence) for sentence in cluster.sentences))


if __name__ == "__main__":
    main()
