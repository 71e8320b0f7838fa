"""Splits: nothing leaks, nothing is lost, sizes are kept as far as components allow, seeds decide."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parasketch.data.clusters import group_clusters
from parasketch.data.corpora import detect_format, read_clusters, read_eval
from parasketch.data.records import Cluster, EvalItem
from parasketch.data.splits import Splits, parse_size, require_new_directory, split_clusters, write_splits
from parasketch.errors import UsageError
from parasketch.text.normalise import normalise

sentence = st.builds(
    "{}{}".format, st.integers(0, 60).map(lambda number: f"w{number}"), st.sampled_from(["", "?", " !", "  "])
) | st.integers(0, 60).map(lambda number: f"W{number}")
clusters = st.lists(
    st.lists(sentence, min_size=1, max_size=3).map(lambda members: Cluster(tuple(members))), max_size=30
)
share = st.floats(0, 0.5)


def keys(rows: list[Cluster] | list[EvalItem]) -> set[str]:
    sentences = (
        sentence
        for row in rows
        for sentence in (row.sentences if isinstance(row, Cluster) else (row.input, *row.references))
    )
    return {normalise(sentence) for sentence in sentences}


def separate(count: int) -> list[Cluster]:
    return [Cluster((f"{number} first", f"{number} second")) for number in range(count)]


@settings(deadline=None, max_examples=200)
@given(rows=clusters, dev=share, test=share, seed=st.integers(0, 3))
def test_properties_of_every_split(rows: list[Cluster], dev: float, test: float, seed: int) -> None:
    splits = split_clusters(rows, dev=dev, test=test, seed=seed)
    train_keys, dev_keys, test_keys = keys(splits.train), keys(splits.dev), keys(splits.test)
    assert not train_keys & dev_keys
    assert not train_keys & test_keys
    assert not dev_keys & test_keys
    assert train_keys | dev_keys | test_keys == keys(rows)
    assert len(splits.train) + len(splits.dev) + len(splits.test) == len(rows)
    assert splits == split_clusters(rows, dev=dev, test=test, seed=seed)
    # Sizes: never more than asked for, and what falls short could not have been filled from the rest.
    for items, wanted, name in ((splits.dev, dev, "dev"), (splits.test, test, "test")):
        room = round(wanted * len(rows)) - len(items)
        assert splits.shortfall.get(name, 0) == room >= 0
        for component in group_clusters(splits.train):
            usable = all(len(splits.train[member].sentences) > 1 for member in component)
            assert not usable or len(component) > room
    for item in (*splits.dev, *splits.test):
        assert item.references
        assert len(keys([item])) == 1 + len(item.references)


def test_two_halves_of_an_odd_number() -> None:
    splits = split_clusters(separate(3), dev=0.5, test=0.5, seed=1)
    assert (len(splits.train), len(splits.dev), len(splits.test)) == (0, 1, 2)
    assert splits.shortfall == {"dev": 1}


def test_sizes_and_shares() -> None:
    splits = split_clusters(separate(100), dev=7, test=0.2, seed=1)
    assert (len(splits.train), len(splits.dev), len(splits.test)) == (73, 7, 20)
    assert splits.shortfall == {}


def test_another_seed_is_another_split_in_the_order_of_the_input() -> None:
    first, second = (split_clusters(separate(100), dev=10, test=10, seed=seed) for seed in (1, 2))
    assert first.test != second.test
    for splits in (first, second):
        numbers = [int(item.input.split()[0]) for item in splits.test]
        assert numbers == sorted(numbers)


def test_clusters_that_share_a_sentence_stay_together_and_stay_clusters() -> None:
    linked = [Cluster((f"{number} own", "A common caption", f"{number} other")) for number in range(5)]
    splits = split_clusters([*linked, *separate(5)], dev=0, test=5, seed=0)
    assert splits.train == linked or [item.input for item in splits.test] == [row.sentences[0] for row in linked]
    too_large = split_clusters([*linked, *separate(2)], dev=0, test=4, seed=0)
    assert len(too_large.test) == 2
    assert too_large.shortfall == {"test": 2}


def test_everything_may_be_held_out() -> None:
    splits = split_clusters(separate(10), dev=0.5, test=0.5, seed=0)
    assert (len(splits.train), len(splits.dev), len(splits.test)) == (0, 5, 5)


def test_more_than_there_is_is_refused() -> None:
    with pytest.raises(UsageError, match=r"dev \(6\) and test \(5\) are more than the 10 clusters"):
        split_clusters(separate(10), dev=6, test=5, seed=0)


@pytest.mark.parametrize(
    ("text", "size"), [("2000", 2000), ("0", 0), ("0.1", 0.1), ("1.0", 1.0), (".5", 0.5), ("1", 1)]
)
def test_sizes_as_text(text: str, size: float) -> None:
    parsed = parse_size(text)
    assert parsed == size
    assert type(parsed) is type(size)


@pytest.mark.parametrize("text", ["", "many", "1.5", "-3", "-0.1", "nan", "inf", "10%", "²"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no size: give a whole number such as 2000, or a share"):
        parse_size(text)


def test_written_splits_are_read_back(tmp_path: Path) -> None:
    splits = split_clusters(separate(20), dev=3, test=4, seed=5)
    write_splits(tmp_path / "out", splits)
    assert list(read_clusters(tmp_path / "out" / "train.jsonl")) == splits.train
    assert list(read_eval(tmp_path / "out" / "dev.jsonl")) == splits.dev
    assert list(read_eval(tmp_path / "out" / "test.jsonl")) == splits.test
    assert detect_format(tmp_path / "out" / "train.jsonl") == "clusters"


def test_an_empty_part_has_no_file(tmp_path: Path) -> None:
    write_splits(tmp_path / "out", Splits(train=separate(1), dev=[], test=[], shortfall={}))
    assert [entry.name for entry in (tmp_path / "out").iterdir()] == ["train.jsonl"]


def test_a_directory_with_something_in_it_is_refused(tmp_path: Path) -> None:
    require_new_directory(tmp_path)
    (tmp_path / "old").touch()
    with pytest.raises(UsageError, match="exists and is not empty"):
        write_splits(tmp_path, Splits(train=separate(1), dev=[], test=[], shortfall={}))
    assert [entry.name for entry in tmp_path.iterdir()] == ["old"]
