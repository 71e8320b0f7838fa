import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parasketch.generate.overlap import overlap_matrix


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
