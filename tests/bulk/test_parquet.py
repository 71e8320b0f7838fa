"""Parquet in and out on one machine: types are kept, and an output that was cut is continued."""

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from bulk.shouting import shout
from parasketch.bulk.answers import BulkReport
from parasketch.bulk.reading import open_rows
from parasketch.bulk.work import paraphrase_file
from parasketch.data.records import BadRows
from parasketch.errors import DataError, UsageError
from parasketch.files import raise_error

pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
pq = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")

ROWS = [
    {"id": i, "text": None if i == 3 else f"text {i}", "day": datetime.date(2024, 1, 1 + i), "tags": ["a"] * i}
    for i in range(7)
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path, row_group_size=3)
    return path


def run(path: Path, out: Path, paraphrase: Any = shout, **changes: Any) -> BulkReport:
    report = BulkReport()
    arguments = {
        "column": None, "n": 2, "settings": {"n": 2}, "resume": False, "on_bad": BadRows(), "batch_size": 2,
        "report": report, **changes,
    }  # fmt: skip
    paraphrase_file(paraphrase, str(path), str(out), **arguments)
    return report


def test_columns_keep_their_types_and_get_company(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    report = run(source, out)
    assert (report.done, report.problems) == (7, 1)
    table = pq.read_table(out)
    assert table.select(["id", "text", "day", "tags"]).to_pylist() == ROWS
    assert table.schema.field("day").type == pa.date32()
    rows = table.to_pylist()
    assert [each["text"] for each in rows[2]["paraphrases"]] == ["TEXT 2 1", "TEXT 2 2"]
    assert rows[2]["paraphrases"][1]["sketch"] == [2]
    assert (rows[3]["paraphrases"], rows[3]["problem"]) == ([], "has no text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet", "out.parquet"]


def test_an_output_that_was_cut_is_continued(source: Path, tmp_path: Path) -> None:
    run(source, tmp_path / "whole.parquet")
    out, calls = tmp_path / "out.parquet", []

    def dies(texts: list[str], /) -> Any:
        calls.append(texts)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return shout(texts)

    with pytest.raises(KeyboardInterrupt):
        run(source, out, dies)
    assert not out.exists()
    report = run(source, out, resume=True)
    assert (report.skipped, report.done) == (4, 3)
    assert pq.read_table(out).equals(pq.read_table(tmp_path / "whole.parquet"))
    assert run(source, out, resume=True).skipped == 7
    with pytest.raises(UsageError, match="exists"):
        run(source, out)
    with pytest.raises(UsageError, match="with these settings"):
        run(source, out, resume=True, settings={"n": 3})


def test_other_formats_to_parquet_and_back(source: Path, tmp_path: Path) -> None:
    table = tmp_path / "in.csv"
    table.write_text('id,text\n1,"a, b"\n2,c\n')
    run(table, tmp_path / "out.parquet")
    assert [row["id"] for row in pq.read_table(tmp_path / "out.parquet").to_pylist()] == ["1", "2"]
    run(source, tmp_path / "out.jsonl")
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert written[1]["day"] == "2024-01-02"
    assert written[2]["tags"] == ["a", "a"]
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n')
    with pytest.raises(UsageError, match="may differ in their columns"):
        run(tmp_path / "in.jsonl", tmp_path / "no.parquet")


def test_what_is_no_parquet_file_is_named(source: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_text("text\n")
    with pytest.raises(DataError, match=r"bad\.parquet: cannot be read"):
        open_rows(str(tmp_path / "bad.parquet"), column=None, on_bad=raise_error)
    with pytest.raises(DataError, match="no column 'question'"):
        open_rows(str(source), column="question", on_bad=raise_error)
