import json
import math

import pytest

from parasketch.generate import acceptance
from parasketch.generate.candidates import Candidate, CandidateSet
from parasketch.generate.paraphraser import Paraphraser
from parasketch.generate.paraphrases import Sketch
from parasketch.generate.pretrained import find_model
from parasketch.generate.settings import GenerateConfig
from parasketch.generate.tokens import Hypothesis
from parasketch.verify.description import Decision

SOURCE = "How heavy is a moose in 2019?"


def made(*texts: str, cycle: float = math.nan) -> list[Candidate]:
    found = CandidateSet(SOURCE)
    for text in texts:
        found.add(text, Hypothesis((7, 8), -1.0, 0.0), Sketch(), 0.0, 0)
        found.candidates[-1].cycle = cycle
    return found.candidates


class Believer:
    """Half believes what ends in a question mark, and nothing else."""

    decision = Decision(threshold=0.4)

    def __call__(self, pairs: list[tuple[str, str]]) -> list[float]:
        assert all(source == SOURCE for source, _ in pairs)
        return [0.5 if text.endswith("?") else 0.1 for _, text in pairs]


def judge(candidates: list[Candidate], **least: float) -> list[bool]:
    acceptance.judge_trust([(SOURCE, each) for each in candidates], GenerateConfig(**least))
    return [each.trusted for each in candidates]


@pytest.fixture
def no_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceptance, "installed_verifier", lambda: None)


@pytest.mark.usefixtures("no_verifier")
def test_without_a_verifier_faithfulness_has_to_reach_the_threshold() -> None:
    texts = ("the weight of a moose in 2019", "the weight of a moose")
    assert judge(made(*texts, cycle=math.log(0.5)), least_faithfulness=0.4) == [True, False]  # the second lost a number
    assert judge(made(*texts, cycle=math.log(0.3)), least_faithfulness=0.4) == [False, False]
    assert judge(made(*texts), least_faithfulness=0.4) == [True, False]  # never judged


def test_the_verifier_decides_of_what_the_other_checks_let_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceptance, "installed_verifier", Believer)
    texts = ("the weight of a moose in 2019", "what weighs a moose in 2019?", "what weighs a moose?")
    assert judge(made(*texts)) == [False, True, False]
    assert judge(made(*texts), least_verified=0.05) == [True, True, False]  # a model may have a threshold of its own
    assert judge(made(*texts), least_verified=0.6) == [False, False, False]


@pytest.mark.usefixtures("no_verifier")
def test_words_out_of_order_are_not_accepted() -> None:
    texts = ("what is the weight of a moose in 2019?", "of weight what moose the a is in 2019?")
    assert judge(made(*texts), least_fluency=-0.5) == [True, False]


@pytest.mark.parametrize("model", ["questions", "captions"])
def test_shipped_models_have_thresholds_of_their_own(model: str) -> None:
    settings = json.loads((find_model(model) / "config.json").read_text())["generate"]
    assert settings["least_faithfulness"] > 0
    assert settings["least_fluency"] > -3


@pytest.mark.parametrize(
    ("model", "text", "kept"),
    [
        ("questions", "Why is it not legal to own a gun in Japan?", ("not", "n't", "illegal")),
        ("captions", "Please contact anna.meier@example.com before 4:30 pm.", ("anna.meier@example.com",)),
        ("captions", "Please contact anna.meier@example.com before 4:30 pm.", ("4:30",)),
    ],
)
@pytest.mark.usefixtures("no_verifier")
def test_shipped_models_accept_nothing_that_lost_its_point(model: str, text: str, kept: tuple[str, ...]) -> None:
    accepted = [each.text.lower() for each in Paraphraser.from_pretrained(model)(text, n=5) if each.accepted]
    assert all(any(part in each for part in kept) for each in accepted)
