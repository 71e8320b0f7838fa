"""What is said of a sentence's form."""

from collections.abc import Sequence

import pytest

from parasketch.analyse.properties import OTHER, phrase, properties
from parasketch.text.tagger import load_tagger

SENTENCES = [
    "How do I learn French?",
    "It was invented by whom?",
    "How many people live in Peru, and why?",
    "A brown dog on the beach",
    "Are you happy? I think that he knows what he said yesterday in the park.",
]


@pytest.fixture(scope="module")
def found() -> dict[str, Sequence[str]]:
    return {one.name: one.values for one in properties(SENTENCES, load_tagger("crf"), "chunk")}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("question word", ["how", "whom", "how many", "none", "what"]),
        ("auxiliary", ["do", "was", "none", "none", "are"]),
        ("length", ["1 to 5", "1 to 5", "6 to 8", "6 to 8", "12 to 15"]),
        ("passive", ["no", "yes", "no", "no", "no"]),
        ("ending", ["?", "?", "?", "none", "."]),
        ("comma", ["no", "no", "yes", "no", "no"]),
        ("sentences", ["1", "1", "1", "1", "2 or more"]),
        ("person", ["first", "none", "none", "none", "first"]),
    ],
)
def test_values(found: dict[str, Sequence[str]], name: str, values: list[str]) -> None:
    assert found[name] == values


def test_finite_verbs_and_beginnings(found: dict[str, Sequence[str]]) -> None:
    assert found["finite verbs"][3] == "0"
    assert found["finite verbs"][4] == "3 or more"
    assert found["beginning"][0].startswith("how do i")


def test_every_value_can_be_put_in_words(found: dict[str, Sequence[str]]) -> None:
    assert all(phrase(name, value) for name, values in found.items() for value in values if value != OTHER)
