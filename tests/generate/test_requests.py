import pytest

from parasketch.errors import UsageError
from parasketch.generate.requests import as_texts, prepare_texts, problem_with
from parasketch.text.tokenizer import Tokenizer


def test_a_usual_text_has_no_warnings(tokenizer: Tokenizer) -> None:
    [prepared] = prepare_texts(["  How heavy\tis a moose?\n"], tokenizer, max_length=40)
    assert prepared.text == "How heavy is a moose?"
    assert list(prepared.tokens) == tokenizer.encode("how heavy is a moose?")
    assert prepared.warnings == ()


def test_a_long_text_is_cut_between_tokens_and_says_so(tokenizer: Tokenizer) -> None:
    [prepared] = prepare_texts(["how heavy is a Moose " * 2000], tokenizer, max_length=12)
    assert len(prepared.tokens) == 10
    assert ("how heavy is a Moose " * 5).startswith(prepared.text)
    assert tokenizer.decode(prepared.tokens) == prepared.text.lower()
    assert prepared.warnings == ("only the beginning was read: it is longer than 10 tokens",)


def test_what_is_odd_is_mended_and_mentioned(tokenizer: Tokenizer) -> None:
    control, surrogate = prepare_texts(["how\x00heavy\x1b is it", "how heavy \ud800 is it"], tokenizer, max_length=40)
    assert control.text == "how heavy is it"
    assert control.warnings == ("control characters were replaced by spaces",)
    assert surrogate.text == "how heavy \ufffd is it"
    assert surrogate.warnings == ("halves of surrogate pairs were replaced by \ufffd",)


@pytest.mark.parametrize("text", ["Сколько весит лось?", "ヘラジカの重さは？", "😀🐘🎉", "كم يزن الموظ"])
def test_an_unknown_script_is_read_with_a_warning(tokenizer: Tokenizer, text: str) -> None:
    [prepared] = prepare_texts([text], tokenizer, max_length=100)
    assert prepared.tokens
    assert prepared.warnings[0] == "the model's vocabulary hardly knows this script"
    assert prepared.suitable == (not any(letter.isalpha() for letter in text))


@pytest.mark.parametrize("text", ["", "  \n\t", "\x00\x1f", "\u3000\u2003"])
def test_a_text_without_content_is_refused(text: str) -> None:
    assert problem_with(text) == "is empty: there is nothing to paraphrase"
    with pytest.raises(UsageError, match=r"^text 2 is empty: there is nothing to paraphrase$"):
        as_texts(["fine", text])


def test_other_types_are_refused() -> None:
    with pytest.raises(UsageError, match=r"^the text is of type int \(expected str\)$"):
        as_texts([3])
