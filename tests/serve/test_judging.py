"""A rater's way through a study over HTTP."""

import http.client
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from parasketch.judge.design import Source, design
from parasketch.judge.study import Study
from parasketch.serve.app import ServiceOptions
from parasketch.serve.limits import Limits

from .conftest import FakeModel, Service, running
from .test_service import wait_for


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


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_no_judgement_that_the_page_confirmed_is_missing_after_sigkill(study: Study) -> None:
    program = """
import sys
from pathlib import Path
from parasketch.serve.app import Limits, Models, ServiceOptions, create_app
from parasketch.serve.server import serve
serve(create_app(Models({}), ServiceOptions(study=Path(sys.argv[1]))), host="127.0.0.1", port=0, limits=Limits(),
      ready=lambda port: print(port, flush=True))
"""
    process = subprocess.Popen([sys.executable, "-c", program, str(study.path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    service = Service(int(process.stdout.readline()), FakeModel(), None)  # type: ignore[arg-type]
    base, confirmed = f"/judge/{study.tokens()[0]}", [0]
    answers = {"fluency": "left", "meaning": "right", "difference": "left", "seconds": 1}

    def rate() -> None:
        page = service.get(base + "/next").json
        while page["assignment"] is not None:
            try:
                page = service.post(base + "/answers", {**answers, "assignment": page["assignment"]}).json
            except (OSError, http.client.HTTPException):
                return  # the server is gone, and nothing was confirmed
            confirmed[0] = page["done"]

    rater = threading.Thread(target=rate)
    rater.start()
    wait_for(lambda: confirmed[0] >= 3)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(20)
    rater.join(20)
    stored = len(Study(study.path).judgements())
    assert stored % 3 == 0, "three answers or none"
    assert stored // 3 >= confirmed[0] >= 3
