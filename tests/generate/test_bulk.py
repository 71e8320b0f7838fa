import json
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parasketch.data.records import BadRows
from parasketch.errors import DataError, UsageError
from parasketch.generate import bulk
from parasketch.generate.bulk import BulkReport, paraphrase_file
from parasketch.generate.paraphrases import Paraphrase, Sketch

SETTINGS = {"n": 2, "sketch": None}


class Cut(Exception):
    """Stands for a killed process."""


class Shouting:
    """Paraphrases by shouting; can be told to die after some texts."""

    def __init__(self, dies_after: int | None = None) -> None:
        self.seen: list[str] = []
        self._left = dies_after

    def __call__(self, texts: list[str], /) -> list[list[Paraphrase]]:
        if self._left is not None:
            self._left -= len(texts)
            if self._left < 0:
                raise Cut
        self.seen += texts
        return [
            [
                Paraphrase(text=f"{text.upper()} {rank}", sketch=Sketch(rank), score=0.0, difference=1.0)
                for rank in (1, 2)
            ]
            for text in texts
        ]


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "CHUNK", 4)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    rows = "".join(f'{number},"text, {number}\nmore"\n' for number in range(10))
    path.write_text(f"id,text\n{rows}")
    return path


def run(paraphrase: Shouting, path: Path, out: Path | str, **changes: Any) -> BulkReport:
    arguments = {"column": None, "n": 2, "settings": SETTINGS, "resume": False, "on_bad": BadRows(), **changes}
    return paraphrase_file(paraphrase, str(path), str(out), **arguments)


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".tsv", ".txt"])
def test_an_output_cut_anywhere_is_continued_to_the_same_file(tmp_path: Path, source: Path, ending: str) -> None:
    run(Shouting(), source, tmp_path / f"whole{ending}")
    whole = (tmp_path / f"whole{ending}").read_bytes()
    out = tmp_path / f"cut{ending}"
    for size in [*range(0, len(whole), len(whole) // 20), len(whole) - 1, len(whole)]:
        out.unlink(missing_ok=True)
        with pytest.raises(Cut):
            run(Shouting(dies_after=4), source, out)
        out.write_bytes(whole[:size])
        paraphrase = Shouting()
        report = run(paraphrase, source, out, resume=True)
        assert out.read_bytes() == whole
        assert report.done + report.skipped == 10
        assert len(paraphrase.seen) == report.done


def test_a_killed_run_keeps_its_chunks_and_repeats_none(tmp_path: Path, source: Path) -> None:
    out = tmp_path / "out.jsonl"
    with pytest.raises(Cut):
        run(Shouting(dies_after=8), source, out)
    assert len(out.read_text().splitlines()) == 8
    paraphrase = Shouting()
    report = run(paraphrase, source, out, resume=True)
    assert (report.skipped, report.done) == (8, 2)
    assert [json.loads(line)["id"] for line in out.read_text().splitlines()] == [str(i) for i in range(10)]
    assert run(Shouting(dies_after=0), source, out, resume=True).done == 0


def test_other_settings_do_not_continue(tmp_path: Path, source: Path) -> None:
    out = tmp_path / "out.jsonl"
    run(Shouting(), source, out)
    with pytest.raises(UsageError, match=r"made with other settings \(n: 2, now 3\)"):
        run(Shouting(), source, out, resume=True, settings={"n": 3, "sketch": None})
    run(Shouting(), source, out, resume=True, settings={"n": 2, "sketch": None})
    bulk.settings_path(str(out)).unlink()
    with pytest.raises(DataError, match="cannot be continued: its settings are not known"):
        run(Shouting(), source, out, resume=True)


def test_sketches_in_settings_are_compared_as_they_are_stored(tmp_path: Path, source: Path) -> None:
    settings = {"sketch": Sketch(1, 2)}
    run(Shouting(), source, tmp_path / "out.jsonl", settings=settings)
    assert run(Shouting(), source, tmp_path / "out.jsonl", settings=settings, resume=True).skipped == 10


def test_an_existing_output_is_not_overwritten(tmp_path: Path, source: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("precious\n")
    with pytest.raises(UsageError, match="exists: continue it with --resume, or remove it first"):
        run(Shouting(), source, out)
    assert out.read_text() == "precious\n"
    out.write_text("")
    assert run(Shouting(), source, out).done == 10


def test_a_run_that_fails_at_once_leaves_nothing_to_continue(tmp_path: Path, source: Path) -> None:
    out = tmp_path / "out.csv"
    with pytest.raises(Cut):
        run(Shouting(dies_after=0), source, out)
    assert out.read_bytes() == b""
    run(Shouting(), source, out)
    (tmp_path / "empty.csv").write_text("id,text\n")
    run(Shouting(), tmp_path / "empty.csv", tmp_path / "nothing.csv")
    assert (tmp_path / "nothing.csv").read_text() == "id,text,paraphrase_1,paraphrase_2,problem\n"


def test_rows_without_a_text_come_out_with_the_problem(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    lines = ['{"text": "one"}', '{"text": " "}', '{"text": 3}', '{"other": 1}', "nonsense", '{"text": "\\ud800 two"}']
    path.write_text("\n".join(lines) + "\n")
    bad = BadRows()
    report = run(Shouting(), path, tmp_path / "out.jsonl", on_bad=bad)
    assert (report.done, report.problems, bad.count) == (5, 3, 1)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row.get("problem") for row in rows] == [
        None, "is empty: there is nothing to paraphrase", "is of type int (expected str)", "has no text", None,
    ]  # fmt: skip
    assert rows[4]["text"] == "\ud800 two"
    assert [len(row["paraphrases"]) for row in rows] == [2, 0, 0, 0, 2]


def test_standard_output_takes_json_lines(source: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    run(Shouting(), source, "-")
    assert len(capfdbinary.readouterr().out.splitlines()) == 10
    with pytest.raises(UsageError, match="--resume needs a file"):
        run(Shouting(), source, "-", resume=True)


@pytest.mark.parametrize("name", ["out", "out.xlsx", "out.jsonl.gz"])
def test_an_ending_without_a_format(tmp_path: Path, source: Path, name: str) -> None:
    with pytest.raises(UsageError, match="what format\\?"):
        run(Shouting(), source, tmp_path / name)


def test_an_output_that_cannot_be_written(source: Path) -> None:
    with pytest.raises(DataError, match="cannot be written"):
        run(Shouting(), source, source / "out.jsonl")


def test_memory_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "CHUNK", 64)

    def peak(rows: int) -> int:
        path, fifo = tmp_path / f"{rows}.txt", tmp_path / f"{rows}.out.txt"
        with path.open("w") as stream:
            stream.writelines(_lines(rows))
        paraphrase = Shouting()
        paraphrase.seen = _Forgetful()
        tracemalloc.start()
        run(paraphrase, path, fifo)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert os.path.getsize(fifo) > rows * 100  # noqa: PTH202
        return size

    peak(100)  # whatever is made once is made here
    assert peak(6000) < 1.5 * peak(600)


class _Forgetful(list[str]):
    def __iadd__(self, other: Any) -> "_Forgetful":
        return self


def _lines(rows: int) -> Iterator[str]:
    return (f"a rather long text with the number {number} {'x' * 60}\n" for number in range(rows))
