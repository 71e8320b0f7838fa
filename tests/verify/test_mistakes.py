import random

import pytest

from parasketch.text.crf import CrfTagger
from parasketch.verify.bank import Bank
from parasketch.verify.making import one_mistake
from parasketch.verify.mistakes import Sentence
from parasketch.verify.mistakes_of_form import MISTAKES


@pytest.fixture(scope="module")
def tagger() -> CrfTagger:
    return CrfTagger()


BANK = Bank(
    names=["Alice"],
    phrases=["in the garden"],
    adjectives=["purple"],
    ends=["and went home."],
    bases={"like", "give", "go"},
    neighbours={("soup", "NN"): ["salad"]},
)


def wrong(tagger: CrfTagger, kind: str, text: str, *, is_question: bool = False) -> set[str | None]:
    """What a kind of mistake makes of a sentence, over many draws."""
    sentence = Sentence(text, tagger.tag([text])[0], is_question)
    return {one_mistake(sentence, kind, random.Random(seed), BANK) for seed in range(60)}


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("negation", "She does not like soup.", "She does like soup."),
        ("negation", "He can't swim.", "He can swim."),
        ("negation", "She likes soup.", "She doesn't like soup."),
        ("name", "We met Tom yesterday.", "We met Alice yesterday."),
        ("opposite", "He bought a big car.", "He bought a small car."),
        ("same_kind", "See you on Monday.", "See you on Friday."),
        ("amount", "It always rains.", "It never rains."),
        ("person", "He lost his keys.", "He lost my keys."),
        ("tense", "You must go.", "You may go."),
        ("other_word", "The soup is hot.", "The salad is hot."),
        ("roles", "Tom saw Mary.", "Mary saw Tom."),
        ("roles", "I saw Mary.", "Mary saw me."),
        ("detail_added", "We played chess.", "We played chess in the garden."),
        ("detail_dropped", "We played chess in the garden.", "We played chess."),
        ("continued", "We played chess.", "We played chess and went home."),
    ],
)
def test_a_mistake_of_each_kind(tagger: CrfTagger, kind: str, text: str, expected: str) -> None:
    assert expected in wrong(tagger, kind, text)


def test_questions_get_another_question_word(tagger: CrfTagger) -> None:
    assert "Why do I open it?" in wrong(tagger, "question_word", "How do I open it?", is_question=True)
    assert wrong(tagger, "question_word", "I know how.") == {None}


def test_anybody_stays_anybody_in_questions(tagger: CrfTagger) -> None:
    assert wrong(tagger, "person", "How do I open it?", is_question=True) == {None}


def test_numbers_change_their_value(tagger: CrfTagger) -> None:
    changed = wrong(tagger, "number", "It costs 250 euros.")
    assert None not in changed
    assert "It costs 250 euros." not in changed


@pytest.mark.parametrize("kind", MISTAKES)
def test_nothing_to_change_gives_nothing(tagger: CrfTagger, kind: str) -> None:
    assert all(text is None or text != "Oh!" for text in wrong(tagger, kind, "Oh!"))


@pytest.mark.parametrize("kind", MISTAKES)
def test_the_same_draw_makes_the_same_mistake(tagger: CrfTagger, kind: str) -> None:
    text = "All six boys gave Tom a big red ball on Monday because he must not cry."
    sentence = Sentence(text, tagger.tag([text])[0])
    assert one_mistake(sentence, kind, random.Random(5), BANK) == one_mistake(sentence, kind, random.Random(5), BANK)
