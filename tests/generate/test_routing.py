from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from parasketch.errors import ModelError, UsageError
from parasketch.generate import pretrained
from parasketch.generate.paraphraser import Paraphraser
from parasketch.generate.routing import is_question, load_engines
from parasketch.generate.settings import GenerateConfig
from parasketch.generate.torch_backend import find_device
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.text.tokenizer import Tokenizer

QUESTION, CAPTION = "how heavy is a moose?", "a horse is standing in the snow."


@pytest.fixture
def shipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_model: Callable[..., HRQVAE], tokenizer: Tokenizer
) -> dict[str, Paraphraser]:
    """A package with two models."""
    monkeypatch.setattr(pretrained, "SHIPPED", tmp_path)
    config = GenerateConfig(max_tokens=8)
    models = {
        name: Paraphraser.from_model(make_model(seed=seed), tokenizer, config=config)
        for seed, name in enumerate(["questions", "captions"])
    }
    for name, model in models.items():
        model.save_pretrained(tmp_path / name)
    return models


def test_questions_and_other_sentences_go_to_different_models(shipped: dict[str, Paraphraser]) -> None:
    default = Paraphraser.from_pretrained()
    question, caption, again = default([QUESTION, CAPTION, QUESTION], n=2)
    assert [each.text for each in question] == [each.text for each in shipped["questions"](QUESTION, n=2)]
    assert [each.text for each in caption] == [each.text for each in shipped["captions"](CAPTION, n=2)]
    assert [each.text for each in again] == [each.text for each in question]
    assert default.sketch(CAPTION) == shipped["captions"].sketch(CAPTION)
    # The sketch of an exemplar is that of the model that works on the text.
    assert default(CAPTION, like=QUESTION)[0].sketch == shipped["captions"].sketch(QUESTION)


@pytest.mark.usefixtures("shipped")
def test_a_model_is_loaded_when_it_is_needed(tmp_path: Path) -> None:
    (tmp_path / "captions" / "model.safetensors").unlink()
    default = Paraphraser.from_pretrained()
    assert default(QUESTION)
    with pytest.raises(ModelError, match=r"model\.safetensors missing"):
        default(CAPTION)


@pytest.mark.usefixtures("shipped")
def test_one_of_several_has_to_be_named_to_be_saved(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="by its name"):
        Paraphraser.from_pretrained().save_pretrained(tmp_path / "both")
    Paraphraser.from_pretrained("captions").save_pretrained(tmp_path / "one")


def test_a_package_without_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretrained, "SHIPPED", tmp_path)
    with pytest.raises(ModelError, match="no default model: name a model, or the directory of one"):
        load_engines(None, "cpu", None)
    with pytest.raises(ModelError, match=r"^nonsense: neither a model directory nor a model inside the package"):
        load_engines("nonsense", "cpu", None)


def test_the_hub_is_asked_for_ids_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    huggingface_hub = pytest.importorskip("huggingface_hub")
    asked = []

    def download(name: str, **_: object) -> str:
        asked.append(name)
        if name == "nobody/nothing":
            raise OSError("404: no such repository\nand much more")
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert pretrained.find_model("somebody/something") == tmp_path
    with pytest.raises(
        ModelError, match=r"^nobody/nothing: no such directory, and not to be had .*: 404: no such repository$"
    ):
        pretrained.find_model("nobody/nothing")
    with pytest.raises(ModelError, match="neither a model directory"):
        pretrained.find_model("a/path/that/is/not/there")
    assert asked == ["somebody/something", "nobody/nothing"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (QUESTION, True),
        ("He asked: why (really)?!", True),
        ("how do i swim", True),
        ("“Which way", True),
        (CAPTION, False),
        ("Howard swims.", False),
        ("", False),
    ],
)
def test_what_a_question_is(text: str, expected: bool) -> None:
    assert is_question(text) == expected


def test_devices() -> None:
    assert find_device("cpu") == torch.device("cpu")
    with pytest.raises(UsageError, match=r"^device 'toaster' cannot be used: "):
        find_device("toaster")


@pytest.mark.usefixtures("shipped")
def test_a_fingerprint_changes_with_the_weights() -> None:
    both = pretrained.fingerprint(None)
    assert both == f"{pretrained.fingerprint('captions')}+{pretrained.fingerprint('questions')}"
    assert pretrained.fingerprint("captions") != pretrained.fingerprint("questions")
