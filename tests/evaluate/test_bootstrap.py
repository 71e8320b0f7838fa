"""Bootstrap against cases small enough to enumerate every resample by hand."""

import numpy as np
import pytest

from parasketch.errors import DataError, UsageError
from parasketch.evaluate import bootstrap
from parasketch.evaluate.bootstrap import intervals, paired_bootstrap, resampled_sums
from parasketch.evaluate.metrics import BleuCounts, bleu_measures, count
from parasketch.evaluate.statistics import share

GOOD, BAD = "one two three four five", "six seven eight nine ten"


def counts(outputs: list[str]) -> BleuCounts:
    """Outputs judged by the reference GOOD, with an input that shares no word with any of them."""
    return count(["x y z v w"] * len(outputs), [[GOOD]] * len(outputs), [[output] for output in outputs])


def drawn(statistics: np.ndarray, resamples: int, seed: int = 0) -> np.ndarray:
    return np.concatenate(list(resampled_sums(statistics, resamples=resamples, seed=seed)))


def test_two_sentences_are_drawn_with_the_binomial_frequencies() -> None:
    sums = drawn(np.array([[1.0, 1.0], [0.0, 1.0]]), 20_000)
    assert (sums[:, 1] == 2).all()  # always as many draws as sentences
    shares = [float((sums[:, 0] == value).mean()) for value in (0, 1, 2)]
    assert shares == pytest.approx([0.25, 0.5, 0.25], abs=0.015)


def test_draws_depend_on_the_seed_and_not_on_the_size_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    statistics = np.arange(30.0).reshape(10, 3)
    whole = drawn(statistics, 70, seed=5)
    monkeypatch.setattr(bootstrap, "_BLOCK_ELEMENTS", 110)
    assert np.array_equal(drawn(statistics, 70, seed=5), whole)
    assert not np.array_equal(drawn(statistics, 70, seed=6), whole)


def test_interval_of_a_share_is_that_of_the_binomial() -> None:
    # 100 sentences, half of them hits: the share is binomial with standard deviation 5 %; 1.96 of them are 9.8 %.
    (found,) = intervals([share("hits", [1.0, 0.0] * 50, [1.0] * 100, "x")], resamples=10_000, seed=1)
    assert (found.low, found.high) == pytest.approx((40.0, 60.0), abs=1.01)
    assert (found.level, found.resamples, found.seed) == (0.95, 10_000, 1)


def test_one_sentence_leaves_no_doubt() -> None:
    measures = bleu_measures(counts([GOOD]))
    for measure, found in zip(measures, intervals(measures, resamples=50), strict=True):
        assert found.low == found.high == pytest.approx(measure.value())


def test_sentences_without_anything_to_keep_do_not_spoil_the_interval() -> None:
    (found,) = intervals([share("numbers", [1.0, 0.0], [1.0, 0.0], "x")], resamples=200)
    assert (found.low, found.high) == (100.0, 100.0)


def test_a_system_that_is_better_everywhere_wins_every_resample() -> None:
    test = paired_bootstrap(counts([GOOD] * 4), counts([BAD] * 4), resamples=500)
    assert test.p_value == 0.0
    assert test.difference == pytest.approx(80.0)
    assert paired_bootstrap(counts([BAD] * 4), counts([GOOD] * 4), resamples=500).p_value == 1.0


def test_equal_systems_are_not_better_than_each_other() -> None:
    test = paired_bootstrap(counts([GOOD, BAD]), counts([GOOD, BAD]), resamples=200)
    assert (test.difference, test.p_value, test.interval.low, test.interval.high) == (0.0, 1.0, 0.0, 0.0)


def test_p_value_of_an_enumerated_case() -> None:
    # A is right on the first of three sentences, B on none but half right on the others. Drawing the first sentence
    # never (probability 8/27) makes B better; else A's whole 4-grams outweigh B's short matches.
    ours, theirs = counts([GOOD, BAD, BAD]), counts([BAD, "one x two y z", "one x two y z"])
    test = paired_bootstrap(ours, theirs, resamples=20_000, seed=3)
    assert test.difference > 0
    assert test.p_value == pytest.approx(8 / 27, abs=0.01)


def test_alpha_weighs_the_self_bleu() -> None:
    copy = count([GOOD], [[BAD]], [[GOOD]])
    honest = count([GOOD], [[BAD]], [["a b c d e"]])
    assert paired_bootstrap(honest, copy, alpha=0.7, resamples=10).difference == pytest.approx(30.0)


def test_bad_requests_are_explained() -> None:
    with pytest.raises(DataError, match="the same items, not 1 and 2"):
        paired_bootstrap(counts([GOOD]), counts([GOOD, BAD]))
    with pytest.raises(UsageError, match="must be positive, not 0"):
        intervals(bleu_measures(counts([GOOD])), resamples=0)
