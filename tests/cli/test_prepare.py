import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from parasketch.cli import data, prepare
from parasketch.data.prepared import Prepared

CLUSTERS = [
    [f"How heavy is {thing}?", f"What is the weight of {thing}?"] for thing in ("a moose", "the Moon", "a ship", "gold")
]


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    data.register(app)
    prepare.register(app)
    return app


@pytest.fixture
def clusters(tmp_path: Path) -> Path:
    path = tmp_path / "clusters.jsonl"
    path.write_text("".join(json.dumps({"sentences": cluster}) + "\n" for cluster in CLUSTERS))
    return path


def test_prepare_writes_a_corpus_and_tells_its_figures(app: typer.Typer, clusters: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ["prepare", str(clusters), "--out", str(out), "--vocab-size", "400", "--templates", "pos"]
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert result.exit_code == 0
    figures = dict(line.rsplit(maxsplit=1) for line in result.stdout.splitlines())
    assert (figures["clusters"], figures["sentences"], figures["pairs"]) == ("4", "8", "8")
    prepared = Prepared(out)
    assert prepared.manifest["settings"]["templates"] == "pos"
    assert prepared.tokenizer.vocab_size <= 400
    again = CliRunner().invoke(app, command)
    assert again.stdout == result.stdout


def test_prepare_with_the_tokenizer_of_another_corpus(app: typer.Typer, clusters: Path, tmp_path: Path) -> None:
    for out, more in (("first", []), ("second", ["--tokenizer", str(tmp_path / "first" / "tokenizer.json")])):
        CliRunner().invoke(app, ["prepare", str(clusters), "--out", str(tmp_path / out), "--vocab-size", "300", *more])
    first, second = Prepared(tmp_path / "first"), Prepared(tmp_path / "second")
    assert first.tokenizer == second.tokenizer
    assert first.arrays.tokens.tolist() == second.arrays.tokens.tolist()


def test_exemplars_of_a_file_and_of_a_prepared_corpus(app: typer.Typer, clusters: Path, tmp_path: Path) -> None:
    from_file = CliRunner().invoke(app, ["data", "exemplars", str(clusters), "--show", "8"], catch_exceptions=False)
    blocks = from_file.stdout.strip().split("\n\n")
    assert len(blocks) == 9
    (moose,) = [block.splitlines() for block in blocks if block.startswith("input     how heavy is a moose?")]
    assert [line.split()[0] for line in moose] == ["input", "chunks", "template", "exemplar"]
    assert moose[1].endswith("is a [moose]NP ?")
    assert moose[3] == "exemplar  how heavy is a ship? (real)"
    assert blocks[-1].startswith("sentences with a real exemplar: ")

    CliRunner().invoke(app, ["prepare", str(clusters), "--out", str(tmp_path / "out")])
    from_directory = CliRunner().invoke(app, ["data", "exemplars", str(tmp_path / "out"), "--show", "8"])
    assert from_directory.stdout == from_file.stdout


@pytest.mark.parametrize("command", [["prepare"], ["data", "exemplars"]])
def test_help_teaches_with_an_example(app: typer.Typer, command: list[str]) -> None:
    result = CliRunner().invoke(app, [*command, "--help"])
    assert f"Example: parasketch {' '.join(command)} train.jsonl.gz" in " ".join(result.stdout.split())
