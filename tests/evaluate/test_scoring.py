"""The scorer: which scores there are when, and what it refuses."""

from collections.abc import Sequence

import pytest

from parasketch.data.corpora import EvalItem
from parasketch.errors import DataError, UsageError
from parasketch.evaluate.scoring import Scorer
from parasketch.text.tagger import TaggedToken

ITEMS = [
    EvalItem("how heavy is a moose?", ("what does a moose weigh?",)),
    EvalItem("who is it?", ("who?", "who's it?")),
]


class OneTag:
    """Tags every word as a noun."""

    name = "one-tag"

    def tag(self, sentences: Sequence[str]) -> list[list[TaggedToken]]:
        return [[TaggedToken(word, 0, 0, "NN", "NP") for word in text.split()] for text in sentences]


def test_scores_of_one_candidate() -> None:
    found = Scorer().evaluate(ITEMS, [["what is a moose?"], ["who is it?"]])
    expected = {"bleu", "self_bleu", "ibleu", "length_ratio", "copies", "empty", "distinct_1", "distinct_2"}
    assert set(found.scores) == expected
    assert found.scores["copies"].value == 50.0
    assert found.human == {}
    assert all(score.interval is None for score in found.scores.values())


def test_more_candidates_a_tagger_and_intervals_add_to_them() -> None:
    scorer = Scorer(tagger=OneTag(), templates="pos", resamples=20, seed=7)
    found = scorer.evaluate(ITEMS, [["the moose", "a"], ["who is it?", "b"]])
    assert {"mean_ibleu", "p_bleu", "template_change"} <= set(found.scores)
    assert found.scores["template_change"].value == 50.0
    assert found.scores["template_change"].signature == "templates:pos|tagger:one-tag"
    for name, score in found.scores.items():
        assert (score.interval is None) == name.startswith("distinct")
    interval = found.scores["ibleu"].interval
    assert interval is not None
    assert interval.low <= found.scores["ibleu"].value <= interval.high
    assert (interval.resamples, interval.seed) == (20, 7)


def test_empty_outputs_are_scored_and_counted() -> None:
    full = Scorer().evaluate(ITEMS, [["what does a moose weigh?"], ["who's it?"]])
    half = Scorer().evaluate(ITEMS, [["what does a moose weigh?"], [""]])
    assert (full.empty_outputs, half.empty_outputs) == (0, 1)
    assert half.scores["bleu"].value < full.scores["bleu"].value  # the missing words cost brevity
    assert Scorer().evaluate(ITEMS, [[""], [""]]).scores["ibleu"].value == 0.0


def test_what_cannot_be_scored() -> None:
    with pytest.raises(DataError, match="no items"):
        Scorer().evaluate([], [])
    with pytest.raises(DataError, match="there are 1 outputs for 2 items"):
        Scorer().evaluate(ITEMS, [["x"]])
    with pytest.raises(DataError, match="item 2 has no reference: 'why'"):
        Scorer().evaluate([ITEMS[0], EvalItem("why", ())], [["x"], ["y"]])
    with pytest.raises(DataError, match="item 2 has 2 outputs where the first item has 1"):
        Scorer().evaluate(ITEMS, [["x"], ["y", "z"]])
    with pytest.raises(UsageError, match=r"between 0 and 1, not 1\.5"):
        Scorer(alpha=1.5)
