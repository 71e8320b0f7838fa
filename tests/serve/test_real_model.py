"""A model of the package behind the service: what is batched is equal to what the model says alone."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from parasketch.generate.paraphraser import Paraphraser
from parasketch.generate.stopping import Stopped, while_wanted
from parasketch.serve.models import as_json

from .conftest import Service, running

TEXTS = ["How heavy is a moose?", "Why is the sky blue at noon and red in the evening?", "Can cats swim?"]


def test_a_search_ends_when_nobody_waits_for_it() -> None:
    paraphraser = Paraphraser.from_pretrained("questions")
    with while_wanted(lambda: False), pytest.raises(Stopped):
        paraphraser(TEXTS[0])


def test_the_small_models_are_served_without_torch() -> None:
    program = """
import sys
import parasketch.cli.serve, parasketch.serve.app, parasketch.serve.server
from parasketch.serve.models import Item, Models, Wanted, load
models = Models({"questions": load("questions", None)})
models.paraphrase(Wanted(model="questions"), [Item("How heavy is a moose?")])
print("torch" in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert found.stdout == "False\n", "its import takes longer than all the rest"


def test_answers_equal_those_of_the_model_alone() -> None:
    paraphraser = Paraphraser.from_pretrained("questions")
    alone = [[as_json(one) for one in paraphraser(text, n=2)] for text in TEXTS]
    with running(models={"questions": paraphraser}) as service, ThreadPoolExecutor(len(TEXTS)) as clients:  # type: ignore[dict-item]

        def ask(text: str) -> list[dict[str, object]]:
            answer = Service.post(service, "/v1/paraphrase", {"text": text, "n": 2})
            return list(answer.json["results"][0]["paraphrases"])

        together = list(clients.map(ask, TEXTS))
        tree = service.post("/v1/tree", {"text": TEXTS[0]}).json
        refused = service.post("/v1/paraphrase", {"text": TEXTS[0], "sketch": [99]})
    for text, one, other in zip(TEXTS, alone, together, strict=True):
        assert [each["text"] for each in one] == [each["text"] for each in other], text
        assert [each["sketch"] for each in one] == [each["sketch"] for each in other], text
    assert tree["own"] == list(paraphraser.sketch(TEXTS[0]))
    assert 0 < sum(branch["probability"] for branch in tree["branches"]) <= 1
    assert (refused.status, "out of range" in refused.message) == (422, True)
