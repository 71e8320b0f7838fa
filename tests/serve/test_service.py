"""The REST service as its clients see it: answers, limits, batches, keys, figures and the end."""

import io
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from parasketch.serve.app import ServiceOptions
from parasketch.serve.clients import Keys, RateLimit
from parasketch.serve.limits import Limits, ServiceError

from .conftest import FakeModel, Service, limited, running

TEXT = "How heavy is a moose?"


def wait_for(true: Callable[[], bool]) -> None:
    for _ in range(2000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen")


def test_a_text_or_a_list_is_paraphrased(service: Service) -> None:
    one = service.post("/v1/paraphrase", {"text": TEXT, "n": 2, "seed": 3}).json
    assert one["model"] == "fake"
    [result] = one["results"]
    assert result["text"] == TEXT
    assert [each["text"] for each in result["paraphrases"]] == [
        TEXT + " (1,0,2, 3)",
        "heavy is a moose? How (1,0,2, 3)",
    ]
    many = service.post("/v1/paraphrase", {"text": [TEXT, "Why?"], "depth": 1}).json
    assert [each["paraphrases"][0]["sketch"] for each in many["results"]] == [[1], [1]]


def test_the_form_follows_an_exemplar_or_a_sketch(service: Service) -> None:
    def form(**wish: Any) -> list[int]:
        answer = service.post("/v1/paraphrase", {"text": TEXT, **wish}).json
        return list(answer["results"][0]["paraphrases"][0]["sketch"])

    [sketch] = service.post("/v1/sketch", {"text": "Why not?"}).json["sketches"]
    assert form(like="Why not?") == sketch
    assert form(sketch=[3, 2]) == [3, 2, 0]
    assert service.post("/v1/paraphrase", {"text": TEXT, "like": "a", "sketch": [1]}).status == 422
    two = {"text": [TEXT, TEXT], "sketch": [[3], [2]]}
    results = service.post("/v1/paraphrase", two).json["results"]
    assert [each["paraphrases"][0]["sketch"][0] for each in results] == [3, 2]
    assert "2 texts" in service.post("/v1/paraphrase", {**two, "sketch": [[1], [2], [3]]}).message


def test_the_tree_has_probabilities_and_no_sketch_twice(service: Service) -> None:
    tree = service.post("/v1/tree", {"text": TEXT, "n": 14}).json
    sketches = [tuple(branch["sketch"]) for branch in tree["branches"]]
    assert len(set(sketches)) == len(sketches) == 12
    probabilities = [branch["probability"] for branch in tree["branches"]]
    assert probabilities == sorted(probabilities, reverse=True)
    assert 0 < probabilities[0] <= 1
    assert len(tree["own"]) == 3


def test_models_and_codes_are_listed(service: Service) -> None:
    service.post("/v1/paraphrase", {"text": TEXT})
    listed = service.get("/v1/models").json
    assert listed["models"] == [
        {"name": "fake", "depth": 3, "default": True},
        {"name": "flat", "depth": None, "default": False},
    ], "nobody has asked for the other one yet"
    assert service.get("/v1/models/flat").json == {"name": "flat", "depth": 1, "default": False}
    assert service.get("/v1/models").json["models"][1]["depth"] == 1
    codes = service.get("/v1/codes/flat").json["codes"]
    assert {row["level"] for row in codes} == {1}
    assert sum(row["count"] for row in codes) == 40
    assert all(row["sentences"] for row in codes)
    assert service.get("/v1/codes/none").status == 422
    assert "/v1/paraphrase" in service.get("/openapi.json").json["paths"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"text": TEXT, "n": 10**9}, "n is 1000000000 (expected 1 to 20)"),
        ({"text": TEXT, "n": 0}, "n is 0"),
        ({"text": "x" * 2001}, "2,001 characters"),
        ({"text": [TEXT] * 65}, "65 texts"),
        ({"text": []}, "0 texts"),
        ({"text": "  "}, "is empty"),
        ({"text": TEXT, "m": 2}, "m: Extra inputs"),
        ({"text": TEXT, "model": "nobody"}, "no model 'nobody'"),
        ({"text": TEXT, "sketch": "1,2"}, "sketch"),
        ({}, "text: Field required"),
        (b"{", "JSON"),
    ],
)
def test_what_makes_no_sense_is_422_with_a_reason(service: Service, body: Any, message: str) -> None:
    answer = service.post("/v1/paraphrase", body)
    assert (answer.status, message in answer.message) == (422, True), answer.body


