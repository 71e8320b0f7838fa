"""Shards without any cluster: what is written, what is continued, and what is refused."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bulk.shouting import shout
from parasketch.bulk.answers import Answer, BulkReport, answer
from parasketch.bulk.shards import MANIFEST, RECORD, Task, find_inputs, paraphrase_shards
from parasketch.bulk.work import paraphrase_file
from parasketch.data.records import BadRows
from parasketch.errors import DataError, UsageError
from parasketch.files import lock


class Cut(Exception):
    """Stands for a killed driver."""


class Here:
    """Answers in this process, last task first, and can be told to die after some shards."""

    def __init__(self, dies_after: int | None = None) -> None:
        self.seen: list[int] = []
        self._dies_after = dies_after

    def __call__(self, tasks: Iterator[Task], /) -> Iterator[tuple[int, list[Answer]]]:
        for task in reversed(list(tasks)):
            if len(self.seen) == self._dies_after:
                raise Cut
            self.seen.append(task.number)
            yield task.number, answer(shout, task.texts)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    directory = tmp_path / "corpus"
    (directory / "b").mkdir(parents=True)
    (directory / "a.csv").write_text("id,text\n" + "".join(f'{i},"text, {i}\nmore"\n' for i in range(10)))
    (directory / "b" / "c.jsonl").write_text("".join(f'{{"text": "line {i}", "k": [{i}]}}\n' for i in range(5)) + "x\n")
    (directory / "b" / "d.txt").write_text("one\n\nthree\n")
    (directory / "notes.md").write_text("no rows")
    (directory / ".hidden.txt").write_text("no row\n")
    return directory


def run(engine: Any, inputs: list[str], out: Path, **changes: Any) -> BulkReport:
    report = BulkReport()
    arguments = {
        "format": "jsonl", "column": None, "n": 2, "settings": {"n": 2}, "resume": False, "on_bad": BadRows(),
        "report": report, "shard_rows": 4, **changes,
    }  # fmt: skip
    paraphrase_shards(engine, inputs, out, **arguments)
    return report


def contents(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(out.iterdir()) if path.name != RECORD}


def one_machine(path: str, out: Path) -> bytes:
    settings = {"column": None, "n": 2, "settings": {}, "resume": False, "on_bad": BadRows(), "batch_size": 4}
    paraphrase_file(shout, path, str(out), report=BulkReport(), **settings)  # type: ignore[arg-type]
    return out.read_bytes()


def test_shards_of_many_files_are_the_rows_of_the_single_machine(corpus: Path, tmp_path: Path) -> None:
    out, inputs = tmp_path / "out", find_inputs([str(corpus)])
    assert [Path(path).name for path in inputs] == ["a.csv", "c.jsonl", "d.txt"]
    bad = BadRows()
    report = run(Here(), inputs, out, on_bad=bad)
    assert (report.done, report.problems, report.paraphrases, bad.count) == (18, 1, 34, 1)
    manifest = json.loads((out / MANIFEST).read_text())
    assert [shard["rows"] for shard in manifest["shards"]] == [4, 4, 2, 4, 1, 3]
    assert manifest["rows"] == 18
    for number, path in enumerate(inputs):
        files = [shard["file"] for shard in manifest["shards"] if shard["input"] == path]
        together = b"".join((out / file).read_bytes() for file in files)
        assert together == one_machine(path, tmp_path / f"single-{number}.jsonl")


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_a_job_cut_anywhere_is_continued_and_repeats_no_shard(corpus: Path, tmp_path: Path, format: str) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    inputs, out = [str(corpus / "a.csv"), str(corpus / "b" / "d.txt")], tmp_path / "whole"
    run(Here(), inputs, out, format=format)
    whole = contents(out)
    for count in range(5):
        cut = tmp_path / f"cut-{count}"
        first = Here(dies_after=count)
        if count < 4:
            with pytest.raises(Cut):
                run(first, inputs, cut, format=format)
            assert not (cut / MANIFEST).exists()
        else:
            run(first, inputs, cut, format=format)
        record = cut / RECORD
        record.write_bytes(record.read_bytes() + b'{"shard": 3, "fi')  # a line that was cut
        (cut / ".part-000001.abc.partial").write_text("half")
        second = Here()
        report = run(second, inputs, cut, format=format, resume=True)
        assert sorted(first.seen + second.seen) == [0, 1, 2, 3]
        assert report.done + report.skipped == 13
        assert contents(cut) == whole


def test_a_shard_that_is_gone_is_made_again(corpus: Path, tmp_path: Path) -> None:
    inputs, out = [str(corpus / "a.csv")], tmp_path / "out"
    run(Here(), inputs, out)
    whole = contents(out)
    (out / "part-000001.jsonl").unlink()
    engine = Here()
    run(engine, inputs, out, resume=True)
    assert engine.seen == [1]
    assert contents(out) == whole


def test_nobodys_work_is_harmed(corpus: Path, tmp_path: Path) -> None:
    inputs, out = [str(corpus / "a.csv")], tmp_path / "out"
    run(Here(), inputs, out)
    whole = contents(out)
    with pytest.raises(UsageError, match="continue it with --resume"):
        run(Here(), inputs, out)
    with pytest.raises(UsageError, match=r"made with other settings \(n: 2, now 3\)"):
        run(Here(), inputs, out, resume=True, settings={"n": 3})
    with pytest.raises(UsageError, match="made with other settings"):
        run(Here(), [*inputs, str(corpus / "b" / "d.txt")], out, resume=True)
    with lock(out), pytest.raises(UsageError, match="is being written by another process"):
        run(Here(), inputs, out, resume=True)
    assert contents(out) == whole
    (out / "part-000000.jsonl").write_text("changed")
    with pytest.raises(UsageError, match="is not as it was written"):
        run(Here(), inputs, out, resume=True)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("precious")
    with pytest.raises(UsageError, match="was not written by this command"):
        run(Here(), inputs, precious)


def test_an_input_that_changed_is_found_out(corpus: Path, tmp_path: Path) -> None:
    path, out = corpus / "a.csv", tmp_path / "out"
    run(Here(), [str(path)], out)
    path.write_text(path.read_text().replace("text, 5", "text, five"))
    with pytest.raises(UsageError, match="its rows from 5 on are not those"):
        run(Here(), [str(path)], out, resume=True)


def test_what_is_wrong_is_said_before_anything_is_done(corpus: Path, tmp_path: Path) -> None:
    engine, csv = Here(), str(corpus / "a.csv")
    with pytest.raises(DataError, match="no column 'id'"):
        run(engine, [csv, str(corpus / "b" / "c.jsonl")], tmp_path / "out", column="id")
    with pytest.raises(UsageError, match="may differ in their columns"):
        run(engine, [csv, str(corpus / "b" / "c.jsonl")], tmp_path / "out", format="csv")
    with pytest.raises(DataError, match="no such file"):
        run(engine, [csv, str(corpus / "none.csv")], tmp_path / "out")
    with pytest.raises(UsageError, match="where the output goes"):
        run(engine, [csv], corpus)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="has no file of rows"):
        find_inputs([str(tmp_path / "empty")])
    assert engine.seen == []
    assert not (tmp_path / "out").exists()
