"""The data of a reproduction: the user's, a small part of it, or sentences of the package's own."""

import itertools
from dataclasses import replace
from pathlib import Path

from parasketch.data.corpora import read_clusters, read_eval, write_clusters, write_eval
from parasketch.errors import UsageError
from parasketch.reproduce.plan import Plan
from parasketch.samples import write_samples


def with_samples(plan: Plan, directory: Path) -> Plan:
    """The plan on samples, which are written to a directory; no figure of the paper belongs to them."""
    write_samples(directory)
    data = {
        name: replace(
            source,
            train=[f"{name}/train.jsonl"],
            dev=f"{name}/dev.jsonl",
            test=f"{name}/test.jsonl",
            paper=None,
        )
        for name, source in plan.data.items()
    }
    return replace(plan, data=data)


def shorten(plan: Plan, data: Path, directory: Path) -> None:
    """Write the first clusters and items of all files, under the same names in another directory."""
    for source in plan.data.values():
        for file in source.train:
            clusters = itertools.islice(read_clusters(_there(data / file)), plan.quick.clusters)
            write_clusters(directory / file, clusters)
        for file in (source.dev, source.test):
            write_eval(directory / file, itertools.islice(read_eval(_there(data / file)), plan.quick.items))


def check(plan: Plan, data: Path) -> None:
    """Require all files of the plan to be there, before the work."""
    for source in plan.data.values():
        for file in (*source.train, source.dev, source.test):
            _there(data / file)


def _there(path: Path) -> Path:
    if not path.is_file():
        raise UsageError(f"{path}: no such file (is --data right? the plan names the files below it)")
    return path
