import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parasketch.generate.wording import count_repeats, form_of, likeness, overlap_matrix


def overlap(one: str, other: str) -> float:
    return float(overlap_matrix([one, other])[0, 1])


def test_by_hand() -> None:
    # words: a b c d / a b x d: unigrams 3 of 4, bigrams 1 of 3 (a b), trigrams 0 of 2, 4-grams 0 of 1
    assert overlap("a b c d", "a b x d") == pytest.approx((3 / 4 + 1 / 3 + 0 + 0) / 4)
    # counts are clipped: "a" matches once; 2 * 1 / (3 + 1), and no bigram of the second exists
    assert overlap("a a a", "a") == pytest.approx((2 / 4 + 0 + 0) / 3)


def test_case_and_spacing_do_not_matter_but_order_does() -> None:
    assert overlap("How heavy is it?", "how  HEAVY is it ?") == 1
    assert 0 < overlap("how heavy is it", "it is heavy how") < 1
    assert overlap("how heavy", "what weight") == 0


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text(alphabet="ab c?", max_size=12), min_size=1, max_size=5))
def test_a_symmetric_share(texts: list[str]) -> None:
    matrix = overlap_matrix(texts)
    assert np.allclose(matrix, matrix.T)
    assert ((matrix >= 0) & (matrix <= 1 + 1e-9)).all()
    assert (np.diag(matrix) == 1).all()


def test_the_form_is_what_is_left_without_content_words() -> None:
    assert form_of("A man is riding 2 Horses.") == ["a", "_", "is", "_", "_", "_", "."]


def test_likeness_by_hand() -> None:
    exemplar = "A man is riding a horse"  # a _ is _ a _
    texts = ["a dog is eating a bone", "the dog is eating a bone", "a dog is eating a big bone", "dogs"]
    expected = [1, 1 - 1 / 6, 1 - 3 / 7, 1 - (5 * 3) / 6]  # the same; a word changed; one more; five less
    assert likeness(exemplar, texts).tolist() == expected


def test_the_length_counts_more_than_the_words() -> None:
    same_length, same_words = likeness("how do I get there", ["why did I get there", "how do I get"])
    assert same_length > same_words


def test_nothing_is_like_nothing() -> None:
    assert likeness("", ["", "a b"]).tolist() == [1, -2]
    assert likeness("a", []).shape == (0,)


def test_words_too_many_are_counted() -> None:
    source = "what is the best phone, and which phone is cheap?"
    assert count_repeats(source, "which phone is the best phone that is cheap?") == 0
    assert count_repeats(source, "which phone, best phone or cheap phone?") == 1
    assert count_repeats(source, "what is the the best phone and the cheap one?") == 1
    assert count_repeats("is it true that that is so?", "is that that true?") == 0
    assert count_repeats("a dog", "a red vase with a red red vase") == 3
    assert count_repeats("use kik", "use kikikik on the 4thththth") == 2 + 3
    assert count_repeats("who is at www.aaa.org", "what is www.aaa.org") == 0
