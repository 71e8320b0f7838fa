"""The engine: exactly n, steered as asked, the same alone and in a batch, and honest about what it doubts."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tiny_language_model import PAIRS, ready, tiny_network, tiny_tokenizer

from parasketch.errors import UsageError
from parasketch.generate.paraphraser import Paraphraser
from parasketch.generate.requests import Options
from parasketch.generate.routing import OneEngine
from parasketch.generate.stopping import Stopped, while_wanted
from parasketch.systems.sketchlm import engine
from parasketch.systems.sketchlm.base import BaseTokenizer
from parasketch.systems.sketchlm.candidates import Candidate, SearchSettings
from parasketch.systems.sketchlm.choice import NOT_FAITHFUL, NOTHING, TOO_CLOSE, ChoiceSettings, Judge
from parasketch.systems.sketchlm.engine import EverydaySettings, SketchLMEngine

TEXTS = [pair[0] for pair in PAIRS[:5]]
SEARCH = SearchSettings(sketches=4, samples=5, longest=4.0)


def sure(pairs: Sequence[tuple[str, str]]) -> list[float]:
    return [0.9 for _ in pairs]


@pytest.fixture(scope="module")
def paraphraser() -> Paraphraser:
    network = tiny_network(seed=5)
    network.form.fit([text for pair in PAIRS for text in pair])
    settings = EverydaySettings(search=SEARCH)
    made = SketchLMEngine(ready(network, exact=False), BaseTokenizer(tiny_tokenizer()), sure, settings, Path("tiny"))
    return Paraphraser(OneEngine(made))


def test_exactly_n_for_each_text(paraphraser: Paraphraser) -> None:
    for n in (1, 3, 7):
        assert [len(found) for found in paraphraser(TEXTS, n=n)] == [n] * len(TEXTS)
        assert [len(found) for found in paraphraser(TEXTS, n=n, rerank=False)] == [n] * len(TEXTS)


def test_results_do_not_depend_on_neighbours(paraphraser: Paraphraser) -> None:
    together = paraphraser(TEXTS, n=3)
    for text, found in zip(TEXTS, together, strict=True):
        alone = paraphraser(text, n=3)
        assert [(one.text, one.sketch) for one in alone] == [(one.text, one.sketch) for one in found]


def test_long_texts_are_worked_on_a_few_at_a_time(paraphraser: Paraphraser, monkeypatch: pytest.MonkeyPatch) -> None:
    together = paraphraser(TEXTS, n=2)
    monkeypatch.setattr(engine, "_MOST_CACHED", 1)
    assert [[one.text for one in found] for found in paraphraser(TEXTS, n=2)] == [
        [one.text for one in found] for found in together
    ]


def test_a_given_prefix_is_kept_and_a_whole_sketch_is_used(paraphraser: Paraphraser) -> None:
    assert all(one.sketch[:1] == (2,) for one in paraphraser(TEXTS[0], n=4, sketch=(2,)) if one.sketch)
    [found] = paraphraser(TEXTS[0], sketch=(1, 2, 3))
    assert found.sketch == (1, 2, 3)


def test_an_exemplar_gives_its_sketch(paraphraser: Paraphraser) -> None:
    exemplar = "Was the old bike bought by Clara?"
    sketch = paraphraser.sketch(exemplar)
    assert len(sketch) == paraphraser.depth == 3
    assert all(one.sketch == sketch for one in paraphraser(TEXTS[:2], like=exemplar)[0])


def test_depth_truncates(paraphraser: Paraphraser) -> None:
    assert all(len(one.sketch) <= 1 for one in paraphraser(TEXTS[0], n=3, depth=1))
    assert all(one.sketch == () for one in paraphraser(TEXTS[0], n=2, depth=0))


def test_less_effort_tries_fewer_sketches_and_never_too_few(paraphraser: Paraphraser) -> None:
    engine = paraphraser._engines.first()
    assert isinstance(engine, SketchLMEngine)
    tried = [engine._search_settings(Options(n=1, effort=effort)) for effort in (1, 2, 3, 4, 5, None)]
    assert [each.sketches for each in tried] == [3, 3, 3, 4, 4, 4]
    assert [each.samples for each in tried] == [0, 1, 2, 5, 5, 5]
    assert [len(found) for found in paraphraser(TEXTS, n=5, effort=1)] == [5] * len(TEXTS)


def test_a_search_ends_when_nobody_waits_for_it(paraphraser: Paraphraser) -> None:
    with while_wanted(lambda: False), pytest.raises(Stopped):
        paraphraser(TEXTS[0])


def test_saving_is_refused_with_a_reason(paraphraser: Paraphraser, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="saved by training"):
        paraphraser.save_pretrained(tmp_path / "copy")


def candidate(text: str, log_prob: float = -0.1) -> Candidate:
    return Candidate(text, (1, 2, 3), log_prob, log_prob, -1.0, (3.0, 2.0))


SOURCE = "Anna did not buy 3 letters on Monday."


def chosen(texts: list[str], probability: float = 0.9) -> list[tuple[str, bool, tuple[str, ...]]]:
    judge = Judge(lambda pairs: [probability] * len(pairs), ChoiceSettings())
    found = judge.choose(SOURCE, judge.judge(SOURCE, [candidate(text) for text in texts]), len(texts))
    return [(one.text, one.accepted, one.warnings) for one in found]


def test_what_loses_or_adds_a_fact_is_never_accepted_and_comes_last() -> None:
    good = "On Monday, 3 letters were not purchased by Anna."
    found = chosen(["Anna bought 3 letters on Monday, they say.", "Anna never got 4 letters on Monday.", good])
    assert found[0][:2] == (good, True)
    assert [(accepted, NOT_FAITHFUL in warnings) for _, accepted, warnings in found[1:]] == [(False, True)] * 2


def test_what_the_verifier_doubts_or_what_hardly_differs_is_not_accepted() -> None:
    [(_, accepted, warnings)] = chosen(["On Monday, 3 letters were not purchased by Anna."], probability=0.01)
    assert (accepted, warnings) == (False, (NOT_FAITHFUL,))
    [(_, accepted, warnings)] = chosen(["Anna did not buy 3 letters on Monday!"])
    assert (accepted, warnings) == (False, (TOO_CLOSE,))


def test_without_candidates_the_input_comes_back_marked() -> None:
    judge = Judge(sure, ChoiceSettings())
    found = judge.choose(SOURCE, judge.judge(SOURCE, []), 2)
    assert [(one.text, one.accepted) for one in found] == [(SOURCE, False)] * 2
    assert NOTHING in found[0].warnings
