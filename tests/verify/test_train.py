import itertools
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from parasketch.model.cross_encoder import CrossEncoder
from parasketch.verify import train
from parasketch.verify.inputs import PairTokenizer
from parasketch.verify.storage import Decision
from parasketch.verify.train import LabelledPair, TrainingPlan, train_verifier
from parasketch.verify.verifier import Verifier

ANIMALS = ("moose", "whale", "otter")
FORMS = ("a {} sleeps .", "the {} swims here .", "there runs a {} .")
PAIRS = [
    LabelledPair((one.format(a), other.format(b)), a == b)
    for one, other in itertools.product(FORMS, FORMS)
    for a, b in itertools.product(ANIMALS, ANIMALS)
]
PLAN = TrainingPlan(minutes=1.0, batch_size=16, learning_rate=3e-3, head_rate=1.0)


class Clock:
    """One second a step, whatever the machine does."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 1.0
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train, "time", Clock())


def test_it_learns_to_compare(model: CrossEncoder, tokenizer: PairTokenizer) -> None:
    done = train_verifier(model, tokenizer, PAIRS, replace(PLAN, minutes=8.0), log=lambda _: None)
    assert done.steps == pytest.approx(480, abs=2)
    scores = Verifier.from_model(model, tokenizer, Decision())([pair.pair for pair in PAIRS])
    right = [(score > 0.5) == pair.same for score, pair in zip(scores, PAIRS, strict=True)]
    assert sum(right) / len(right) > 0.95


def test_token_embeddings_stay(model: CrossEncoder, tokenizer: PairTokenizer) -> None:
    before = model.encoder.tokens.weight.clone()
    train_verifier(model, tokenizer, PAIRS, replace(PLAN, minutes=0.1), log=lambda _: None)
    assert torch.equal(model.encoder.tokens.weight, before)


def test_a_stopped_run_goes_on_as_if_it_had_not_stopped(
    model: CrossEncoder, tokenizer: PairTokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = {name: value.clone() for name, value in model.state_dict().items()}
    plan = replace(PLAN, minutes=0.5, save_minutes=0.2)
    train_verifier(model, tokenizer, PAIRS, plan, log=lambda _: None)
    whole = {name: value.clone() for name, value in model.state_dict().items()}

    def stop(_: object) -> None:
        raise KeyboardInterrupt

    model.load_state_dict(start)
    monkeypatch.setattr(train, "time", Clock())
    with pytest.raises(KeyboardInterrupt):
        train_verifier(model, tokenizer, PAIRS, plan, checkpoint=tmp_path / "c", on_save=stop, log=lambda _: None)
    model.load_state_dict(start)
    monkeypatch.setattr(train, "time", Clock())
    train_verifier(model, tokenizer, PAIRS, plan, checkpoint=tmp_path / "c", log=lambda _: None)
    assert all(torch.equal(value, whole[name]) for name, value in model.state_dict().items())
