"""`parasketch train`: one command from clusters to a model, which continues when it is given again."""

from pathlib import Path

import pytest
import torch
from grammar import Language, write_clusters
from safetensors.torch import load_file
from typer.testing import CliRunner, Result

from parasketch.cli import app
from parasketch.console import console, set_quiet
from parasketch.errors import ConfigError, UsageError
from parasketch.files import lock
from parasketch.train.checkpoint import checkpoints

TINY = """model.width=16 model.heads=2 model.ff=32 model.encoder_layers=1 model.decoder_layers=1 model.meaning_width=16
          model.form_width=8 model.codes=4 model.predictor_width=16 model.predictor_hidden=16 data.vocab_size=300
          train.batch_size=8 train.evaluations=3 train.steps=30"""


@pytest.fixture
def clusters(tmp_path: Path, language: Language) -> Path:
    return write_clusters(tmp_path / "clusters.jsonl", language.clusters())


@pytest.fixture(autouse=True)
def loud() -> None:
    set_quiet(False)


def train(*arguments: object) -> Result:
    settings = [part for setting in TINY.split() for part in ("--set", setting)]
    return CliRunner().invoke(app, ["train", *map(str, arguments), *settings], catch_exceptions=False)


def test_clusters_alone_and_once_more(clusters: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with console.capture() as told:
        result = train(clusters, "--out", out)
    assert result.exit_code == 0
    assert result.stdout == "", "results are in files; people read stderr"
    text = " ".join(told.get().split())
    assert "2 of 20 clusters are set aside for dev" in text
    assert "step 10" in text
    assert "step 30" in text
    assert "30 steps are few: good for a trial, not for a model" in text
    assert "30 steps: this model has learnt nothing yet" in text
    assert "the best model is in" in text
    assert (out / "best" / "model.safetensors").is_file()
    assert checkpoints(out / "checkpoints")[-1].name == "step-000000030"
    with console.capture() as told:
        assert train(clusters, "--out", out, "--set", "train.patience=0").exit_code == 0
    assert "run at step 30" in " ".join(told.get().split())


def test_minutes_replace_steps(clusters: Path, tmp_path: Path) -> None:
    assert train(clusters, "--out", tmp_path / "run", "--minutes", "0.02").exit_code == 0
    assert '"minutes": 0.02' in (tmp_path / "run" / "config.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (["missing.jsonl"], UsageError, "missing.jsonl: no such file"),
        (["small"], UsageError, "--data is missing"),
        (["missing.yaml", "--data", "x"], ConfigError, "missing.yaml: neither a file nor a preset"),
    ],
)
def test_clear_errors(arguments: list[str], kind: type[Exception], message: str, tmp_path: Path) -> None:
    with pytest.raises(kind, match=message):
        train(*arguments, "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_directory_that_another_training_writes_is_left_alone(clusters: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    (out / "metrics.jsonl").write_text("theirs\n")
    with lock(out), pytest.raises(UsageError, match="is being written by another process"):
        train(clusters, "--out", out)
    assert [path.name for path in out.iterdir()] == ["metrics.jsonl"]


def test_an_interrupted_run_says_how_to_go_on(clusters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    def told_when_interrupted() -> str:
        with console.capture() as told:
            assert train(clusters, "--out", tmp_path / "run").exit_code == 130
        return " ".join(told.get().split())

    with monkeypatch.context() as patched:
        patched.setattr("parasketch.experiment.train", interrupt)
        assert "the same command begins again: there is no checkpoint yet" in told_when_interrupted()
    train(clusters, "--out", tmp_path / "run")
    monkeypatch.setattr("parasketch.experiment.train", interrupt)
    assert "the same command goes on from the last checkpoint" in told_when_interrupted()


def test_a_learning_rate_beyond_reason_is_one_line(clusters: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^train\.learning_rate: expected at most 100$"):
        train(clusters, "--out", tmp_path / "run", "--set", "train.learning_rate=1e30")


def test_going_on_with_a_model(clusters: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    train(clusters, "--out", first)
    settings = ["--set", "train.steps=1", "--set", "train.batch_size=8", "--set", "train.learning_rate=0"]
    more = ["train", str(clusters), "--from", str(first / "last"), "--out", str(second), *settings]
    with console.capture() as told:
        result = CliRunner().invoke(app, [*more, "--set", "train.predictor_learning_rate=0"], catch_exceptions=False)
    assert result.exit_code == 0
    assert "learnt nothing" not in told.get()
    assert (second / "last" / "tokenizer.json").read_bytes() == (first / "last" / "tokenizer.json").read_bytes()
    before, after = (load_file(run / "last" / "model.safetensors") for run in (first, second))
    assert all(torch.equal(before[name], after[name]) for name in before if "embedding" in name or "decoder" in name)
    with pytest.raises(UsageError, match="is a model of the kind hrqvae, not vae"):
        train("vae", clusters, "--from", first / "last", "--out", tmp_path / "third")


def test_never_resume(clusters: Path, tmp_path: Path) -> None:
    train(clusters, "--out", tmp_path / "run", "--minutes", "0.01")
    with pytest.raises(UsageError, match="holds a run already"):
        train(clusters, "--out", tmp_path / "run", "--minutes", "0.01", "--resume", "never")


def test_help_teaches_with_an_example() -> None:
    text = " ".join(CliRunner().invoke(app, ["train", "--help"]).stdout.split())
    assert "Example: parasketch train clusters.jsonl --minutes 60 --out runs/mine" in text
