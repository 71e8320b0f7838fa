"""`parasketch train`: one command from clusters to a model, which continues when it is given again."""

from pathlib import Path

import pytest
from grammar import Language, write_clusters
from typer.testing import CliRunner, Result

from parasketch.cli import app
from parasketch.console import console, set_quiet
from parasketch.errors import ConfigError, UsageError
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


def test_never_resume(clusters: Path, tmp_path: Path) -> None:
    train(clusters, "--out", tmp_path / "run", "--minutes", "0.01")
    with pytest.raises(UsageError, match="holds a run already"):
        train(clusters, "--out", tmp_path / "run", "--minutes", "0.01", "--resume", "never")


def test_help_teaches_with_an_example() -> None:
    text = " ".join(CliRunner().invoke(app, ["train", "--help"]).stdout.split())
    assert "Example: parasketch train clusters.jsonl --minutes 60 --out runs/mine" in text
