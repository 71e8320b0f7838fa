"""Words have the Penn Treebank's shape, and no character is lost."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parasketch.text.words import split_words


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("How heavy is a moose?", "How|heavy|is|a|moose|?"),
        ("I don't know, can't tell.", "I|do|n't|know|,|ca|n't|tell|."),
        ("What’s John's dogs' name?", "What|’s|John|'s|dogs|'|name|?"),
        ("what 's up, they 're here, do n't go", "what|'s|up|,|they|'re|here|,|do|n't|go"),
        ("It CANNOT be, cannots!", "It|CAN|NOT|be|,|cannots|!"),
        ("at ten o'clock, O'Brien", "at|ten|o'clock|,|O'Brien"),
        ("a well-known long-haired man -- yes", "a|well-known|long-haired|man|--|yes"),
        ("over 1,000 or 3.5, at 10:30, and 10%", "over|1,000|or|3.5|,|at|10:30|,|and|10|%"),
        ("$5, £6.20 and ₹7", "$|5|,|£|6.20|and|₹|7"),
        ("He lives in the U.S. now.", "He|lives|in|the|U.S.|now|."),
        ("Mr. Smith vs. Dr. W. Jones etc.", "Mr.|Smith|vs.|Dr.|W.|Jones|etc|."),
        ("C++, C# or node.js?", "C++|,|C#|or|node.js|?"),
        ("cats/dogs and/or (both)", "cats|/|dogs|and|/|or|(|both|)"),
        ("see https://a.org/b?c=d, or mail a.b@c.org.", "see|https://a.org/b?c=d|,|or|mail|a.b@c.org|."),
        ("Really?! Wait... “no”", "Really|?|!|Wait|...|“|no|”"),
        ("It ended.Then he left", "It|ended|.|Then|he|left"),
        ("हिन्दी में क्या है?", "हिन्दी|में|क्या|है|?"),
        ("  spaces\tand\u00a0more \n", "spaces|and|more"),
        ("", ""),
        (" \n", ""),
    ],
)
def test_sentence_is_cut_like_the_treebank(sentence: str, words: str) -> None:
    assert [word.text for word in split_words(sentence)] == [word for word in words.split("|") if word]


def test_offsets_point_at_each_part_of_a_contraction() -> None:
    assert split_words(" don't!") == [("do", 1, 3), ("n't", 3, 6), ("!", 6, 7)]


_ODD = st.text(st.one_of(st.characters(), st.sampled_from("aZ0 .,'’n't-@&:/+#\"?!\u0301\u200d😀\ud800")), max_size=60)


@settings(deadline=None)
@given(_ODD)
def test_tokens_are_in_order_and_lose_only_white_space(sentence: str) -> None:
    end = 0
    for word in split_words(sentence):
        assert word.start >= end
        assert sentence[end : word.start].strip() == ""
        assert sentence[word.start : word.end] == word.text != ""
        assert not any(character.isspace() for character in word.text)
        end = word.end
    assert sentence[end:].strip() == ""


def test_long_runs_without_spaces_take_no_quadratic_time() -> None:
    text = "a." * 50_000 + "a'" * 50_000 + "http://" + "?" * 50_000
    assert "".join(word.text for word in split_words(text)) == text
