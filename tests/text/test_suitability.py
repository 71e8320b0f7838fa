import pytest

from parasketch.text.suitability import CODE, KEYWORDS, OTHER_LANGUAGE, unsuitable


@pytest.mark.parametrize(
    "text",
    [
        "How do I install numpy?",
        "A dog.",
        "Hello there",
        "Tom is giddy.",
        "Why is it not legal to own a gun in Japan?",
        "Please contact anna.meier@example.com before 4:30 pm.",
        "two men riding bikes down a street",
        "Two kids playing soccer outdoors",
        "Does joe jonas wear glases?",
        "12:30",
        "?!",
    ],
)
def test_english_sentences_pass(text: str) -> None:
    assert unsuitable(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Wie spät ist es in Berlin?",
        "¿Dónde está la biblioteca?",
        "Il fait beau aujourd'hui.",
        "Где находится библиотека?",
        "どこに行きますか",
    ],
)
def test_other_languages_are_told(text: str) -> None:
    assert unsuitable(text) == OTHER_LANGUAGE


@pytest.mark.parametrize("text", ["def f(x): return x+1", "for (i = 0;;) { x += i; }", "SELECT a FROM b", "x = foo(3)"])
def test_code_is_told(text: str) -> None:
    assert unsuitable(text) == CODE


@pytest.mark.parametrize("text", ["cheap flights london paris", "python, numpy, pandas, install"])
def test_keywords_are_told(text: str) -> None:
    assert unsuitable(text) == KEYWORDS
