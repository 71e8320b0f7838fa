"""A streamed answer: a quick first paraphrase, then all of them; and work that stops when nobody waits for it."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from parasketch.generate.paraphrases import Paraphrase

from .conftest import FakeModel, OneEffort, Service, limited, running
from .test_service import TEXT, wait_for


class Doubtful(FakeModel):
    """A model that doubts itself."""

    def __call__(self, text: list[str], /, **wishes: Any) -> list[list[Paraphrase]]:
        return [[replace(one, accepted=False) for one in each] for each in super().__call__(text, **wishes)]


PATH = "/v1/paraphrase/stream"


@contextmanager
def streaming(service: Service, body: Any) -> Iterator[http.client.HTTPResponse]:
    """An answer that is still coming."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
    connection.request("POST", PATH, json.dumps(body), {"Content-Type": "application/json"})
    with closing(connection), connection.getresponse() as response:  # the socket is closed when both are
        yield response


def lines_of(service: Service, body: Any) -> list[Any]:
    answer = service.post(PATH, body)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/x-ndjson")
    return [json.loads(line) for line in answer.body.splitlines()]


def test_the_last_line_is_the_answer_that_is_not_streamed(service: Service) -> None:
    body = {"text": [TEXT, "Why not?"], "n": 3, "sketch": [2], "seed": 4}
    first, last = lines_of(service, body)
    assert not first["done"]
    assert [len(each["paraphrases"]) for each in first["results"]] == [1, 1]
    assert first["results"][0]["paraphrases"][0]["text"].startswith("quickly How heavy")
    assert last.pop("done")
    assert last == service.post("/v1/paraphrase", body).json


def test_a_model_that_knows_one_effort_answers_once() -> None:
    with running(models={"fake": OneEffort()}) as service:
        [only] = lines_of(service, {"text": TEXT, "n": 2})
        assert (only["done"], len(only["results"][0]["paraphrases"])) == (True, 2)


def test_what_is_quickly_found_is_not_shown_if_it_is_not_acceptable() -> None:
    with running(models={"fake": Doubtful()}) as service:
        [only] = lines_of(service, {"text": TEXT, "n": 2})
        assert (only["done"], only["results"][0]["paraphrases"][0]["accepted"]) == (True, False)


def test_the_first_paraphrase_does_not_wait_for_the_others() -> None:
    model = FakeModel()
    with running(models={"fake": model}) as service:
        model.second_gate.clear()
        with streaming(service, {"text": TEXT, "n": 2}) as answer:
            assert not json.loads(answer.readline())["done"]
            assert not model.batches[1:], "the others are not there yet"
            model.second_gate.set()
            assert len(json.loads(answer.readline())["results"][0]["paraphrases"]) == 2
            assert not answer.readline()


def test_work_stops_when_the_client_leaves() -> None:
    model = FakeModel()
    with running(models={"fake": model}) as service:
        model.second_gate.clear()
        with streaming(service, {"text": TEXT}) as answer:
            answer.readline()
            wait_for(lambda: b"parasketch_batch_size_count 2" in service.get("/metrics").body)
        wait_for(lambda: model.stopped == [[TEXT]])
        model.second_gate.set()
        assert service.post("/v1/paraphrase", {"text": "next"}).status == 200
        assert [TEXT] not in model.batches[1:]


def test_what_goes_wrong_before_the_first_line_has_a_status_and_later_a_line(service: Service) -> None:
    assert service.post(PATH, {"text": "refuse"}).status == 422
    assert service.post(PATH, {"text": TEXT, "n": 99}).status == 422
    first, last = lines_of(service, {"text": "refuse later"})
    assert not first["done"]
    assert last == {"error": {"status": 422, "message": "this text is refused after all"}}


def test_both_parts_of_an_answer_share_its_time() -> None:
    model = FakeModel()
    with running(limited(seconds=1), {"fake": model}) as service:
        model.second_gate.clear()
        assert lines_of(service, {"text": TEXT})[-1]["error"]["status"] == 504
        wait_for(lambda: model.stopped == [[TEXT]])
