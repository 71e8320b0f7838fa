"""Engines of other kinds: one that has no sketches stands beside HRQ-VAE's, and says what it cannot do."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest
import torch

from parasketch.errors import ModelError, UsageError
from parasketch.generate.candidates import Judged
from parasketch.generate.engine import Ability
from parasketch.generate.paraphraser import Paraphraser
from parasketch.generate.paraphrases import Paraphrase, Sketch
from parasketch.generate.requests import Options, PreparedText, Request
from parasketch.systems.kinds import KINDS, Kind
from parasketch.text.sentence_encoder import SentenceModel


class Shout:
    """Paraphrases in capitals."""

    kind, depth, codes, device = "shout", 0, 0, torch.device("cpu")
    abilities: frozenset[Ability] = frozenset()

    def prepare(self, texts: Sequence[str]) -> list[PreparedText]:
        return [PreparedText(text, tuple(range(len(text))), ()) for text in texts]

    def sketches_of(self, texts: Sequence[PreparedText]) -> list[Sketch]:
        raise AssertionError(texts)

    def batch_size(self, options: Options, largest: int) -> int:
        return min(2, largest, options.n + 1)

    def paraphrase(self, requests: Sequence[Request], options: Options) -> list[list[Paraphrase]]:
        assert len(requests) <= 2
        return [
            [
                Paraphrase(text=request.text.text.upper() + "!" * rank, sketch=Sketch(), score=0.0, difference=0.0)
                for rank in range(options.n)
            ]
            for request in requests
        ]

    def judged_candidates(self, requests: Sequence[Request], options: Options) -> list[Judged]:
        raise AssertionError((requests, options))

    def save(self, directory: Path | str, *, half: bool) -> None:
        del half
        Path(directory).mkdir()
        (Path(directory) / "config.json").write_text(json.dumps({"format": 1, "kind": "shout", "model": {}}))


def load_engine(directory: Path, device: str | None, semantic: SentenceModel | None) -> Shout:
    assert directory.is_dir()
    assert device == "cpu"
    assert semantic is None
    return Shout()


@pytest.fixture
def shout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Paraphraser:
    """Registered as a kind, saved, and loaded by it."""
    module = ModuleType("a_shouting_module")
    module.load_engine = load_engine  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(KINDS, "shout", Kind("in capitals", "", "", module.__name__))
    Shout().save(tmp_path / "model", half=False)
    return Paraphraser.from_pretrained(tmp_path / "model", device="cpu")


def test_a_model_of_another_kind_paraphrases(shout: Paraphraser, tmp_path: Path) -> None:
    texts = ["a moose", "who?", "a very long moose"]
    found = shout(texts, n=2)
    assert [[one.text for one in each] for each in found] == [[t.upper(), f"{t.upper()}!"] for t in texts]
    assert shout.depth == 0
    shout.save_pretrained(tmp_path / "again")
    assert (tmp_path / "again" / "config.json").is_file()


def test_what_it_cannot_do_is_refused(shout: Paraphraser) -> None:
    with pytest.raises(UsageError, match=r"^sketch cannot be used with this model: the kind shout has no sketches$"):
        shout("a moose", sketch=(1,))
    with pytest.raises(UsageError, match=r"^like cannot be used with this model: the kind shout cannot follow"):
        shout("a moose", like="a horse")
    with pytest.raises(UsageError, match=r"^depth cannot be used with this model"):
        shout("a moose", depth=0)
    with pytest.raises(UsageError, match=r"^temperature cannot be used with this model: the kind shout does not"):
        shout("a moose", temperature=1.0)
    with pytest.raises(UsageError, match=r"^sketch cannot be used with this model"):
        shout.sketch("a moose")
    with pytest.raises(UsageError, match=r"^candidates cannot be used with this model"):
        shout.candidates(["a moose"])


def test_an_unknown_kind_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"format": 1, "kind": "toaster", "model": {}}))
    with pytest.raises(ModelError, match=r"config\.json: a model of the kind 'toaster' is not known here \(known: "):
        Paraphraser.from_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"format": 1, "kind": ["hrqvae"], "model": {}}))
    with pytest.raises(ModelError, match=r"the kind \['hrqvae'\] is not known"):
        Paraphraser.from_pretrained(tmp_path)
