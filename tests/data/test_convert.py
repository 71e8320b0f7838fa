"""Conversion: repeated sentences go, single ones are counted, and no output stays behind a failure."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from parasketch.data.convert import Conversion, convert
from parasketch.data.corpora import Cluster, EvalItem, read_clusters, read_eval
from parasketch.errors import DataError

ROWS = [Cluster(("Why ?", "why", "How come?")), Cluster(("alone",)), Cluster(("twice", "Twice!")), Cluster(("a", "b"))]


def test_to_clusters(tmp_path: Path) -> None:
    done = convert(ROWS, tmp_path / "out.jsonl.gz", to="clusters")
    assert done == Conversion(clusters=2, sentences=4, too_small=2)
    assert list(read_clusters(tmp_path / "out.jsonl.gz")) == [Cluster(("Why ?", "How come?")), Cluster(("a", "b"))]


def test_to_evaluation_items(tmp_path: Path) -> None:
    convert(ROWS, tmp_path / "out.jsonl", to="eval")
    assert list(read_eval(tmp_path / "out.jsonl")) == [EvalItem("Why ?", ("How come?",)), EvalItem("a", ("b",))]


def test_nothing_to_write_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no cluster has two different sentences, so nothing was written"):
        convert(ROWS[1:3], tmp_path / "out.jsonl", to="clusters")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_half_way_leaves_nothing(tmp_path: Path) -> None:
    def rows() -> Iterator[Cluster]:
        yield from ROWS
        raise DataError("bad row")

    with pytest.raises(DataError, match="bad row"):
        convert(rows(), tmp_path / "out.jsonl", to="clusters")
    assert list(tmp_path.iterdir()) == []
