"""The orders and rules of a prepared corpus: parsed and aligned once, in all cores, and kept in the user's cache.

The cache is a directory for each corpus, parser and way to align, with a file for each chunk of clusters that appears
whole or not at all. Who interrupts the work and calls again goes on where it was; other runs on the same corpus find it
done.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from parasketch.console import console, progress_bar
from parasketch.data.parallel import cores, work_in_order
from parasketch.data.prepared import MANIFEST, Prepared
from parasketch.files import cache_directory, sha256, write_directory
from parasketch.systems.sowreap.annotate import OrderArrays, Recipe
from parasketch.systems.sowreap.parser import Parser
from parasketch.systems.sowreap.vectors import WordVectors

CHUNK_SENTENCES = 1000
_FORMAT = 1
_FILE = "orders.npz"


def orders_of_corpus(
    prepared: Prepared, parser: Parser, vectors: WordVectors, *, max_pairs: int, workers: int | None = None
) -> OrderArrays:
    """Parse and align a corpus, or read what was made of it before; `workers` processes (default: one a core)."""
    directory = _directory(prepared, parser, vectors, max_pairs)
    chunks = list(_chunks(prepared))
    done = {number: arrays for number in range(len(chunks)) if (arrays := _read(directory / _name(number))) is not None}
    missing = [number for number in range(len(chunks)) if number not in done]
    if missing:
        # A process takes some seconds to load parser and vectors, which a small corpus is not worth.
        workers = workers or max(1, min(cores(), len(missing) // 2))
        recipe = Recipe(prepared.path, parser, vectors, max_pairs)
        with progress_bar() as bar:
            sizes = [_sentences(prepared, chunk) for chunk in chunks]
            task = bar.add_task("parsing and aligning", total=sum(sizes), completed=sum(sizes[each] for each in done))
            found = work_in_order(recipe.annotator, (chunks[number] for number in missing), workers)
            for number, arrays in zip(missing, found, strict=True):
                _write(directory / _name(number), arrays)
                done[number] = arrays
                bar.advance(task, sizes[number])
    joined = OrderArrays.join([done[number] for number in range(len(chunks))])
    console.print(
        f"orders of {len(joined.pairs):,} pairs and {len(joined.rule_lengths):,} rules; "
        f"{int(joined.skipped[0]):,} sentences left out, whose parse does not fit: {directory}",
        soft_wrap=True,
    )
    return joined


def _directory(prepared: Prepared, parser: Parser, vectors: WordVectors, max_pairs: int) -> Path:
    """Where the chunks are: named by all that decides them."""
    origin = {
        "format": _FORMAT,
        "corpus": sha256(prepared.path / MANIFEST),
        "parser": parser.name,
        "vectors": vectors.name,
        "max_pairs": max_pairs,
    }
    return cache_directory() / "orders" / hashlib.sha256(json.dumps(origin, sort_keys=True).encode()).hexdigest()[:24]


def _chunks(prepared: Prepared) -> Iterator[range]:
    """Runs of clusters with some CHUNK_SENTENCES sentences."""
    start = 0
    for cluster in range(prepared.num_clusters):
        if _sentences(prepared, range(start, cluster + 1)) >= CHUNK_SENTENCES or cluster == prepared.num_clusters - 1:
            yield range(start, cluster + 1)
            start = cluster + 1


def _sentences(prepared: Prepared, clusters: range) -> int:
    offsets = prepared.arrays.cluster_offsets
    return int(offsets[clusters.stop] - offsets[clusters.start])


def _name(number: int) -> str:
    return f"{number:05}"


def _write(directory: Path, arrays: OrderArrays) -> None:
    with write_directory(directory) as temporary:
        np.savez_compressed(temporary / _FILE, **asdict(arrays))


def _read(directory: Path) -> OrderArrays | None:
    """A chunk that is there; one that is damaged is made again."""
    try:
        with np.load(directory / _FILE, allow_pickle=False) as stored:
            return OrderArrays(**{name: stored[name] for name in stored.files})
    except (OSError, EOFError, ValueError, TypeError, KeyError, BadZipFile):
        return None
