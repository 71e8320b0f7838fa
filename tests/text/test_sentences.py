import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parasketch.text.sentences import split_sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ("How heavy is a moose?", "It depends.", "Most weigh 400 kg!"),
        ("Dr. Smith met Mrs. J. K. Rowling at 5 p.m. in St. Louis.", "They talked."),
        ("It costs $3.50 or 1,299.99 in all.", "Version 2.0.1 is out."),
        ("I live in the U.S. Army barracks.", "He lives in the U.S.", "The flag is old."),
        ("She bought eggs, milk, etc. for the cake.", "We ate it all."),
        ('"Stop!" he said.', '"Why?" she asked, and left.', "Nobody spoke."),
        ("He said “Go away. I am tired.” and left.", "Then it was quiet."),
        ("They came (so I heard. Or read?) by train.", "It was late."),
        ("Well... I do not know.", "He left...", "Then he came back."),
        ("Yahoo! is a company.", "Is it?!", "Yes."),
        ("See e.g. Fig. 3 and No. 7 of vol. 2 by Gen. Lee et al. in 1999.", "That is all."),
        ("1. First of all.", "2. Second."),
        ("Did you read node.js docs at example.com?", "Write to a.b@example.com.", "Thanks."),
        ("No. 5 is alive.", "The answer is no.", "He left."),
        ("这是什么？", "我不知道。", "好吧。"),
        ("a small letter. follows here",),
        ("He is 6'2\" tall.", "She is not."),
        ("¿Qué es esto?", "¡Nada!"),
        ("moose",),
    ],
)
def test_sentences(sentences: tuple[str, ...]) -> None:
    glue = "" if sentences[0].endswith("？") else " "
    assert split_sentences(glue.join(sentences)).sentences == sentences


def test_white_space_is_kept() -> None:
    text = "  One is here.  Two is\nthere.\n\n\tThree is a title\n\nFour is last. \n"
    split = split_sentences(text)
    assert split.sentences == ("One is here.", "Two is\nthere.", "Three is a title", "Four is last.")
    assert split.join(split.sentences) == text
    assert split.join(["1", "2", "3", "4"]) == "  1  2\n\n\t3\n\n4 \n"


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="aB .!?…\"'()“”\n5。", max_size=40))
def test_no_character_is_lost(text: str) -> None:
    split = split_sentences(text)
    assert split.join(split.sentences) == text
    assert all(gap.strip() == "" for gap in split.gaps)
    assert not text.strip() or all(sentence.strip() for sentence in split.sentences)
