"""Which phrases SOW is asked about, and how what it says becomes orders of a sentence."""

import pytest
from hand_parsed import parse

from parasketch.systems.sowreap.parses import Node, Parse
from parasketch.systems.sowreap.rewrites import MOST_RESULTS, Proposal, Rewrite, Split, compose, splits_of
from parasketch.systems.sowreap.rules import X, Y


def asked(sentence: Parse) -> set[tuple[str, str]]:
    """The gaps of all splits, in words."""
    return {tuple(words(sentence, each) for each in (split.x, split.y)) for split in splits_of(sentence)}  # type: ignore[misc]


def words(sentence: Parse, node: Node) -> str:
    return " ".join(sentence.words[word].text for word in range(node.start, node.end))


def test_marks_and_small_words_are_no_gaps() -> None:
    assert asked(parse("dogs/NNS/1 chase/VBP/1 cats/NNS/1 ?/./1")) == {("dogs", "cats")}
    assert asked(parse("they/PRP/1 chase/VBP/1 cats/NNS/1 ./,/1")) == set()


def test_gaps_are_not_nested() -> None:
    king = parse("the/DT/1 king/NN/4 of/IN/1 spain/NNP/2 sleeps/VBZ/4 here/NN/4")
    assert ("the king of spain", "spain") not in asked(king)
    assert asked(king) == {("the king of spain", "here"), ("of spain", "here")} & asked(king)
    assert ("the king of spain", "here") in asked(king)


@pytest.mark.parametrize(("count", "found"), [(4, True), (5, False)])
def test_most_of_a_phrase_is_in_the_gaps(count: int, found: bool) -> None:
    """4 words: 2 remain, at most 4 / 1.7 = 2.35. 5 words: 3 remain, more than 2.94."""
    sentence = parse("dogs/NNS/1 chase/VBP/1 " + "the/DT/1 " * (count - 3) + "cats/NNS/1")
    assert (("dogs", "cats") in asked(sentence)) is found


def test_something_has_to_remain() -> None:
    two = parse("dogs/NNS/1 bark/VBP/1 cats/NNS/3 meow/VBP/3")
    assert asked(two) == {("dogs", "cats"), ("dogs", "cats meow"), ("dogs bark", "cats")}, "never the two sentences"


def test_the_phrase_is_the_smallest_around_both() -> None:
    sentence = parse("we/PRP/1 know/VBP/1 dogs/NNS/3 chase/VBP/1 cats/NNS/3")
    assert [split.node for split in splits_of(sentence)] == [Node(3, 2, 5)]


FLAT = parse("dogs/NNS/1 chase/VBP/1 cats/NNS/1")
SPLIT = Split(FLAT.whole, Node(0, 0, 1), Node(2, 2, 3))


def rewrite(split: Split, units: tuple[int | str, ...], score: float, said: int = 0) -> Rewrite:
    return Rewrite(split, units, (said,), score)


def test_a_rewrite_is_an_order_and_the_sentence_comes_last() -> None:
    found = compose(FLAT, [rewrite(SPLIT, (Y, 1, X), -0.5)], {SPLIT.node: SPLIT})
    assert found == [Proposal((2, 1, 0), (-0.5,)), Proposal((0, 1, 2))]
    assert compose(FLAT, [], {}) == [Proposal((0, 1, 2))], "nothing was rewritten"


def test_what_says_the_same_or_has_the_same_order_is_one() -> None:
    worse, better = rewrite(SPLIT, (1, Y, X), -2.0, said=7), rewrite(SPLIT, (Y, 1, X), -1.0, said=7)
    assert [each.scores for each in compose(FLAT, [worse, better], {})] == [(-1.0,), ()]
    again = rewrite(SPLIT, (Y, 1, X), -3.0, said=8)
    assert [each.scores for each in compose(FLAT, [again, better], {})] == [(-1.0,), ()]


# "dogs that like cats chase mice that eat cheese": each gap can be rewritten as well.
DEEP = parse("dogs/NNS/4 that/WDT/2 like/VBP/0 cats/NNS/2 chase/VBP/4 mice/NNS/4 that/WDT/7 eat/VBP/5 cheese/NN/7")
TOP = Split(DEEP.whole, Node(0, 0, 4), Node(5, 5, 9))
LEFT = Split(Node(0, 0, 4), Node(1, 1, 2), Node(3, 3, 4))
RIGHT = Split(Node(5, 5, 9), Node(6, 6, 7), Node(8, 8, 9))


def test_rewrites_inside_gaps_are_combined() -> None:
    parts = [
        rewrite(TOP, (Y, 4, X), -1.0),
        rewrite(LEFT, (Y, 0, 2, X), -0.2, said=1),
        rewrite(RIGHT, (5, 7, Y, X), -0.6, said=2),
    ]
    kept = {split.node: split for split in (TOP, LEFT, RIGHT)}
    found = {each.order: each.scores for each in compose(DEEP, parts, kept)}
    left, right = (3, 0, 2, 1), (5, 7, 8, 6)
    assert found == {
        (*left, 4, 5, 6, 7, 8): (-0.2,),
        (*left, 4, *right): (-0.2, -0.6),
        (0, 1, 2, 3, 4, *right): (-0.6,),
        (5, 6, 7, 8, 4, *left): (-1.0, -0.2),
        (*right, 4, *left): (-1.0, -0.2, -0.6),
        (*right, 4, 0, 1, 2, 3): (-1.0, -0.6),
        (5, 6, 7, 8, 4, 0, 1, 2, 3): (-1.0,),
        tuple(range(9)): (),
    }
    assert [each.score for each in compose(DEEP, parts, kept)][:-1] == sorted(
        (sum(scores) / len(scores) for scores in found.values() if scores), reverse=True
    )


def test_orders_are_few_and_no_order_has_many_rewrites() -> None:
    many = [
        rewrite(split, units, -0.1 * number, said=number)
        for split in (TOP, LEFT, RIGHT)
        for number, units in enumerate([(*split.units[1:], split.units[0]), tuple(reversed(split.units))], 1)
    ]
    found = compose(DEEP, many, {split.node: split for split in (TOP, LEFT, RIGHT)})
    assert len(found) <= MOST_RESULTS
    assert len({each.order for each in found}) == len(found)
    assert all(len(each.scores) <= 3 and sorted(each.order) == list(range(9)) for each in found)
