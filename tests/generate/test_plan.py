from dataclasses import replace

import pytest

from parasketch.generate.paraphrases import Sketch
from parasketch.generate.plan import ATTEMPTS, EFFORTS, MOST_SEARCHED, SearchPlan
from parasketch.generate.requests import LEAST_EFFORT, MOST_EFFORT, Options, PreparedText, Request
from parasketch.generate.required import Required
from parasketch.generate.settings import GenerateConfig

PLAN = SearchPlan(GenerateConfig(beam=4, sketches=8), levels=3, codes=16)


def test_further_attempts_search_more_widely() -> None:
    options = Options(n=5)
    counts = [PLAN.num_sketches(options, attempt) for attempt in range(ATTEMPTS)]
    assert counts == [8, 32, 128]
    assert [PLAN.width(options, count, attempt=attempt) for attempt, count in enumerate(counts)] == [4, 8, 16]


def test_effort_goes_from_one_greedy_sketch_to_all_that_the_settings_say() -> None:
    plans = [replace(PLAN, effort=EFFORTS[effort]) for effort in range(LEAST_EFFORT, MOST_EFFORT + 1)]
    rows = [
        sum(plan.width(Options(), count, rank) for rank in range(count))
        for plan in plans
        for count in [plan.num_sketches(Options())]
    ]
    assert rows[0] == 1
    assert rows == sorted(set(rows))  # more at every step
    assert (rows[-1], plans[-1].finalists) == (8 * 4, PLAN.config.finalists)
    assert plans[0].num_sketches(Options(n=5)) == 5


def test_few_sketches_are_searched_more_widely_each() -> None:
    assert PLAN.width(Options(), sketches=1) == 16
    assert PLAN.width(Options(), sketches=4) == 8
    assert PLAN.width(Options(rerank=False), sketches=1) == 4
    assert PLAN.width(Options(n=100), sketches=1) == 101  # an output may be a copy of the input
    assert PLAN.num_sketches(Options(n=20, depth=1)) == 16
    assert PLAN.num_sketches(Options(depth=0)) == 1


@pytest.mark.parametrize("n", [1, 30, 300, 1000])
def test_the_work_for_a_request_is_bounded(n: int) -> None:
    options = Options(n=n)
    for attempt in range(ATTEMPTS):
        count = PLAN.num_sketches(options, attempt)
        rows = count * PLAN.width(options, count, attempt=attempt)
        assert n < rows <= MOST_SEARCHED
    assert PLAN.batch_size(options, 64) >= 1


def test_the_codes_of_an_exemplar_are_given_up_one_by_one() -> None:
    text = PreparedText("how", (5,), ())
    exemplar = Request(text=text, prefix=Sketch(1, 2, 3), exemplar="why")
    assert [PLAN.prefix(exemplar, attempt) for attempt in range(4)] == [(1, 2, 3), (1, 2), (1,), ()]
    given = Request(text=text, prefix=Sketch(1, 2))
    assert [PLAN.prefix(given, attempt) for attempt in range(3)] == [(1, 2)] * 3


def test_required_tokens_have_room() -> None:
    assert PLAN.width_for(Required((7,), (False,))) == 8
    assert PLAN.width_for(Required((7,) * 9, (False,) * 9)) == 16
