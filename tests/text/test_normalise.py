"""Which sentences count as the same, and which do not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parasketch.text.normalise import normalise


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("How tall is Mont Blanc?", "how tall is mont blanc ?"),
        ("A dog runs.", "a  dog\truns"),
        ("What 's Ohm’s law?", "What's Ohm's law"),
        ("He said “yes”.", "He said `` yes ''"),
        ("A well - known fact", "a well-known fact"),
        ("1914–1918", "1914 - 1918"),
        ("Is C ＋＋ hard？", "is c++ hard?"),
        ("STRASSE", "straße"),
        ("Ever?!", "ever ..."),
        ("ﬁsh and chips", "fish and chips"),
        ("cafe\u0301", "café"),
        ("यह क्या है ?", "यह क्या है।"),
    ],
)
def test_the_same_sentence(first: str, second: str) -> None:
    assert normalise(first) == normalise(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("resume", "résumé"),
        ("Is C hard?", "Is C++ hard?"),
        ("a nice day", "an ice day"),
        ("cats' food", "cat's food"),
        ("3.5 metres", "35 metres"),
        ("?", "!"),
        ("yes, we can", "yes we can"),
    ],
)
def test_another_sentence(first: str, second: str) -> None:
    assert normalise(first) != normalise(second)


def test_words_stay_apart_after_a_vowel_sign() -> None:
    assert normalise("की बात") == "की बात"


@settings(deadline=None)
@given(st.text() | st.text(alphabet="ab .?'`\"-’,!\u00a0"))
def test_idempotent_and_blind_to_case_and_outer_space(text: str) -> None:
    normal = normalise(text)
    assert normalise(normal) == normal
    assert normalise(f"  {text}\n") == normal
    assert normalise(text.casefold()) == normal
