"""Corpus BLEU from per-sentence counts is sacreBLEU's, to the last digit, for any number of references."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from parasketch.evaluate.statistics import bleu_from_sums, bleu_signature, bleu_statistics, ratio, share

words = st.sampled_from(["a", "A", "cat", "sat", "on", "the", "mat.", "3.5", "don't", "well-known", "?"])
sentences = st.lists(words, min_size=1, max_size=9).map(" ".join)
items = st.tuples(st.one_of(st.just(""), sentences), st.lists(sentences, min_size=1, max_size=4))
corpora = st.lists(items, min_size=1, max_size=6)


def padded(references: list[list[str]], filler: object) -> list[list[str | None]]:
    """Reference lists turned into sacreBLEU's streams; `filler` is None or "first"."""
    longest = max(map(len, references))
    rows = [row + [row[0] if filler == "first" else None] * (longest - len(row)) for row in references]
    return [list(stream) for stream in zip(*rows, strict=True)]


def from_counts(outputs: list[str], references: list[list[str]]) -> float:
    return float(bleu_from_sums(bleu_statistics(outputs, references).sum(axis=0).astype(float)))


@settings(deadline=None, max_examples=100)
@given(corpora)
def test_corpus_bleu_is_that_of_sacrebleu(corpus: list[tuple[str, list[str]]]) -> None:
    outputs, references = [output for output, _ in corpus], [list(refs) for _, refs in corpus]
    for filler in (None, "first"):  # the paper's code repeats the first reference; that changes nothing
        expected = BLEU(lowercase=True).corpus_score(outputs, padded(references, filler)).score
        assert from_counts(outputs, references) == pytest.approx(expected, abs=1e-9)


@settings(deadline=None, max_examples=40)
@given(corpora)
def test_signature_is_that_of_sacrebleu(corpus: list[tuple[str, list[str]]]) -> None:
    references = [list(refs) for _, refs in corpus]
    metric = BLEU(lowercase=True)
    metric.corpus_score([output for output, _ in corpus], padded(references, None))
    assert bleu_signature([len(refs) for refs in references]) == str(metric.get_signature())


def test_hand_counted_sentence() -> None:
    # Output: the cat sat on a mat; references of 7 and 5 words: equally close to 6, so the shorter one counts.
    counts = bleu_statistics(["The cat sat on a mat"], [["the cat sat on the red mat", "a cat sat down there"]])
    assert counts.tolist() == [[6, 5, 6, 3, 2, 1, 6, 5, 4, 3]]
    expected = 100 * math.exp((math.log(6 / 6) + math.log(3 / 5) + math.log(2 / 4) + math.log(1 / 3)) / 4)
    assert from_counts(["The cat sat on a mat"], [["the cat sat on the red mat", "a cat sat down there"]]) == (
        pytest.approx(expected, abs=1e-12)
    )


def test_orders_without_a_match_are_smoothed_one_after_the_other() -> None:
    # 2 of 4 words match, nothing longer does: precisions 2/4, 1/(2*3), 1/(4*2), 1/(8*1); no brevity penalty.
    expected = 100 * (2 / 4 * 1 / 6 * 1 / 8 * 1 / 8) ** 0.25
    assert from_counts(["a x b y"], [["a b"]]) == pytest.approx(expected, abs=1e-9)


def test_many_sums_at_once_are_scored_like_one_at_a_time() -> None:
    sums = np.array(
        [[6, 7, 5, 3, 2, 1, 6, 5, 4, 3], [0, 4, 0, 0, 0, 0, 0, 0, 0, 0], [3, 3, 3, 2, 1, 0, 3, 2, 1, 0]], float
    )
    assert bleu_from_sums(sums).tolist() == [float(bleu_from_sums(row)) for row in sums]
    assert bleu_from_sums(sums)[1:].tolist() == [0.0, 0.0]  # nothing written; nothing long enough for a 4-gram


def test_shares_and_ratios_are_of_sums_and_not_means_of_ratios() -> None:
    assert share("kept", [1, 0], [1, 3], "x").value() == 25.0
    assert ratio("length", [1, 0], [1, 3], "x").value() == 0.25
