import math
from dataclasses import replace

import numpy as np
import pytest

from parasketch.generate.candidates import FEATURES, MOST_SURPRISE, CandidateSet, Judged, judge
from parasketch.generate.choice import (
    IS_COPY,
    IS_INPUT,
    IS_REPEAT,
    NOT_FAITHFUL,
    choose,
    find_finalists,
    to_paraphrases,
)
from parasketch.generate.paraphrases import Sketch
from parasketch.generate.settings import RerankWeights
from parasketch.generate.tokens import Hypothesis

SOURCE = "How heavy is a moose in 2019?"
NOTHING = RerankWeights(**dict.fromkeys(FEATURES, 0.0))


def candidates(*texts: str, log_probs: dict[str, float] | None = None, attempt: int = 0) -> CandidateSet:
    """Candidates of four tokens each; those of earlier sketches are likelier."""
    found = CandidateSet(SOURCE)
    for rank, text in enumerate(texts):
        log_prob = (log_probs or {}).get(text, -5.0)
        found.add(text, Hypothesis((7, 8, 9, 10), log_prob, 0.0), Sketch(rank), -float(rank), attempt)
    return found


def column(judged: Judged, name: str) -> list[float]:
    return [float(value) for value in judged.features[:, FEATURES.index(name)]]


def texts_of(judged: Judged, weights: RerankWeights, n: int = 1, diversity: float = 0.0) -> list[str]:
    return [candidate.text for candidate, _ in choose(judged, weights, n=n, diversity=diversity)]


def test_the_same_sentence_counts_once_with_the_sum_of_its_probabilities() -> None:
    found = candidates("what does it weigh", "What does it weigh?", "the weight")
    assert [candidate.text for candidate in found.candidates] == ["what does it weigh", "the weight"]
    expected = math.log(math.exp(0 - 5 / 5) + math.exp(-1 - 5 / 5))
    assert found.candidates[0].support == pytest.approx(expected)
    assert found.candidates[0].sketch == Sketch(0)
    found.add("what does it weigh", Hypothesis((7, 8, 9, 10), -5.0, 0.0), Sketch(1), -1.0, 0, again=True)
    assert found.candidates[0].support == pytest.approx(expected)


def test_features_by_hand() -> None:
    found = candidates("how heavy is a moose in 2019?", "a b", "a c", log_probs={"a b": -10.0})
    judged = judge(found)
    assert column(judged, "sketch") == [0, -1, -2]
    assert column(judged, "likelihood") == [-1, -2, -1]  # per token, the end included
    assert column(judged, "kept_1") == pytest.approx([1, 1 / 8, 1 / 8])  # "a", of seven words and a mark
    assert column(judged, "kept_2") == pytest.approx([1, 0, 0])
    assert column(judged, "agree_1") == pytest.approx([(1 + 1) / 8 / 2, (1 + 1) / 2 / 2, (1 + 1) / 2 / 2])
    assert column(judged, "agree_2") == [0, 0, 0]
    assert column(judged, "difference") == pytest.approx([0, 1 - 2 / 10 / 4, 1 - 2 / 10 / 4])
    weights = np.exp([0 - 1, -1 - 2, -2 - 1])  # of the copy, "a b" and "a c"
    between, to_copy = (1 / 2 + 0) / 2, 2 / 10 / 4
    expected = (weights[0] * to_copy + weights[2] * between) / (weights[0] + weights[2])
    assert column(judged, "consensus")[1] == pytest.approx(expected)
    lengths = np.log(np.array([7, 2, 2]) / (11 / 3))
    assert column(judged, "length") == pytest.approx(lengths)
    assert column(judged, "odd_length") == pytest.approx(-abs(lengths))
    assert column(judged, "lost") == [0, -1, -1]
    assert column(judged, "cycle") == column(judged, "likeness") == [0, 0, 0]


def test_likeness_is_judged_where_there_is_an_exemplar() -> None:
    found = candidates("what does it weigh", "what did they weigh")
    found.exemplar = "how did they eat"
    assert column(judge(found), "likeness") == pytest.approx([1 - 3 / 4, 1 - 1 / 4])


