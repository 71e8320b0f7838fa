import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from parasketch.bulk.output import record_path
from parasketch.bulk.work import BulkReport, paraphrase_file
from parasketch.data.records import BadRows
from parasketch.errors import DataError, UsageError
from parasketch.files import lock
from parasketch.generate.paraphrases import Paraphrase, Sketch

SETTINGS = {"n": 2, "sketch": None}


class Cut(Exception):
    """Stands for a killed process."""


class Shouting:
    """Paraphrases by shouting; can be told to die after some texts, or to do something before each batch."""

    def __init__(self, dies_after: int | None = None, before: Callable[[], None] = lambda: None) -> None:
        self.seen: list[str] = []
        self._left, self._before = dies_after, before

    def __call__(self, texts: list[str], /) -> list[list[Paraphrase]]:
        self._before()
        if self._left is not None:
            self._left -= len(texts)
            if self._left < 0:
                raise Cut
        self.seen += texts
        return [[self._paraphrase(text, rank) for rank in (1, 2)] for text in texts]

    def _paraphrase(self, text: str, rank: int) -> Paraphrase:
        accepted = rank == 1 and "bad" not in text
        lost = ("it",) if "lost" in text else ()
        return Paraphrase(
            text=f"{text.upper()} {rank}", sketch=Sketch(rank), score=0.0, difference=1.0, accepted=accepted, lost=lost
        )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    rows = "".join(f'{number},"text, {number}\nmore"\n' for number in range(10))
    path.write_text(f"id,text\n{rows}")
    return path


