"""Configuration: what is wrong is named, overlays and overrides land where they should, every preset loads."""

from collections.abc import Callable
from pathlib import Path

import pytest

from parasketch.config import PRESETS, from_dict, load_config, preset_names, to_dict
from parasketch.errors import ConfigError
from parasketch.systems.hrqvae.config import load_preset
from parasketch.systems.kinds import KINDS, task_class

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str, name: str = "mine.yaml") -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


PRESET_FILES = [(system, name) for system in KINDS for name in preset_names(system)]


@pytest.mark.parametrize(("system", "name"), PRESET_FILES)
def test_every_preset_loads_and_survives_a_round_trip(system: str, name: str) -> None:
    kind = task_class(system).config_type
    config = load_config(kind, system, name)
    assert from_dict(kind, to_dict(config)) == config


def test_every_system_has_presets_and_no_preset_lacks_a_system() -> None:
    assert {system for system, _ in PRESET_FILES} == set(KINDS) == {path.name for path in PRESETS.iterdir()}


@pytest.mark.parametrize("system", KINDS)
def test_there_is_one_set_of_defaults(system: str) -> None:
    """`small` explains them line by line; it does not have others."""
    kind = task_class(system).config_type
    assert load_config(kind, system, "small") == kind()


@pytest.mark.parametrize(("system", "name"), PRESET_FILES)
def test_every_line_of_a_preset_is_explained(system: str, name: str) -> None:
    lines = (PRESETS / system / f"{name}.yaml").read_text().splitlines()
    assert [line for line in lines if line.startswith("  ") and "#" not in line] == []


def test_the_two_kinds_of_presets() -> None:
    paper, small = load_preset("paper"), load_preset("small")
    assert (paper.model.width, paper.model.meaning_width, paper.model.form_width) == (768, 192, 576)
    assert (paper.model.pre_norm, paper.model.causal_encoder, paper.model.copy_head) == (False, True, False)
    assert (paper.train.kmeans_at, paper.train.revive_below) == (None, 0.0)
    assert (paper.train.steps * paper.train.warmup, paper.train.steps * paper.train.kl_end) == (10_000, 20_000)
    assert (small.model.pre_norm, small.model.causal_encoder, small.model.predictor_conditioning) == (
        True,
        False,
        "cumulative",
    )


def test_an_overlay_changes_only_what_it_names(write: Write) -> None:
    write("model: {width: 64, meaning_width: 32}\ntrain: {steps: 7}\n", "parent.yaml")
    child = load_preset(write("extends: parent.yaml\nmodel: {width: 128}\n"))
    assert (child.model.width, child.model.meaning_width, child.train.steps) == (128, 32, 7)
    assert load_preset(write("extends: small\ntrain: {steps: 3}\n")).model == load_preset("small").model
    assert load_preset("captions").data.templates == "pos"
    assert load_preset("captions").model == load_preset("small").model


def test_overrides_come_last(write: Write) -> None:
    path = write("model: {width: 64}\n")
    config = load_preset(
        path, ["model.width=128", "train.learning_rate=1e-3", "train.kmeans_at=null", "model.copy_head=false"]
    )
    assert (config.model.width, config.train.learning_rate, config.train.kmeans_at) == (128, 1e-3, None)
    assert config.model.copy_head is False
    assert load_preset(path, ["train.betas=[0.8, 0.9]"]).train.betas == (0.8, 0.9)
    assert load_preset(path, ["train.minutes=5"]).train.minutes == 5.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model: {widht: 3}", r"unknown key model.widht; known keys: .*\bwidth\b"),
        ("modle: {width: 3}", r"unknown key modle; known keys: data, model, train"),
        ("model: {width: wide}", r"model.width: 'wide' \(expected int\)"),
        ("model: {width: 2.5}", r"model.width: 2.5 \(expected int\)"),
        ("model: {width: true}", r"model.width: True \(expected int\)"),
        ("model: {pre_norm: 1}", r"model.pre_norm: 1 \(expected bool\)"),
        ("model: 7", r"model: 7 \(expected ModelConfig\)"),
        ("train: {learning_rate: fast}", r"train.learning_rate: 'fast' \(expected float\)"),
        ("train: {decay: linear}", r"train.decay: 'linear' \(expected one of cosine, inverse_sqrt\)"),
        ("train: {betas: [0.9]}", r"train.betas: \[0.9\] \(expected tuple\)"),
        ("train: {kmeans_at: soon}", r"train.kmeans_at: 'soon' \(expected float\)"),
        ("model: {width: 15, heads: 3}", r"model.width: expected an even number"),
        ("model: {width: 62, heads: 4}", r"model.width: expected a multiple of model.heads"),
        ("model: {codes: 1}", r"model.codes: expected at least 2"),
        ("model: {dropout: 1.5}", r"model.dropout: expected between 0 and 1"),
        ("model: {split_encoding: true}", r"model.meaning_width \+ model.form_width: expected model.width"),
        ("train: {accumulate: 0}", r"train.accumulate: expected at least 1"),
        ("train: {batch_size: 10, accumulate: 3}", r"train.batch_size: expected a multiple of train.accumulate"),
        ("train: {kl_start: 0.5, kl_end: 0.2}", r"train.kl_start, train.kl_end: expected 0 <= start <= end <= 1"),
        ("train: {clip: 0}", r"train.clip: expected more than 0"),
        ("train: {minutes: -1}", r"train.minutes: expected more than 0"),
        ("data: {tokenizer: bert}", r"data.bert_vocab: expected a path, for tokenizer: bert"),
        ("data: {vocab_size: 10}", r"data.vocab_size: expected at least 300"),
        ("- model", r"mine.yaml: expected a mapping of sections"),
        ("model: {width: 3", r"mine.yaml: "),
    ],
)
def test_what_is_wrong_is_named(write: Write, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_preset(write(text))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("width=3", r"--set width=3: expected section.key=value"),
        ("model.width", r"--set model.width: expected section.key=value"),
        ("model.widht=3", r"unknown key model.widht"),
        ("model.width=[", r"--set model.width=\["),
    ],
)
def test_bad_overrides(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_preset("small", [override])


def test_neither_preset_nor_file() -> None:
    with pytest.raises(
        ConfigError, match=r"smal: neither a file nor a preset of hrqvae \(presets: captions, fine, paper, small\)"
    ):
        load_preset("smal")


def test_an_overlay_that_extends_itself(write: Write) -> None:
    path = write("extends: other.yaml\n")
    write("extends: mine.yaml\n", "other.yaml")
    with pytest.raises(ConfigError, match="extends itself"):
        load_preset(path)
