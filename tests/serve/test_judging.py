"""A rater's way through a study over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from parasketch.judge.design import Source, design
from parasketch.judge.study import Study
from parasketch.serve.app import ServiceOptions
from parasketch.serve.limits import Limits

from .conftest import Service, running


def make_study(path: Path, items: int = 9) -> Study:
    """Two systems, one rater."""
    sources = [Source(text=f"How heavy is animal {k}?", rewording=f"What does animal {k} weigh?") for k in range(12)]
    outputs = {"one": [f"What is the weight of animal {k}?" for k in range(12)], "two": ["How so?"] * 12}
    made = design(sources, outputs, items=items, ratings=1, raters=1)
    return Study.create(path, list(outputs), made.comparisons, made.plan)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return make_study(tmp_path / "study.db")


@pytest.fixture
def judged(study: Study) -> Iterator[Service]:
    with running(ServiceOptions(limits=Limits(rate=0), study=study.path)) as service:
        yield service


def test_a_rater_goes_through_a_study_blind(judged: Service, study: Study) -> None:
    base = f"/judge/{study.tokens()[0]}"
    assert b"Which sentence is better?" in judged.get(base).body
    page = judged.get(base + "/next").json
    assert set(page) == {"done", "total", "assignment", "source", "left", "right"}, "nothing says which system it is"
    for done in range(page["total"]):
        assert page["done"] == done
        body = {"assignment": page["assignment"], "fluency": "left", "meaning": "left", "difference": "right"}
        page = judged.post(base + "/answers", {**body, "seconds": 2}).json
    assert page["assignment"] is None
    assert len(study.judgements()) == 3 * 10
    assert judged.get("/judge/stranger").status == 404
    assert judged.post(base + "/answers", {**body, "assignment": 999, "seconds": 2}).status == 404
    assert judged.post(base + "/answers", {**body, "fluency": "both", "seconds": 2}).status == 422