def run(paraphrase: Shouting, path: Path | str, out: Path | str, **changes: Any) -> BulkReport:
    report = BulkReport()
    arguments = {
        "column": None, "n": 2, "settings": SETTINGS, "resume": False, "on_bad": BadRows(), "batch_size": 4,
        "report": report, **changes,
    }  # fmt: skip
    paraphrase_file(paraphrase, str(path), str(out), **arguments)
    return report


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".tsv", ".txt"])
def test_an_output_cut_anywhere_is_continued_to_the_same_file(tmp_path: Path, source: Path, ending: str) -> None:
    out = tmp_path / f"cut{ending}"
    run(Shouting(), source, out)
    whole, record = out.read_bytes(), record_path(str(out)).read_bytes()
    for size in [*range(0, len(whole), len(whole) // 20), len(whole) - 1, len(whole)]:
        for kept in (len(record), len(record) - 5):  # the record may be cut as well
            out.write_bytes(whole[:size])
            record_path(str(out)).write_bytes(record[:kept])
            paraphrase = Shouting()
            report = run(paraphrase, source, out, resume=True)
            assert out.read_bytes() == whole
            assert report.done + report.skipped == 10
            assert len(paraphrase.seen) == report.done
            assert report.skipped % 4 == 0 or report.skipped == 10


def test_a_killed_run_keeps_its_batches_and_repeats_none(tmp_path: Path, source: Path) -> None:
    out = tmp_path / "out.jsonl"
    with pytest.raises(Cut):
        run(Shouting(dies_after=8), source, out)
    assert len(out.read_text().splitlines()) == 8
    paraphrase = Shouting()
    report = run(paraphrase, source, out, resume=True)
    assert (report.skipped, report.done) == (8, 2)
    assert [json.loads(line)["id"] for line in out.read_text().splitlines()] == [str(i) for i in range(10)]
    assert run(Shouting(dies_after=0), source, out, resume=True).done == 0


def test_rows_are_on_the_disk_before_the_next_batch_is_begun(tmp_path: Path, source: Path) -> None:
    out, sizes = tmp_path / "out.txt", []
    run(Shouting(before=lambda: sizes.append(out.read_bytes().count(b"\n"))), source, out)
    assert sizes == [0, 4, 8]


def test_other_settings_do_not_continue(tmp_path: Path, source: Path) -> None:
    out = tmp_path / "out.jsonl"
    run(Shouting(), source, out)
    with pytest.raises(UsageError, match=r"made with other settings \(n: 2, now 3\)"):
        run(Shouting(), source, out, resume=True, settings={"n": 3, "sketch": None})
    with pytest.raises(UsageError, match=r"made with other settings \(batch_size: 4, now 5\)"):
        run(Shouting(), source, out, resume=True, batch_size=5)
    run(Shouting(), source, out, resume=True, settings={"n": 2, "sketch": None})


def test_sketches_in_settings_are_compared_as_they_are_stored(tmp_path: Path, source: Path) -> None:
    settings = {"sketch": Sketch(1, 2)}
    run(Shouting(), source, tmp_path / "out.jsonl", settings=settings)
    assert run(Shouting(), source, tmp_path / "out.jsonl", settings=settings, resume=True).skipped == 10


@pytest.mark.parametrize("content", [b"precious\n", b"no end of line", b'{"text": "precious"}\n' * 5])
@pytest.mark.parametrize("record", ["none", "nonsense", "fits"])
def test_a_file_of_somebody_else_is_never_touched(tmp_path: Path, source: Path, content: bytes, record: str) -> None:
    out = tmp_path / "out.jsonl"
    if record == "nonsense":
        record_path(str(out)).write_text("hello\n[]\n")
    elif record == "fits":
        run(Shouting(), source, out)
    out.write_bytes(content)
    with pytest.raises(UsageError, match="it is left as it is"):
        run(Shouting(), source, out, resume=True)
    assert out.read_bytes() == content
    with pytest.raises(UsageError, match="exists: continue it with --resume, or remove it first"):
        run(Shouting(), source, out)
    assert out.read_bytes() == content


def test_what_stands_in_the_place_of_the_record_is_not_touched(tmp_path: Path, source: Path) -> None:
    out = tmp_path / "out.jsonl"
    record_path(str(out)).write_text("precious\n")
    with pytest.raises(UsageError, match=r"out\.jsonl\.record\.jsonl is in the way"):
        run(Shouting(), source, out)
    assert record_path(str(out)).read_text() == "precious\n"
    run(Shouting(), source, tmp_path / "other.jsonl")
    (tmp_path / "other.jsonl").unlink()  # with its record left behind
    assert run(Shouting(), source, tmp_path / "other.jsonl").done == 10


def test_what_somebody_added_or_changed_is_not_touched(tmp_path: Path, source: Path) -> None:
    out = tmp_path / "out.jsonl"
    run(Shouting(), source, out)
    whole = out.read_bytes()
    for changed in (whole + b"a note\n", whole.replace(b"TEXT, 5", b"TEXT, X"), whole[:-30] + b"a note\n"):
        out.write_bytes(changed)
        with pytest.raises(UsageError, match="it is left as it is"):
            run(Shouting(), source, out, resume=True)
        assert out.read_bytes() == changed


def test_the_input_is_no_output(tmp_path: Path, source: Path) -> None:
    content = source.read_bytes()
    (tmp_path / "hard.csv").hardlink_to(source)
    (tmp_path / "soft.csv").symlink_to(source)
    for name in ("in.csv", "hard.csv", "soft.csv"):
        for resume in (False, True):
            with pytest.raises(UsageError, match="is the input itself: give another --out"):
                run(Shouting(), source, tmp_path / name, resume=resume)
    assert source.read_bytes() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hard.csv", "in.csv", "soft.csv"]


def test_an_input_that_changed_is_noticed(tmp_path: Path, source: Path) -> None:
    out, content = tmp_path / "out.jsonl", source.read_text()
    with pytest.raises(Cut):
        run(Shouting(dies_after=8), source, out)
    before = out.read_bytes()
    for changed in (content.replace("text, 3", "text, x"), content.replace("3,", "33,", 1), content[:60]):
        source.write_text(changed)
        with pytest.raises(UsageError, match=r"in\.csv has changed: its first 8 rows are not those"):
            run(Shouting(), source, out, resume=True)
        assert out.read_bytes() == before
    source.write_text(content.replace("text, 9", "another"))  # not used yet
    assert run(Shouting(), source, out, resume=True).done == 2


def test_only_one_writes_at_a_time(tmp_path: Path, source: Path) -> None:
    out = tmp_path / "out.jsonl"
    run(Shouting(dies_after=None), source, out)
    content = out.read_bytes()
    with lock(out), pytest.raises(UsageError, match=r"out\.jsonl is being written by another process"):
        run(Shouting(), source, out, resume=True)
    assert out.read_bytes() == content

    def second() -> None:
        with pytest.raises(UsageError, match="is being written by another process"):
            run(Shouting(), source, other)

    other = tmp_path / "other.jsonl"
    assert run(Shouting(before=second), source, other).done == 10
    assert other.read_bytes() == content


def test_a_run_that_fails_at_once_leaves_nothing_to_continue(tmp_path: Path, source: Path) -> None:
    out = tmp_path / "out.csv"
    with pytest.raises(Cut):
        run(Shouting(dies_after=0), source, out)
    assert out.read_bytes() == b""
    run(Shouting(), source, out)


@pytest.mark.parametrize(
    ("name", "content"),
    [("in.csv", "id,text\n"), ("in.txt", ""), ("in.jsonl", "nonsense\n[]\n"), ("in.csv", "id,text\n1\n2\n")],
)
def test_a_file_without_a_row_is_an_error(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match="has not a single row that can be read"):
        run(Shouting(), tmp_path / name, tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


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


def test_strictly_only_what_is_accepted_is_written(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("one\nbad\nlost\n\n")
    report = run(Shouting(), path, tmp_path / "out.jsonl", strict=True)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [[each["text"] for each in row["paraphrases"]] for row in rows] == [["ONE 1"], [], ["LOST 1"], []]
    assert rows[1]["problem"] == "no acceptable paraphrase was found"
    assert (report.refused, report.problems, report.paraphrases, report.not_accepted) == (1, 1, 2, 0)
    loose = run(Shouting(), path, tmp_path / "loose.jsonl")
    assert (loose.refused, loose.paraphrases, loose.not_accepted, loose.with_losses) == (0, 6, 4, 2)


def test_standard_output_takes_json_lines(source: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    run(Shouting(), source, "-")
    assert len(capfdbinary.readouterr().out.splitlines()) == 10
    with pytest.raises(UsageError, match="--resume needs a file"):
        run(Shouting(), source, "-", resume=True)


@pytest.mark.parametrize("name", ["out", "out.xlsx", "out.jsonl.gz"])
def test_an_ending_without_a_format(tmp_path: Path, source: Path, name: str) -> None:
    with pytest.raises(UsageError, match="what format\\?"):
        run(Shouting(), source, tmp_path / name)


def test_an_output_that_cannot_be_written(source: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be written"):
        run(Shouting(), source, source / "out.jsonl")
    (tmp_path / "directory.jsonl").mkdir()
    with pytest.raises(DataError, match="cannot be written: Is a directory"):
        run(Shouting(), source, tmp_path / "directory.jsonl")


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    def peak(rows: int) -> int:
        path, out = tmp_path / f"{rows}.txt", tmp_path / f"{rows}.out.txt"
        with path.open("w") as stream:
            stream.writelines(_lines(rows))
        paraphrase = Shouting()
        paraphrase.seen = _Forgetful()
        tracemalloc.start()
        run(paraphrase, path, out, batch_size=64)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert os.path.getsize(out) > rows * 100  # noqa: PTH202
        return size

    peak(100)  # whatever is made once is made here
    assert peak(6000) < 1.5 * peak(600)


class _Forgetful(list[str]):
    def __iadd__(self, other: Any) -> "_Forgetful":
        return self


def _lines(rows: int) -> Iterator[str]:
    return (f"a rather long text with the number {number} {'x' * 60}\n" for number in range(rows))


ECHO = """
import sys
from parasketch.bulk.work import BulkReport, paraphrase_file
from parasketch.generate.paraphrases import Paraphrase, Sketch

def echo(texts):
    return [[Paraphrase(text=text, sketch=Sketch(), score=0.0, difference=0.0)] for text in texts]

paraphrase_file(
    echo, "-", "-", column=None, n=1, settings={}, resume=False, on_bad=print, report=BulkReport(), batch_size=256
)
"""


def test_a_line_that_arrives_is_answered_at_once() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for text in ("one", "two\nthree", "four"):
            process.stdin.write(f"{text}\n")
            for line in text.split("\n"):  # would wait for ever if a batch had to be full
                assert json.loads(process.stdout.readline())["text"] == line
        process.stdin.write("no end of line")
        process.stdin.close()
        assert json.loads(process.stdout.readline())["text"] == "no end of line"
    assert process.returncode == 0


SLOW = """
import sys, time
from parasketch.bulk.work import BulkReport, paraphrase_file
from parasketch.generate.paraphrases import Paraphrase, Sketch

def slow(texts):
    time.sleep(0.01)
    return [[Paraphrase(text=text * 50, sketch=Sketch(), score=0.0, difference=0.0)] for text in texts]

paraphrase_file(
    slow, sys.argv[1], sys.argv[2], column=None, n=1, settings={}, resume=True, on_bad=print, report=BulkReport(),
    batch_size=3,
)
"""


def test_a_process_killed_again_and_again_writes_the_same_file(tmp_path: Path) -> None:
    source, out, whole = tmp_path / "in.txt", tmp_path / "out.jsonl", tmp_path / "whole.jsonl"
    source.write_text("".join(f"text {number}\n" for number in range(100)))
    subprocess.run([sys.executable, "-c", SLOW, str(source), str(whole)], check=True)
    sizes = []
    for part in (0.1, 0.35, 0.6, 0.85):
        process = subprocess.Popen([sys.executable, "-c", SLOW, str(source), str(out)])
        while process.poll() is None and (not out.exists() or out.stat().st_size < part * whole.stat().st_size):
            time.sleep(0.001)
        process.kill()  # at once: without a word, and without a lock left behind
        process.wait()
        sizes.append(out.stat().st_size)
    assert sizes == sorted(set(sizes))
    subprocess.run([sys.executable, "-c", SLOW, str(source), str(out)], check=True)
    assert out.read_bytes() == whole.read_bytes()
