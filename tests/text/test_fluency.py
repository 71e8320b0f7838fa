"""Order is told from disorder, and nothing else is judged."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parasketch.samples import SAMPLES, sample_clusters
from parasketch.text.fluency import fluency


def test_sentences_are_more_fluent_than_their_words_shuffled() -> None:
    draw, better, count = random.Random(0), 0, 0
    sentences = [sentence for name in SAMPLES for cluster in sample_clusters(name)[::20] for sentence in cluster]
    for sentence in sentences:
        words = sentence.split()
        draw.shuffle(words)
        better += fluency(sentence) > fluency(" ".join(words))
        count += 1
    assert better >= 0.95 * count


@pytest.mark.parametrize("text", ["How heavy is a moose?", "how heavy is a moose", "HOW HEAVY IS A MOOSE?!"])
def test_neither_casing_nor_marks_are_seen(text: str) -> None:
    assert fluency(text) == fluency("How heavy is a moose?") > 0


def test_what_has_no_words_is_neither_fluent_nor_not() -> None:
    assert fluency("") == fluency("?!") == 0


@given(st.text())
def test_any_text_has_a_fluency(text: str) -> None:
    assert abs(fluency(text)) < 1e4
