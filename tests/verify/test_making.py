import random
from pathlib import Path

import numpy as np
import pytest

from parasketch.errors import DataError
from parasketch.text.crf import CrfTagger
from parasketch.verify.bank import Bank, add_neighbours, gather, synonyms_in
from parasketch.verify.figures import equal_error_threshold, fit_temperature, judge
from parasketch.verify.harmless import harmless
from parasketch.verify.making import Corpus, balance, make_pairs
from parasketch.verify.pairs import MadePair, choose, read_clusters, read_pairs, word_overlap, write_pairs

TEXTS = [
    "Tom gave Mary a red book on Monday.", "On Monday, Tom gave a red book to Mary.",
    "She does not like hot soup.", "She doesn't like soup that is hot.",
    "There are 12 cats in the garden.", "The garden has 12 cats in it.",
    "He left in 2010.", "He left in 2011.",
]  # fmt: skip


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    vectors = np.repeat(np.eye(4, dtype=np.float32) * 0.8 + 0.3, 2, axis=0)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Corpus("x", TEXTS, CrfTagger().tag(TEXTS), vectors, clean=0.9, distinct=0.95)


@pytest.fixture(scope="module")
def bank(corpus: Corpus) -> Bank:
    return gather(corpus.tags, corpus.texts)


def test_wrong_pairs_are_not_the_paraphrases_themselves(corpus: Corpus, bank: Bank) -> None:
    pairs = make_pairs(corpus, bank, seed=1, mistakes_each=9)
    assert {pair.same for pair in pairs} == {True, False}
    paraphrases = {frozenset(TEXTS[place : place + 2]) for place in range(0, 6, 2)}
    assert not any(frozenset((pair.a, pair.b)) in paraphrases for pair in pairs if not pair.same)
    assert make_pairs(corpus, bank, seed=1) == make_pairs(corpus, bank, seed=1)


def test_clusters_with_other_numbers_are_no_right_pairs(corpus: Corpus, bank: Bank) -> None:
    pairs = [pair for pair in make_pairs(corpus, bank, seed=1) if pair.kind == "cluster"]
    assert {frozenset((pair.a, pair.b)) for pair in pairs} == {frozenset(TEXTS[i : i + 2]) for i in (0, 2, 4)}


def test_what_is_changed_alike_has_the_same_new_word(corpus: Corpus, bank: Bank) -> None:
    made = [pair for seed in range(20) for pair in make_pairs(corpus, bank, seed) if pair.kind == "changed_alike"]
    known = {word.strip(".,").lower() for text in TEXTS for word in text.split()}
    assert made
    for pair in made:
        new = [{word.strip(".,").lower() for word in text.split()} - known for text in (pair.a, pair.b)]
        assert new[0] == new[1]


def test_balance_holds_at_every_degree_of_overlap() -> None:
    same = [MadePair("a b c d", "a b c d", True, "x", "k")] * 300
    different = [MadePair("a b c d", "a b c d", False, "x", "k")] * 100 + [MadePair("a", "z", False, "x", "k")] * 400
    kept = balance([*same, *different], seed=1)
    assert sum(pair.same for pair in kept) == 160
    assert sum(pair.a == "a" for pair in kept) == 20


def test_harmless_changes_leave_words_that_matter() -> None:
    results = {harmless("I do not need two tickets.", random.Random(seed)) for seed in range(40)}
    assert {"I don't need two tickets.", "I do not need 2 tickets."} <= results


def test_synonyms_are_no_neighbours() -> None:
    assert ("begin", "start") in synonyms_in([["we start now", "we begin now"]])
    texts = ["I start a car."] * 3 + ["I begin a trip."] * 3 + ["I break a cup."] * 3
    vectors = {
        word: np.asarray([1.0, number / 10], dtype=np.float32) for number, word in enumerate(["car", "trip", "cup"])
    }
    bank, tags = Bank(), CrfTagger().tag(texts)
    add_neighbours(bank, tags, vectors, {("car", "trip")})
    assert all("trip" not in words for (word, _), words in bank.neighbours.items() if word == "car")


def test_pairs_survive_a_file(tmp_path: Path) -> None:
    pairs = [MadePair("a", "b", True, "x", "k"), MadePair("ä", "“b”", False, "y", "people")]
    write_pairs(tmp_path / "pairs.jsonl", pairs)
    assert list(read_pairs(tmp_path / "pairs.jsonl")) == pairs


def test_a_bad_row_is_named(tmp_path: Path) -> None:
    (tmp_path / "pairs.jsonl").write_text('{"a": "x", "b": "y", "same": 1, "source": "s"}\n{"a": "x"}\n')
    with pytest.raises(DataError, match=r"pairs.jsonl:2: .*expected a, b, same and source"):
        list(read_pairs(tmp_path / "pairs.jsonl"))


def test_clusters_of_both_layouts(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text('{"sentences": ["a", "b"]}\n{"input": "c", "references": ["d", "e"]}\n')
    assert read_clusters(tmp_path / "c.jsonl") == [["a", "b"], ["c", "d", "e"]]


def test_choosing_keeps_to_its_limits() -> None:
    pairs = [MadePair(str(n), "b", n % 2 == 0, "x", "k") for n in range(20)]
    chosen = choose(pairs, {("x", True): 3, ("x", False): 99, ("y", True): 5}, seed=1)
    assert [sum(pair.same is label for pair in chosen) for label in (True, False)] == [3, 10]


def test_overlap_counts_words_not_their_order() -> None:
    assert word_overlap("The cat sat.", "sat the cat.") == 1
    assert word_overlap("a b", "c d") == 0
    assert word_overlap("a b c", "a") == 0.5


def test_figures_of_a_small_table() -> None:
    figures = judge([0.9, 0.6, 0.4, 0.2], [True, False, True, False], 0.5)
    assert (figures.auc, figures.precision, figures.accepted, figures.rejected) == (0.75, 0.5, 0.5, 0.5)
    only_right = judge([0.9, 0.1], [True, True], 0.5)
    assert (only_right.auc, only_right.accepted, only_right.rejected) == (None, 0.5, None)


def test_temperature_undoes_overconfidence() -> None:
    random_numbers = np.random.default_rng(1)
    logits = random_numbers.normal(size=20_000)
    same = random_numbers.random(20_000) < 1 / (1 + np.exp(-logits))
    assert fit_temperature(3 * logits, [bool(value) for value in same]) == pytest.approx(3, rel=0.1)


def test_at_the_threshold_both_errors_are_as_frequent() -> None:
    right, wrong = [0.2, 0.5, 0.6, 0.9], [0.1, 0.2, 0.3, 0.7]
    threshold = equal_error_threshold([*right, *wrong], [True] * 4 + [False] * 4)
    assert sum(score < threshold for score in right) == sum(score >= threshold for score in wrong) == 1
