import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from parasketch.errors import ModelError
from parasketch.model.storage import save_model
from parasketch.systems.hrqvae.config import ModelConfig
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.systems.kinds import load_model
from parasketch.text.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(["how heavy is a moose?", "how heavy is a whale?"], vocab_size=270)


@pytest.fixture(scope="module")
def model(tokenizer: Tokenizer) -> HRQVAE:
    config = ModelConfig(
        vocab_size=tokenizer.vocab_size, width=16, heads=2, ff=16, encoder_layers=1, decoder_layers=1, meaning_width=8,
        form_width=8, form_heads=2, codes=4, predictor_width=8, predictor_heads=2, predictor_hidden=8, copy_width=8,
    )  # fmt: skip
    return HRQVAE(config, mask_id=tokenizer.mask_id)


@pytest.fixture
def directory(tmp_path: Path, model: HRQVAE, tokenizer: Tokenizer) -> Path:
    path = tmp_path / "saved"
    save_model(path, model, tokenizer, sections={"generate": {"beam": 3}}, card="# A card\n")
    return path


def test_what_was_saved_is_loaded(directory: Path, model: HRQVAE, tokenizer: Tokenizer) -> None:
    loaded = load_model(directory)
    assert loaded.model.config == model.config
    assert loaded.model.mask_id == model.mask_id
    assert not loaded.model.training
    assert loaded.tokenizer == tokenizer
    assert loaded.sections == {"generate": {"beam": 3}}
    for name, tensor in model.state_dict().items():
        assert torch.equal(loaded.model.state_dict()[name], tensor)
    assert sorted(path.name for path in directory.iterdir()) == [
        "README.md", "config.json", "model.safetensors", "tokenizer.json",
    ]  # fmt: skip


def test_half_precision_is_for_the_disk_only(
    tmp_path: Path, directory: Path, model: HRQVAE, tokenizer: Tokenizer
) -> None:
    save_model(tmp_path / "half", model, tokenizer, half=True)
    loaded = load_model(tmp_path / "half")
    for name, tensor in loaded.model.state_dict().items():
        assert tensor.dtype == torch.float32
        assert torch.equal(tensor, model.state_dict()[name].half().float())
    sizes = [(path / "model.safetensors").stat().st_size for path in (tmp_path / "half", directory)]
    assert sizes[0] < 0.6 * sizes[1]


def test_weights_that_16_bits_cannot_hold_are_not_halved(tmp_path: Path, model: HRQVAE, tokenizer: Tokenizer) -> None:
    large = HRQVAE(model.config, mask_id=model.mask_id)
    with torch.no_grad():
        large.quantizer.codebooks[0, 0, 0] = 1e6
    with pytest.raises(ModelError, match=r"quantizer\.codebooks has values that 16 bits cannot hold"):
        save_model(tmp_path / "half", large, tokenizer, half=True)
    assert not list(tmp_path.iterdir())


def test_loading_leaves_the_random_numbers_alone(directory: Path) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    load_model(directory)
    assert torch.equal(torch.rand(3), expected)


def test_a_missing_directory(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"nowhere: no such model directory$"):
        load_model(tmp_path / "nowhere")


def test_a_directory_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match=r"config\.json: not the configuration of a parasketch model"):
        load_model(tmp_path)
    (tmp_path / "config.json").write_text('{"format": 1, "model": {}}')
    with pytest.raises(ModelError, match=r"not a model directory: model\.safetensors, tokenizer\.json missing$"):
        load_model(tmp_path)
    (tmp_path / "config.json").unlink()
    with pytest.raises(ModelError, match=r"not a model directory: config\.json, model\.safetensors"):
        load_model(tmp_path)


def test_models_of_before_have_no_kind(directory: Path) -> None:
    content = json.loads((directory / "config.json").read_text())
    assert content.pop("kind") == "hrqvae"
    (directory / "config.json").write_text(json.dumps(content))
    assert load_model(directory).kind == "hrqvae"


def rewrite(path: Path, **changes: object) -> None:
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, **changes}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": None}, "not the configuration of a parasketch model"),
        ({"format": 2}, r"written by another version \(expected format 1\)"),
        ({"model": {"wdith": 3}}, "unknown key model.wdith"),
        ({"model": {"width": "wide"}}, r"model\.width: 'wide' \(expected int\)"),
    ],
)
def test_a_foreign_configuration(directory: Path, changes: dict[str, object], message: str) -> None:
    rewrite(directory / "config.json", **changes)
    with pytest.raises(ModelError, match=message):
        load_model(directory)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("damage", ["cut", "garbage", "empty"])
