import json
from pathlib import Path

import pytest
import torch

from parasketch.errors import ModelError
from parasketch.model.cross_encoder import CrossEncoder
from parasketch.verify.inputs import PairTokenizer
from parasketch.verify.storage import Decision, dequantise, load_verifier, quantise, save_verifier
from parasketch.verify.verifier import Verifier


def test_eight_bits_are_off_by_half_a_step_of_their_row() -> None:
    weights = {
        "m": torch.randn(20, 30) * torch.logspace(-4, 2, 20)[:, None],
        "v": torch.randn(7),
        "z": torch.zeros(2, 3),
    }
    restored = dequantise(quantise(weights))
    step = weights["m"].abs().amax(dim=1, keepdim=True) / 127
    assert bool(((restored["m"] - weights["m"]).abs() <= 0.501 * step).all())
    assert torch.equal(restored["v"], weights["v"])
    assert torch.equal(restored["z"], weights["z"])


def test_what_is_saved_is_loaded(model: CrossEncoder, tokenizer: PairTokenizer, somewhere: Path) -> None:
    decision = Decision(temperature=1.5, threshold=0.7)
    save_verifier(somewhere, model, tokenizer, decision, card="# A card\n")
    loaded = load_verifier(somewhere)
    assert loaded.decision == decision
    assert loaded.model.config == model.config
    pair = [("a moose sleeps .", "the moose sleeps here .")]
    before = Verifier.from_model(model, tokenizer, decision)(pair)
    assert Verifier.from_pretrained(somewhere)(pair) == pytest.approx(before, abs=0.01)


class TestErrors:
    def test_no_directory(self, somewhere: Path) -> None:
        with pytest.raises(ModelError, match=r"config\.json, model\.safetensors, tokenizer\.json missing"):
            load_verifier(somewhere)

    def test_another_kind_of_model(self, model: CrossEncoder, tokenizer: PairTokenizer, somewhere: Path) -> None:
        save_verifier(somewhere, model, tokenizer, Decision())
        (somewhere / "config.json").write_text('{"format": 1, "model": {}}')
        with pytest.raises(ModelError, match="not the configuration of a verifier"):
            load_verifier(somewhere)

    def test_another_shape(self, model: CrossEncoder, tokenizer: PairTokenizer, somewhere: Path) -> None:
        save_verifier(somewhere, model, tokenizer, Decision())
        content = json.loads((somewhere / "config.json").read_text())
        content["model"]["layers"] = 3
        (somewhere / "config.json").write_text(json.dumps(content))
        with pytest.raises(ModelError, match=r"does not fit config\.json"):
            load_verifier(somewhere)

    def test_damaged_weights(self, model: CrossEncoder, tokenizer: PairTokenizer, somewhere: Path) -> None:
        save_verifier(somewhere, model, tokenizer, Decision())
        weights = somewhere / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-100])
        with pytest.raises(ModelError, match="damaged"):
            load_verifier(somewhere)

    def test_a_file_that_is_no_tokenizer(self, model: CrossEncoder, tokenizer: PairTokenizer, somewhere: Path) -> None:
        save_verifier(somewhere, model, tokenizer, Decision())
        (somewhere / "tokenizer.json").write_text("{}")
        with pytest.raises(ModelError, match="not a tokenizer"):
            load_verifier(somewhere)