def test_a_body_that_is_too_long_is_413(service: Service) -> None:
    head = b"POST /v1/paraphrase HTTP/1.1\r\nHost: x\r\n"
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as client:
        client.sendall(head + b"Content-Length: 1100000\r\n\r\n")  # the length alone is enough
        assert b" 413 " in client.recv(4096)
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as client:  # one that hides its length
        client.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        for _ in range(40):
            client.sendall(chunk)
            if select.select([client], [], [], 0.1)[0]:  # an answer is there: more would only break the pipe
                break
        assert b" 413 " in client.recv(4096)


def test_requests_of_several_clients_are_batched_and_not_mixed_up() -> None:
    model = FakeModel()
    with running(models={"fake": model}) as service, ThreadPoolExecutor(16) as clients:
        model.gate.clear()
        texts = [f"text number {number}" for number in range(40)]
        answers = [
            clients.submit(service.post, "/v1/paraphrase", {"text": text, "n": 1 + place % 2})
            for place, text in enumerate(texts)
        ]
        time.sleep(0.3)
        model.gate.set()
        for place, (text, answer) in enumerate(zip(texts, answers, strict=True)):
            [result] = answer.result().json["results"]
            assert result["text"] == text
            assert len(result["paraphrases"]) == 1 + place % 2
            assert result["paraphrases"][0]["text"].startswith(text)
        assert max(map(len, model.batches)) > 1


def test_one_bad_text_spoils_no_other() -> None:
    model = FakeModel()
    with running(models={"fake": model}) as service, ThreadPoolExecutor(8) as clients:
        model.gate.clear()
        first = clients.submit(service.post, "/v1/paraphrase", {"text": "first"})
        time.sleep(0.2)
        texts = ["one", "refuse", "two", "crash"]
        answers = [clients.submit(service.post, "/v1/paraphrase", {"text": text}) for text in texts]
        time.sleep(0.2)
        model.gate.set()
        assert first.result().status == 200
        assert [answer.result().status for answer in answers] == [200, 422, 200, 500]
        assert answers[1].result().message == "this text is refused"


def test_a_long_list_waits_with_the_others() -> None:
    model = FakeModel()
    options = ServiceOptions(limits=Limits(rate=0), batch_size=4)
    with running(options, {"fake": model}) as service, ThreadPoolExecutor(4) as clients:
        model.gate.clear()
        clients.submit(service.post, "/v1/paraphrase", {"text": [f"list {number}" for number in range(40)]})
        wait_for(lambda: service.get("/healthz").json["queue"] == 36)
        short = clients.submit(service.post, "/v1/paraphrase", {"text": "short"})
        wait_for(lambda: service.get("/healthz").json["queue"] == 37)
        model.gate.set()
        assert short.result().status == 200
        assert "short" in model.batches[1]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only 127.0.0.1 is there without asking")
def test_a_full_queue_is_503_and_slow_work_504() -> None:
    model = FakeModel()
    with running(limited(queue=4, seconds=3), {"fake": model}) as service, ThreadPoolExecutor(4) as clients:
        model.gate.clear()
        held = clients.submit(service.post, "/v1/paraphrase", {"text": ["a", "b"]})
        wait_for(lambda: b"parasketch_batch_size_count 1" in service.get("/metrics").body)
        clients.submit(service.post, "/v1/paraphrase", {"text": ["d", "e"]})
        wait_for(lambda: service.get("/healthz").json["queue"] == 2)
        full = service.post("/v1/paraphrase", {"text": "f"})
        assert (full.status, full.headers["retry-after"]) == (503, "1"), "half of the queue is for others"
        others = clients.submit(service.post, "/v1/paraphrase", {"text": ["g", "h"]}, source="127.0.0.2")
        wait_for(lambda: service.get("/healthz").json["queue"] == 4)
        assert service.post("/v1/paraphrase", {"text": "i"}, source="127.0.0.3").status == 503
        assert [held.result().status, others.result().status] == [504, 504]
        model.gate.set()
        wait_for(lambda: service.get("/healthz").json["queue"] == 0)
        assert service.post("/v1/paraphrase", {"text": TEXT}).status == 200
        assert ["d", "e"] not in model.batches, "what nobody waits for is not worked on"


def test_a_client_that_leaves_gives_its_place_back() -> None:
    model = FakeModel()
    with running(models={"fake": model}) as service, ThreadPoolExecutor(4) as clients:
        model.gate.clear()
        held = clients.submit(service.post, "/v1/paraphrase", {"text": "first"})
        wait_for(lambda: b"parasketch_batch_size_count 1" in service.get("/metrics").body)
        body = json.dumps({"text": "left"}).encode()
        with socket.create_connection(("127.0.0.1", service.port)) as client:
            lines = ["POST /v1/paraphrase HTTP/1.1", "Host: x", "Content-Type: application/json"]
            lines += [f"Content-Length: {len(body)}", "", ""]
            client.sendall("\r\n".join(lines).encode() + body)
            wait_for(lambda: service.get("/healthz").json["queue"] == 1)
        wait_for(lambda: service.get("/healthz").json["queue"] == 0)
        model.gate.set()
        assert held.result().status == 200
        assert ["left"] not in model.batches


