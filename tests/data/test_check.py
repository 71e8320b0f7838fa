"""What `check` counts: lengths, repeats, and leaks in the direction that matters."""

from pathlib import Path

import pytest

from parasketch.data.check import CheckReport, Leak, Share, WordCounts, check_corpora
from parasketch.data.corpora import Cluster, EvalItem, open_corpus, write_clusters, write_eval


@pytest.fixture
def train(tmp_path: Path) -> Path:
    rows = [("One two three", "one two", "ONE two ?"), ("four", "five six seven eight"), ("Four!", "nine")]
    write_clusters(tmp_path / "train.jsonl.gz", [Cluster(row) for row in rows])
    return tmp_path / "train.jsonl.gz"


@pytest.fixture
def held_out(tmp_path: Path) -> Path:
    items = [
        EvalItem("Nine?", ("a new one",)),
        EvalItem("another", ("one  TWO.",)),
        EvalItem("fresh", ("and new",)),
        EvalItem("nine", ("brand new",)),
    ]
    write_eval(tmp_path / "test.jsonl", items)
    return tmp_path / "test.jsonl"


def check(*paths: Path) -> CheckReport:
    return check_corpora([open_corpus(path) for path in paths])


def test_counts_of_one_file(train: Path) -> None:
    report = check(train)
    assert report.leaks == ()
    (file,) = report.files
    assert (file.name, file.path, file.format) == ("train", str(train), "clusters")
    assert (file.rows, file.sentences) == (3, 7)
    assert file.repeats_in_row == 1  # "ONE two ?" repeats "one two"
    assert file.repeats_between_rows == 1  # "Four!" repeats "four"
    # Words: 3, 2, 3 ("?" stands apart), 1, 4, 1, 1.
    assert file.words == WordCounts(mean=2.14, p5=1, median=2, p95=4, longest=4)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_leak_is_counted_from_training_to_test_in_any_order(train: Path, held_out: Path, reverse: bool) -> None:
    report = check(*(held_out, train) if reverse else (train, held_out))
    assert report.leaks == (
        Leak(
            seen="train",
            held_out="test",
            inputs=Share(2, 4),  # both items count, though they are the same sentence
            sentences=Share(2, 7),  # of different sentences
            examples=("Nine?", "one TWO."),
        ),
    )
    assert report.leaks[0].summary() == (
        "50.0 % of test inputs occur in train (2 of 4)",
        "28.6 % of test sentences occur in train (2 of 7)",
    )


def test_references_alone_are_a_leak_too(tmp_path: Path, train: Path) -> None:
    write_eval(tmp_path / "dev.jsonl", [EvalItem("fresh", ("NINE",))])
    (leak,) = check(train, tmp_path / "dev.jsonl").leaks
    assert leak.summary() == ("50.0 % of dev sentences occur in train (1 of 2)",)
    assert leak.inputs == Share(0, 1)


def test_between_cluster_files_only_sentences_are_counted(tmp_path: Path, train: Path) -> None:
    write_clusters(tmp_path / "more.jsonl", [Cluster(("nine", "ten"))])
    (leak,) = check(train, tmp_path / "more.jsonl").leaks
    assert leak.inputs is None
    assert leak.summary() == ("50.0 % of more sentences occur in train (1 of 2)",)


def test_clean_files_do_not_leak(tmp_path: Path, train: Path) -> None:
    write_eval(tmp_path / "dev.jsonl", [EvalItem("fresh", ("and new",))])
    assert check(train, tmp_path / "dev.jsonl").leaks == ()


def test_a_small_leak_is_not_rounded_to_nothing() -> None:
    assert Share(1, 10_000).percent == "less than 0.1 %"
    assert Share(1642, 5255).percent == "31.2 %"
    assert Share(0, 10).percent == "0.0 %"


def test_files_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    paths = [tmp_path / name / "train.jsonl" for name in ("a", "b")]
    for path in paths:
        write_clusters(path, [Cluster((f"in {path.parent.name}", "same"))])
    report = check(*paths)
    assert [file.name for file in report.files] == [str(path) for path in paths]
    assert report.leaks[0].seen == str(paths[0])
