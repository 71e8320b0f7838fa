"""`parasketch data ...` as a user runs it: files, exit codes, results on stdout and messages on stderr."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from parasketch.cli import main
from parasketch.data.corpora import Cluster, EvalItem, read_clusters, write_clusters, write_eval

CORPORA = Path(__file__).parent.parent / "fixtures" / "corpora"

Run = Callable[..., int]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    def call(*arguments: object) -> int:
        monkeypatch.setattr(sys, "argv", ["parasketch", "data", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        return int(left.value.code or 0)

    return call


@pytest.fixture
def leaky(tmp_path: Path) -> tuple[Path, Path]:
    train, test = tmp_path / "train.jsonl", tmp_path / "test.jsonl"
    write_clusters(train, [Cluster((f"Question {n}?", f"Another {n}?")) for n in range(10)])
    write_eval(test, [EvalItem(f"question {n}", (f"Reference {n}.",)) for n in (1, 20, 30)])
    return train, test


class TestConvert:
    def test_pairs_to_clusters(self, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out = tmp_path / "out.jsonl.gz"
        assert run("convert", CORPORA / "quora.tsv", "--out", out) == 0
        assert len(list(read_clusters(out))) == 3
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "3 clusters with 7 sentences" in captured.err

    def test_to_standard_output_as_items(self, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("convert", CORPORA / "plain.txt", "--to", "eval") == 0
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert rows == [
            {"input": "How tall is Mont Blanc?", "references": ["Mont Blanc height?"]},
            {"input": "Can cats swim?", "references": ["Are cats able to swim?"]},
        ]

    def test_named_columns(self, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
        columns = ("--text-columns", "before", "after", "--label-column", "same")
        assert run("convert", CORPORA / "pairs.csv", *columns) == 0
        assert len(capsys.readouterr().out.splitlines()) == 2

    def test_merging_is_an_option(self, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        write_clusters(tmp_path / "a.jsonl", [Cluster(("a", "b")), Cluster(("B?", "c"))])
        assert run("convert", tmp_path / "a.jsonl") == 0
        assert len(capsys.readouterr().out.splitlines()) == 2
        assert run("convert", tmp_path / "a.jsonl", "--merge") == 0
        assert json.loads(capsys.readouterr().out) == {"sentences": ["a", "b", "c"]}

    def test_a_bad_row_stops_it_and_leaves_no_output(
        self, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        source, out = tmp_path / "bad.jsonl", tmp_path / "out.jsonl"
        source.write_text('{"sentences": ["a", "b"]}\n{"sentences": "c"}\n')
        assert run("convert", source, "--out", out) == 1
        message = f"error: {source}:2: a string where the sentences should be (expected a list of strings)\n"
        assert capsys.readouterr().err == message
        assert [entry.name for entry in tmp_path.iterdir()] == ["bad.jsonl"]

    def test_bad_rows_are_counted_and_the_first_ten_listed(
        self, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        source, out = tmp_path / "bad.jsonl", tmp_path / "out.jsonl"
        source.write_text('{"sentences": ["a", "b"]}\n' + "{}\n" * 12)
        assert run("convert", source, "--out", out, "--skip-bad") == 0
        assert list(read_clusters(out)) == [Cluster(("a", "b"))]
        error = capsys.readouterr().err
        assert "12 bad rows were left out" in error
        assert f"{source}:11: not a cluster" in error
        assert f"{source}:12:" not in error

    def test_a_wrong_format_name_is_wrong_usage(self, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("convert", CORPORA / "plain.txt", "--format", "xml") == 2
        assert "unknown format 'xml'" in capsys.readouterr().err


class TestSplit:
    def test_writes_three_files_that_do_not_leak(
        self, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        source, out = tmp_path / "all.jsonl", tmp_path / "split"
        write_clusters(source, [Cluster((f"sentence {n // 2}", f"other {n}")) for n in range(40)])
        assert run("split", source, "--dev", "4", "--test", "0.2", "--out", out) == 0
        assert "train 28, dev 4, test 8 clusters" in capsys.readouterr().err
        assert run("check", *sorted(out.iterdir())) == 0
        assert "no leak" in capsys.readouterr().out

    def test_a_shortfall_is_told(self, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        source = tmp_path / "all.jsonl"
        write_clusters(source, [Cluster(("common", f"other {n}")) for n in range(10)])
        assert run("split", source, "--dev", "0", "--test", "4", "--out", tmp_path / "split") == 0
        assert "test has 4 clusters fewer than asked for" in capsys.readouterr().err
        assert [entry.name for entry in (tmp_path / "split").iterdir()] == ["train.jsonl"]

    def test_an_old_split_is_not_overwritten(
        self, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "old").write_text("precious")
        assert run("split", CORPORA / "plain.txt", "--out", tmp_path) == 2
        assert "exists and is not empty" in capsys.readouterr().err
        assert (tmp_path / "old").read_text() == "precious"


class TestCheck:
    def test_a_leak_is_seen_at_a_glance(
        self, run: Run, leaky: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run("check", *leaky) == 1
        lines = capsys.readouterr().out.splitlines()
        assert "LEAK 33.3 % of test inputs occur in train (1 of 3)" in lines
        assert "     such as: question 1" in lines

    def test_json(self, run: Run, leaky: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
        assert run("check", *leaky, "--json") == 1
        report = json.loads(capsys.readouterr().out)
        assert [file["rows"] for file in report["files"]] == [10, 3]
        assert report["leaks"] == [
            {
                "seen": "train",
                "held_out": "test",
                "inputs": {"count": 1, "total": 3},
                "sentences": {"count": 1, "total": 6},
                "examples": ["question 1"],
            }
        ]

    def test_one_clean_file(self, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("check", CORPORA / "clusters.jsonl") == 0
        assert "LEAK" not in capsys.readouterr().out

    def test_a_missing_file(self, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("check", tmp_path / "none") == 1
        assert capsys.readouterr().err == f"error: {tmp_path / 'none'}: cannot be read: No such file or directory\n"


@pytest.mark.parametrize("command", ["convert", "split", "check"])
def test_help_teaches_with_an_example(run: Run, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command, "--help") == 0
    assert f"Example: parasketch data {command}" in capsys.readouterr().out
