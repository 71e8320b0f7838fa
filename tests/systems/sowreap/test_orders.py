"""Word orders of sentences that were parsed, aligned and put in order by hand."""

import numpy as np
import pytest
from hand_parsed import likeness, parse

from parasketch.systems.sowreap.orders import aligned_places, displacement, token_ranks, word_order, word_ranks
from parasketch.systems.sowreap.parses import Node, Parse

RAIN = parse("if/IN/2 it/PRP/2 rains/VBZ/5 ,/,/5 we/PRP/5 stay/VBP/5 home/RB/5")
RAIN_THERE = parse("we/PRP/1 stay/VBP/1 home/RB/1 if/IN/5 it/PRP/5 rains/VBZ/1")
PHONE = parse("my/PRP$/1 phone/NN/3 was/VBD/3 broken/VBN/3 by/IN/3 the/DT/6 dog/NN/4")
PHONE_THERE = parse("the/DT/1 dog/NN/2 broke/VBD/2 my/PRP$/4 phone/NN/2")
PIANO = parse("how/WRB/3 do/VBP/3 i/PRP/3 learn/VB/3 the/DT/5 piano/NN/3 fast/RB/3")
PIANO_THERE = parse("what/WP/1 is/VBZ/1 the/DT/4 fastest/JJS/4 way/NN/1 to/TO/6 learn/VB/4 piano/NN/6")


@pytest.mark.parametrize(
    ("source", "target", "also", "places", "order"),
    [
        # "," is like nothing there: it goes to the like place, between "home" and "if".
        (RAIN, RAIN_THERE, {}, [3, 4, 5, 3, 0, 1, 2], "we stay home , if it rains"),
        # "the dog" comes before "by" inside its phrase; "my phone" stays together at the end.
        (PHONE, PHONE_THERE, {"broken": "broke:0.8"}, [3, 4, 1, 2, 3, 0, 1], "was broken the dog by my phone"),
        # "the" is early there, but its phrase is late: it does not leave it.
        (
            *(PIANO, PIANO_THERE, {"how": "way:0.9", "fast": "fastest:0.9", "do": "is:0.3"}),
            *([4, 1, 2, 6, 2, 7, 3], "do i fast how learn the piano"),
        ),
    ],
)
def test_orders_worked_out_by_hand(
    source: Parse, target: Parse, also: dict[str, str], places: list[int], order: str
) -> None:
    found = aligned_places(likeness(source, target, **also))
    assert found == places
    assert " ".join(source.words[word].text for word in word_order(source, found)) == order


def test_equal_places_keep_their_order() -> None:
    assert word_order(PHONE, [2, 2, 2, 2, 2, 2, 2]) == list(range(7))


def test_of_equal_words_the_one_in_the_like_place_is_taken() -> None:
    twice = parse("the/DT/1 dog/NN/2 likes/VBZ/2 the/DT/4 cat/NN/2")
    assert aligned_places(likeness(twice, twice)) == [0, 1, 2, 3, 4]


def test_ranks_are_the_inverse_of_an_order() -> None:
    order = word_order(RAIN, [3, 4, 5, 3, 0, 1, 2])
    assert order == [4, 5, 6, 3, 0, 1, 2]
    assert word_ranks(order) == [5, 6, 7, 4, 1, 2, 3]


def test_subwords_have_the_rank_of_their_word_between_begin_and_end() -> None:
    assert token_ranks([2, 0, 1], [0, 0, 1, 2]) == [0, 2, 2, 3, 1, 4]
    assert token_ranks([2, 0, 1], [0, 2, 2]) == [0, 2, 1, 1, 3], "a word without subwords takes no rank"


def test_several_roots_and_phrases_in_pieces() -> None:
    """Two sentences change places; a phrase that is not in one piece is put in order, but is no node."""
    two = parse("why/WRB/0 ?/./0 who/WP/2")
    assert word_order(two, [1, 2, 0]) == [2, 0, 1]
    assert two.whole == two.nodes[0] == Node(-1, 0, 3)
    torn = parse("what/WP/3 do/VBP/2 you/PRP/2 think/VB/2 of/IN/0")  # "of" depends on "what", across the others
    assert Node(0, 0, 5) not in torn.nodes
    assert sorted(word_order(torn, [4, 0, 1, 2, 3])) == [0, 1, 2, 3, 4]


def test_how_far_content_words_move() -> None:
    same = np.eye(4, dtype=np.float32)
    assert displacement(same, [True] * 4) == 0
    assert displacement(same[::-1], [True, False, False, True]) == pytest.approx(0.75)
    assert displacement(same, [False] * 4) == 0
