"""The model as a system: which exemplars and depths reach the generator, and what comes back."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from parasketch.errors import ModelError, UsageError
from parasketch.evaluate.run import model_runs
from parasketch.systems.trained import Oracle, OwnSketch, Plain, PlainOracle, Trained


@dataclass
class Text:
    text: str


class FakeParaphraser:
    """Writes down what it is asked; gives at most two candidates."""

    depth = 3

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def sketch(self, texts: Sequence[str], /) -> list[tuple[str]]:
        return [(text,) for text in texts]

    def __call__(self, texts: Sequence[str], /, **asked: Any) -> list[list[Text]]:
        self.calls.append(asked)
        return [[Text(f"{text} {rank}") for rank in range(min(asked["n"], 2))] for text in texts]


@pytest.fixture
def model() -> Trained:
    return Trained(FakeParaphraser(), model="questions", seed=5, batch_size=8)


def asked(system: Trained) -> dict[str, Any]:
    return system._generator.calls[-1]  # type: ignore[attr-defined]


def test_predicted_sketches_need_no_exemplars(model: Trained) -> None:
    assert model.generate(["a", "b"], 2, [["r"], ["s"]]) == [["a 0", "a 1"], ["b 0", "b 1"]]
    expected = {
        "n": 2,
        "sketch": None,
        "depth": None,
        "rerank": True,
        "batch_size": 8,
        "seed": 5,
        "show_progress": True,
    }
    assert asked(model) == expected


def test_too_few_candidates_are_filled_up_with_the_last(model: Trained) -> None:
    assert model.generate(["a"], 4) == [["a 0", "a 1", "a 1", "a 1"]]


def test_oracle_and_own_sketch_differ_in_their_exemplars(model: Trained) -> None:
    Oracle.like(model, cut=2).generate(["a", "b"], 1, [["r", "x"], ["s"]])
    assert (asked(model)["sketch"], asked(model)["depth"], asked(model)["seed"]) == ([("r",), ("s",)], 2, 5)
    OwnSketch.like(model).generate(["a", "b"])
    assert (asked(model)["sketch"], asked(model)["depth"]) == ([("a",), ("b",)], None)
    with pytest.raises(UsageError, match="needs references"):
        Oracle.like(model).generate(["a"])


def test_plain_means_without_reranking(model: Trained) -> None:
    Plain.like(model).generate(["a"], 2)
    assert (asked(model)["rerank"], asked(model)["sketch"], asked(model)["n"]) == (False, None, 2)
    PlainOracle.like(model).generate(["a"], 1, [["r"]])
    assert (asked(model)["rerank"], asked(model)["sketch"]) == (False, [("r",)])


def test_training_is_done_elsewhere(model: Trained) -> None:
    with pytest.raises(UsageError, match="`parasketch train`"):
        model.fit([])


def test_fingerprint_is_that_of_the_weights(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"abc")
    system = Trained(FakeParaphraser(), model=str(tmp_path))
    assert system.fingerprint() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_saved_settings_name_the_model(model: Trained, tmp_path: Path) -> None:
    Oracle.like(model, cut=1).save(tmp_path / "oracle")
    assert '"model": "questions"' in (tmp_path / "oracle" / "system.json").read_text()
    (tmp_path / "oracle" / "system.json").write_text('{"system": "oracle"}')
    with pytest.raises(ModelError, match="does not say which model to use"):
        Oracle.load(tmp_path / "oracle")


def test_ways_to_evaluate_one_model(model: Trained) -> None:
    def names(**ways: bool) -> list[str]:
        return [run.name for run in model_runs(model, name="m", top=3, **ways)]

    assert names() == ["m"]
    assert names(plain=True, own=True, oracle=True) == ["m", "m plain", "m own sketch", "m oracle", "m plain oracle"]
    depths = ["m", "m oracle depth 0", "m oracle depth 1", "m oracle depth 2", "m oracle"]
    assert names(depths=True) == names(depths=True, oracle=True) == depths
    assert names(depths=True, plain=True)[1:3] == ["m plain", "m plain depth 0"]
    assert [run.candidates for run in model_runs(model, name="m", top=3, oracle=True)] == [3, 1]