def test_clients_that_trickle_are_sent_away_and_hold_up_nobody() -> None:
    with running(limited(receive_seconds=0.4)) as service:
        headers = socket.create_connection(("127.0.0.1", service.port), timeout=20)
        headers.sendall(b"POST /v1/paraphrase HTT")
        body = socket.create_connection(("127.0.0.1", service.port), timeout=20)
        body.sendall(b"POST /v1/paraphrase HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        assert service.post("/v1/paraphrase", {"text": TEXT}).status == 200
        assert b" 408 " in body.recv(4096)
        assert headers.recv(4096) == b""
        headers.close()
        body.close()


def test_a_client_that_asks_too_often_is_429() -> None:
    with running(limited(rate=1)) as service:
        statuses = [service.post("/v1/sketch", {"text": TEXT}).status for _ in range(4)]
        assert statuses[:2] == [200, 200]
        refused = service.post("/v1/sketch", {"text": TEXT})
        assert refused.status == 429 or 429 in statuses
        assert service.get("/healthz").status == 200


def test_the_rate_flows_back() -> None:
    now = 0.0
    limit = RateLimit(2, clock=lambda: now)
    for _ in range(4):
        limit.check("a")
    limit.check("b")
    with pytest.raises(ServiceError) as refused:
        limit.check("a")
    assert refused.value.headers == {"Retry-After": "1"}
    now = 0.5
    limit.check("a")


def test_keys_are_hashed_and_needed(tmp_path: Path) -> None:
    path, keys = tmp_path / "keys.txt", Keys({})
    key = keys.add("alice")
    keys.write(path)
    assert key not in path.read_text()
    assert path.stat().st_mode & 0o077 == 0
    log = io.StringIO()
    with running(ServiceOptions(limits=Limits(rate=0), keys=Keys.read(path), log=log)) as service:
        body = {"text": TEXT}
        assert service.post("/v1/sketch", body).status == 401
        assert service.post("/v1/sketch", body, {"Authorization": "Bearer wrong"}).status == 401
        assert service.post("/v1/sketch", body, {"Authorization": f"Bearer {key}"}).status == 200
        assert service.get("/healthz").status == 200
    last = [json.loads(line) for line in log.getvalue().splitlines() if "/v1/sketch" in line][-1]
    assert (last["client"], last["status"], last["path"]) == ("key:alice", 200, "/v1/sketch")
    assert "moose" not in log.getvalue()


def test_figures_are_there(service: Service) -> None:
    service.post("/v1/paraphrase", {"text": [TEXT, "Why?"]})
    service.post("/v1/paraphrase", {"text": ""})
    page = service.get("/metrics").body.decode()
    assert 'parasketch_requests_total{path="/v1/paraphrase",status="200"} 1' in page
    assert 'parasketch_requests_total{path="/v1/paraphrase",status="422"} 1' in page
    assert 'parasketch_batch_size_bucket{le="2"} 1' in page
    assert 'parasketch_request_seconds_bucket{path="/v1/paraphrase",le="+Inf"} 2' in page
    assert "parasketch_queue 0" in page


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_sigterm_under_load_answers_what_was_accepted() -> None:
    program = """
import sys
sys.path.insert(0, sys.argv[1])
from serve.conftest import FakeModel, Limits, Models, ServiceOptions, create_app
from parasketch.serve.server import serve
model = FakeModel(seconds=0.05)
serve(create_app(Models({"fake": lambda: model}), ServiceOptions(limits=Limits(rate=0), batch_size=2)),
      host="127.0.0.1", port=0, limits=Limits(rate=0), ready=lambda port: print(port, flush=True))
"""
    tests = str(Path(__file__).parents[1])
    process = subprocess.Popen([sys.executable, "-c", program, tests], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    service = Service(int(process.stdout.readline()), FakeModel(), None)  # type: ignore[arg-type]
    results: list[int] = []
    threads = [
        threading.Thread(
            target=lambda place=place: results.append(service.post("/v1/paraphrase", {"text": f"text {place}"}).status)
        )
        for place in range(20)
    ]
    for thread in threads:
        thread.start()
    wait_for(lambda: service.get("/healthz").json["queue"] >= 10)
    os.kill(process.pid, signal.SIGTERM)
    for thread in threads:
        thread.join(20)
    assert process.wait(20) == 0
    assert results == [200] * 20