def test_a_damaged_file_is_named(directory: Path, name: str, damage: str) -> None:
    content = (directory / name).read_bytes()
    damaged = {"cut": content[: len(content) // 2], "garbage": b"\x80\x03garbage" * 9, "empty": b""}[damage]
    (directory / name).write_bytes(damaged)
    with pytest.raises(ModelError, match=name):
        load_model(directory)


def test_weights_of_another_model(directory: Path) -> None:
    path = directory / "model.safetensors"
    weights = load_file(path)
    cut = {**weights, "quantizer.codebooks": weights["quantizer.codebooks"][:2].contiguous()}
    save_file(cut, path)
    with pytest.raises(ModelError, match=r"quantizer\.codebooks is \(2, 4, 8\), expected \(3, 4, 8\)$"):
        load_model(directory)
    save_file({name: tensor for name, tensor in weights.items() if name != "meaning.mean.weight"}, path)
    with pytest.raises(ModelError, match=r"no weights meaning\.mean\.weight$"):
        load_model(directory)
    save_file({**weights, "more": torch.zeros(1)}, path)
    with pytest.raises(ModelError, match=r"unknown weights more$"):
        load_model(directory)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 65_536}, r"is \(.*\), expected \(.*65536\)"),
        ({"width": 10**400}, "model.width: expected at most"),
        ({"width": -16}, "model.width: expected at least"),
        ({"encoder_layers": 10**9}, r"model\.encoder_layers: expected at most 64"),
        ({"encoder_layers": 64}, "no weights encoder"),
        ({"codes": 65_536, "levels": 64}, "quantizer|predictor"),
        ({"max_length": 10**12}, r"model\.max_length: expected at most"),
        ({"init_gain": float("nan")}, r"model\.init_gain: nan \(expected float\)"),
        ({"dropout": float("inf")}, r"model\.dropout: inf"),
    ],
)
def test_absurd_sizes_are_refused_before_anything_is_allocated(
    directory: Path, changes: dict[str, object], message: str
) -> None:
    content = json.loads((directory / "config.json").read_text())
    rewrite(directory / "config.json", model={**content["model"], **changes})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelError, match=message):
        load_model(directory)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB


def test_a_configuration_that_is_nested_too_deeply(directory: Path) -> None:
    (directory / "config.json").write_text('{"format": 1, "model": ' + "[" * 200_000 + "]" * 200_000 + "}")
    with pytest.raises(ModelError, match=r"config\.json: cannot be read"):
        load_model(directory)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers(directory: Path, value: float) -> None:
    path = directory / "model.safetensors"
    weights = load_file(path)
    weights["quantizer.codebooks"][0, 0, 0] = value
    save_file(weights, path)
    with pytest.raises(ModelError, match=r"quantizer\.codebooks has values that are no numbers$"):
        load_model(directory)


def test_weights_of_another_type(directory: Path) -> None:
    path = directory / "model.safetensors"
    save_file({name: tensor.to(torch.int32) for name, tensor in load_file(path).items()}, path)
    with pytest.raises(ModelError, match="is of type I32, expected a floating point"):
        load_model(directory)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_changed_byte_is_noticed(directory: Path, name: str) -> None:
    content = bytearray((directory / name).read_bytes())
    content[-12] ^= 1
    (directory / name).write_bytes(content)
    with pytest.raises(ModelError, match=f"{name}: (damaged|not a tokeniser)"):
        load_model(directory)


def test_a_tokeniser_of_another_model(directory: Path) -> None:
    Tokenizer.train(["a"], vocab_size=262).save(directory / "tokenizer.json")
    with pytest.raises(ModelError, match="they do not belong together"):
        load_model(directory)


def test_a_network_without_memory_is_made_without_the_compiler() -> None:
    code = """
import sys
from torch import nn
from parasketch.model.storage import shapes_only
with shapes_only():
    layers = [nn.Embedding(5, 3), nn.Linear(3, 2), nn.Embedding(4, 3)]
assert all(value.is_meta for layer in layers for value in layer.parameters())
assert "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