def test_each_weight_alone_decides() -> None:
    judged = judge(candidates("b b", "how heavy is a 2019", "how heavy a", log_probs={"how heavy a": -1.0}))
    for candidate, cycle, semantic in zip(judged.candidates, [-3, -2, -1], [0.1, 0.9, 0.2], strict=True):
        candidate.cycle, candidate.semantic, candidate.trusted = cycle, semantic, True
    judged = judged.with_costly_features()
    best = {
        "sketch": "b b",
        "likelihood": "how heavy a",
        "cycle": "how heavy a",
        "difference": "b b",
        "kept_1": "how heavy is a 2019",
        "brevity": "how heavy is a 2019",
        "lost": "how heavy is a 2019",
        "repeats": "how heavy is a 2019",  # "b b" says a word twice
        "length": "how heavy is a 2019",
        "odd_length": "how heavy a",
        "semantic": "how heavy is a 2019",
    }

    for name, text in best.items():
        assert texts_of(judged, replace(NOTHING, **{name: 1.0})) == [text]
    assert texts_of(judged, replace(NOTHING, consensus=1.0)) != ["b b"]
    assert texts_of(judged, replace(NOTHING, kept_1=-1.0)) == ["b b"]


def test_a_copy_is_chosen_last_and_marked() -> None:
    judged = judge(candidates("how heavy is a moose in 2019", "what does it weigh in 2019"))
    chosen = choose(judged, replace(NOTHING, sketch=5.0), n=2, diversity=0)
    first, second = to_paraphrases(SOURCE, chosen, n=2, warnings=("odd",))
    assert (first.text, first.accepted, first.warnings) == ("What does it weigh in 2019", True, ("odd",))
    assert (second.accepted, second.warnings, second.difference) == (False, ("odd", IS_COPY), pytest.approx(0, abs=0.2))


def test_what_may_be_accepted_comes_first_and_the_rest_is_marked() -> None:
    judged = judge(candidates("what does it weigh", "its weight in 2019", "no weight in 2019"))
    chosen = choose(judged, replace(NOTHING, sketch=5.0), n=3, diversity=0)
    results = to_paraphrases(SOURCE, chosen, n=3, warnings=())
    assert [result.text for result in results] == ["Its weight in 2019", "What does it weigh", "No weight in 2019"]
    assert [result.lost for result in results] == [(), ("2019",), ("added: negation (no)",)]
    assert [result.warnings for result in results] == [(), (NOT_FAITHFUL,), (NOT_FAITHFUL,)]
    assert [result.accepted for result in results] == [True, False, False]


def test_what_the_model_would_never_say_is_told_from_the_best_it_said() -> None:
    found = candidates("what does it weigh", "the weight")
    assert found.is_likely(Hypothesis((7, 8), 3 * (-1.0 - MOST_SURPRISE), 0.0))
    assert not found.is_likely(Hypothesis((7, 8), 3 * (-1.1 - MOST_SURPRISE), 0.0))


def test_diversity_prefers_other_words_to_a_slightly_better_score() -> None:
    texts = ("what does a moose weigh", "what does the moose weigh", "tell me its weight")
    judged = judge(candidates(*texts))
    assert texts_of(judged, replace(NOTHING, sketch=0.1), n=2) == [texts[0], texts[1]]
    assert texts_of(judged, replace(NOTHING, sketch=0.1), n=2, diversity=1.0) == [texts[0], texts[2]]


def test_candidates_of_a_wider_search_come_after_all_others() -> None:
    found = candidates("aa bb", "cc dd")
    found.add("ee ff", Hypothesis((7,), 0.0, 0.0), Sketch(9), 100.0, attempt=1)
    assert texts_of(judge(found), replace(NOTHING, sketch=1.0), n=3) == ["aa bb", "cc dd", "ee ff"]


def test_there_are_always_n_results() -> None:
    judged = judge(candidates("aa bb 2019"))
    results = to_paraphrases(SOURCE, choose(judged, NOTHING, n=3, diversity=0), n=3, warnings=())
    assert [result.text for result in results] == ["Aa bb 2019"] * 3
    assert [result.accepted for result in results] == [True, False, False]
    assert results[2].warnings == (IS_REPEAT,)
    [nothing] = to_paraphrases(SOURCE, [], n=1, warnings=())
    assert (nothing.text, nothing.accepted, nothing.warnings) == (SOURCE, False, (IS_INPUT,))


def test_empty_candidates_are_dropped() -> None:
    assert candidates("", " ", "aa").num_different == 1


def test_finalists_are_found_without_the_costly_features() -> None:
    judged = judge(candidates("aa bb", "cc dd", "ee ff"))
    finalists = find_finalists(judged, replace(NOTHING, sketch=-1.0, cycle=100.0, semantic=100.0), 2)
    assert [candidate.text for candidate in finalists.candidates] == ["ee ff", "cc dd"]
    assert finalists.features.tolist() == judged.features[[2, 1]].tolist()
    assert finalists.overlap.tolist() == [[1, 0], [0, 1]]
