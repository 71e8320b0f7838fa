"""What SOW learns from: phrases aligned, gaps made, and what is no rule."""

import numpy as np
import pytest
from hand_parsed import likeness, parse

from parasketch.systems.sowreap.parses import Node, Parse
from parasketch.systems.sowreap.rules import X, Y, align_nodes, may_be_gap, node_similarities, rules_of

PROTECT = parse("i/PRP/1 protect/VBP/1 my/PRP$/3 phone/NN/1 from/IN/1 water/NN/4")
KEEP = parse("i/PRP/1 keep/VBP/1 water/NN/1 off/RP/1 my/PRP$/5 phone/NN/3")


def aligned(first: Parse, second: Parse, **also: str) -> list[tuple[Node, Node]]:
    weights = np.ones(len(first), dtype=np.float32), np.ones(len(second), dtype=np.float32)
    return align_nodes(likeness(first, second, **also), first, second, weights)


def test_phrases_are_aligned_with_their_best_match() -> None:
    spans = {((a.start, a.end), (b.start, b.end)) for a, b in aligned(PROTECT, KEEP)}
    # "from water" is most like "water", which is more like "water" itself.
    assert spans == {((0, 1), (0, 1)), ((2, 4), (4, 6)), ((2, 3), (4, 5)), ((5, 6), (2, 3)), ((0, 6), (0, 6))}


def test_the_similarity_of_phrases_by_hand() -> None:
    """[a b] and [c]: a and c are each other's best (0.8, of weight 3); b's best is c, but not c's (0.4, weight 1)."""
    words = np.array([[0.8], [0.4]], dtype=np.float32)
    weights = np.array([3, 1], dtype=np.float32), np.array([1], dtype=np.float32)
    found = node_similarities(words, [Node(0, 0, 2)], [Node(0, 0, 1)], weights)
    recall, precision = (3 * 0.8 + 1 * 0.5 * 0.4) / 4, 0.8
    assert found[0, 0] == pytest.approx(2 * recall * precision / (recall + precision))


def test_a_rule_in_both_directions() -> None:
    nodes = aligned(PROTECT, KEEP)
    [rule] = rules_of(PROTECT, KEEP, nodes)
    assert (rule.source, rule.target, rule.is_inverted) == ((0, 1, X, 4, Y), (0, 1, Y, 3, X), True)
    assert (rule.x, rule.y) == (Node(3, 2, 4), Node(5, 5, 6))
    [back] = rules_of(KEEP, PROTECT, [(b, a) for a, b in nodes])
    assert (back.source, back.target) == ((0, 1, X, 3, Y), (0, 1, Y, 4, X)), "X is the first gap of the source"


def test_too_much_beside_the_gaps_is_no_rule() -> None:
    """8 words, 5 beside the gaps: more than 8 / 1.7."""
    longer = parse("how/WRB/3 can/MD/3 i/PRP/3 protect/VB/3 my/PRP$/5 phone/NN/3 from/IN/3 water/NN/6")
    assert rules_of(longer, KEEP, aligned(longer, KEEP)) == []


def test_gaps_side_by_side_in_both_are_no_rule() -> None:
    give = parse("give/VB/0 the/DT/2 dog/NN/0 a/DT/4 bone/NN/0")
    hand = parse("hand/VB/0 a/DT/2 bone/NN/0 the/DT/4 dog/NN/0")
    assert rules_of(give, hand, aligned(give, hand)) == []


def test_what_changes_nothing_is_no_rule() -> None:
    assert rules_of(PROTECT, PROTECT, aligned(PROTECT, PROTECT)) == []


def test_the_smallest_phrase_around_both_gaps_counts() -> None:
    """Inside "the price of [a car] in [rome]", whatever the sentences around it are."""
    first = parse("tell/VB/0 me/PRP/0 the/DT/3 price/NN/0 of/IN/3 cars/NNS/4 in/IN/3 rome/NNP/6")
    second = parse("show/VB/0 me/PRP/0 please/UH/0 the/DT/5 rome/NNP/5 price/NN/0 of/IN/5 cars/NNS/6")
    rules = rules_of(first, second, aligned(first, second))
    assert [(rule.source, rule.target) for rule in rules if rule.is_inverted] == [
        ((2, 3, 4, X, 6, Y), (3, Y, 5, 6, X)),
        ((2, 3, X, 6, Y), (3, Y, 5, X)),
    ] or all(unit != 0 for rule in rules for unit in rule.source), "the verbs are no part of a rule"


def test_what_may_be_a_gap() -> None:
    sentence = parse("can/MD/1 go/VB/1 there/RB/1 with/IN/1 him/PRP/3 ?/./1 two/CD/1 ok/UH/1")
    may = [sentence.words[node.head].text for node in sentence.nodes if may_be_gap(sentence, node)]
    assert may == ["go", "with", "ok"], "the whole, a phrase of two words, and a word that is neither small nor a mark"
