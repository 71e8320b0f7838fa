import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parasketch.text.casing import restore_case


@pytest.mark.parametrize(
    ("text", "source", "expected"),
    [
        # Sentence starts.
        ("what is it? how much is it. wow! yes", "How is it?", "What is it? How much is it. Wow! Yes"),
        ('"how far?" (it is far.) go', "Far?", '"How far?" (It is far.) Go'),
        ("is 3.5 more than e.g. two vs. three?", "Is 3.5 much?", "Is 3.5 more than e.g. two vs. three?"),
        ("wait... is it node.js?", "Is it?", "Wait... Is it node.js?"),
        ("élan is good", "Élan matters", "Élan is good"),
        ("3 men", "Three men", "3 men"),
        # The first person.
        ("i'm late, i've said i'd go, so i'll go", "Go?", "I'm late, I've said I'd go, so I'll go"),
        ("i think, i.e. am", "How?", "I think, i.e. am"),
        # Words of the source.
        ("the moon landing by nasa", "Did NASA fake the Moon landing?", "The Moon landing by NASA"),
        ("iphone's camera", "How is the iPhone camera?", "iPhone's camera"),
        ("is the iphone good", "iPhone: good or bad?", "Is the iPhone good"),
        ("is trump's hair real?", "Is Donald Trump bald?", "Is Trump's hair real?"),
        ("at&t's wi-fi in the u.s. now", "AT&T sells Wi-Fi in the U.S.", "AT&T's Wi-Fi in the U.S. now"),
        ("learn c++ or c#", "Is C++ like C#?", "Learn C++ or C#"),
        ("is it a us city", "How many cities has the US?", "Is it a US city"),
        # A capital that only the place explains.
        ("i know how and what dogs eat", "How do dogs eat? What do dogs eat?", "I know how and what dogs eat"),
        ("why are people kind", "People are kind", "Why are people kind"),
        ("are elephants big", "Elephants are big", "Are elephants big"),
        ("which is it? dogs, what else", "What dogs? Dogs what?", "Which is it? Dogs, what else"),
        # A name at the start, known by its second part.
        ("is donald trump old? donald who?", "Donald Trump is old", "Is Donald Trump old? Donald who?"),
        ("is new york big", "New York is big", "Is New York big"),
        ("when is donald here", "Is Donald here?", "When is Donald here"),
        # Common words keep a capital only beside the same word.
        ("is it hard to find it jobs", "Where are IT jobs?", "Is it hard to find IT jobs"),
        ("is a vitamin a pill a drug", "Is Vitamin A a pill?", "Is a Vitamin A pill a drug"),
        ("the band is the beatles", "Are The Beatles a band?", "The band is The Beatles"),
        # The commoner form wins, and lower case if they are equal.
        ("a go game", "Is Go the game, or does Go go?", "A Go game"),
        ("a mars bar", "The Mars or a mars?", "A mars bar"),
        # No capitals at all.
        ("i think so. nasa is", "is nasa american?", "i think so. nasa is"),
        ("What Is IT", "what is it", "what is it"),
        # Capitals throughout.
        ("why do you shout? i don't", "WHY ARE YOU SHOUTING", "Why do you shout? I don't"),
        ("what is nasa", "NASA?", "What is NASA"),
        # Title case.
        ("ways to learn python in ten days", "How To Learn Python in Ten Days", "Ways To Learn Python in Ten Days"),
        ("is the best way a walk", "How Can I Find The Best Road", "Is The Best Way a Walk"),
        # Nothing to do.
        ("", "Some Source", ""),
        ("text", "", "text"),
        ("?!", "What?", "?!"),
    ],
)
def test_capitals_follow_the_source(text: str, source: str, expected: str) -> None:
    assert restore_case(text, source) == expected


@settings(deadline=None, max_examples=300)
@given(text=st.text(), source=st.text())
def test_only_case_changes_and_once_is_enough(text: str, source: str) -> None:
    restored = restore_case(text, source)
    assert restored.lower() == text.lower()
    assert restore_case(restored, source) == restored


@settings(deadline=None)
@given(words=st.lists(st.sampled_from(["NASA", "in", "the", "Moon", "or", "iPhone", "I", "a", "man", "is", "it's"])))
def test_a_sentence_is_restored_from_itself(words: list[str]) -> None:
    sentence = " ".join(["What", *words]) + "?"
    assert restore_case(sentence.lower(), sentence) == sentence
