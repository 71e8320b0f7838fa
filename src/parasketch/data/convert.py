"""Any corpus in, one of the two own formats out: what `parasketch data convert` does."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from parasketch.data.clusters import as_eval_item, distinct_sentences
from parasketch.data.corpora import write_clusters, write_eval
from parasketch.data.records import Cluster
from parasketch.errors import DataError

Target = Literal["clusters", "eval"]


@dataclass
class Conversion:
    """What was written, and how many clusters were left out for having fewer than two different sentences."""

    clusters: int = 0
    sentences: int = 0
    too_small: int = 0


def convert(clusters: Iterable[Cluster], out: Path | str, *, to: Target) -> Conversion:
    """Write clusters, streaming and without repeated sentences; the output appears whole or not at all."""
    done = Conversion()
    kept = _paraphrases(clusters, done)
    if to == "clusters":
        write_clusters(out, kept)
    else:
        write_eval(out, (as_eval_item(cluster) for cluster in kept))
    return done


def _paraphrases(clusters: Iterable[Cluster], done: Conversion) -> Iterator[Cluster]:
    for cluster in clusters:
        sentences = distinct_sentences(cluster.sentences)
        if len(sentences) < 2:
            done.too_small += 1
            continue
        done.clusters += 1
        done.sentences += len(sentences)
        yield Cluster(sentences)
    if not done.clusters:
        raise DataError("no cluster has two different sentences, so nothing was written")
