"""`evaluate`, `compare` and `systems` from the command line, on data made here."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from tiny import MODEL, make_model
from typer.testing import CliRunner, Result

from parasketch.cli import evaluate
from parasketch.errors import DataError, ParasketchError, UsageError
from parasketch.model.storage import save_model
from parasketch.systems.kinds import KINDS
from parasketch.text.tokenizer import Tokenizer

ITEMS = [
    {"input": "How heavy is a moose?", "references": ["What does a moose weigh?", "What is the weight of a moose?"]},
    {"input": "Who wrote Hamlet in 1600?", "references": ["Who is the author of Hamlet?"]},
    {"input": "Where can I buy books?", "references": ["Where are books sold?"]},
]

app = typer.Typer(rich_markup_mode="rich")
evaluate.register(app)


def run(*arguments: object) -> Result:
    found = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(found.exception, ParasketchError):
        raise found.exception
    assert found.exit_code == 0, found.output
    return found


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "toy" / "test.jsonl"
    path.parent.mkdir()
    path.write_text("".join(json.dumps(item) + "\n" for item in ITEMS))
    return path


@pytest.fixture
def train(tmp_path: Path) -> Path:
    path = tmp_path / "train.jsonl"
    sentences = [["what does a moose weigh?", "how heavy is a moose"], ["who wrote hamlet?", "where are books sold?"]]
    path.write_text("".join(json.dumps({"sentences": row}) + "\n" for row in sentences))
    return path


def scores(directory: Path) -> dict[str, float]:
    fields = json.loads((directory / "results.json").read_text())
    return {name: score["value"] for name, score in fields["scores"].items()}


def test_copy_from_data_to_results(data: Path, tmp_path: Path) -> None:
    shown = run("evaluate", "--system", "copy", "--data", data, "--out", tmp_path / "out", "--bootstrap", 50).stdout
    found = scores(tmp_path / "out" / "copy-toy-test")
    assert found["self_bleu"] == pytest.approx(100.0)
    assert found["template_change"] == 0.0
    assert found["numbers_kept"] == found["names_kept"] == 100.0
    assert "copy on toy/test (3 items)" in shown
    assert "iBLEU nrefs:var|case:lc|eff:no|tok:13a|smooth:exp|version:" in shown


def test_fitted_system_saved_and_used_again(data: Path, train: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    run(
        "evaluate",
        "--system",
        "tfidf",
        "--train",
        train,
        "--save",
        saved,
        "--data",
        data,
        "--top",
        2,
        "--out",
        tmp_path,
    )
    run("evaluate", "--system", saved, "--data", data, "--top", 2, "--out", tmp_path, "--name", "again")
    assert scores(tmp_path / "tfidf-toy-test") == scores(tmp_path / "again-toy-test")
    rows = (tmp_path / "tfidf-toy-test" / "outputs.jsonl").read_text().splitlines()
    assert [json.loads(row)["outputs"][0] for row in rows] == [
        "how heavy is a moose",
        "who wrote hamlet?",
        "where are books sold?",
    ]


def test_outputs_of_another_system_with_an_empty_one(data: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.txt"
    theirs.write_text("What does a moose weigh?\n\nWhere are books sold?\n")
    run("evaluate", "--outputs", theirs, "--data", data, "--out", tmp_path)
    fields = json.loads((tmp_path / "theirs-toy-test" / "results.json").read_text())
    assert fields["empty_outputs"] == 1
    assert fields["scores"]["empty"]["value"] == pytest.approx(100 / 3)
    assert fields["scores"]["bleu"]["value"] > 0


def test_compare_in_every_format(data: Path, train: Path, tmp_path: Path) -> None:
    run("evaluate", "--system", "copy", "--data", data, "--out", tmp_path)
    run("evaluate", "--system", "tfidf", "--train", train, "--data", data, "--out", tmp_path)
    both = [tmp_path / "copy-toy-test", tmp_path / "tfidf-toy-test" / "results.json"]
    plot = tmp_path / "alpha.svg"
    text = run(
        "compare", *both, "--against", "tfidf", "--resamples", 200, "--format", "markdown", "--plot", plot
    ).stdout
    assert "| system | toy/test BLEU | toy/test Self-BLEU | toy/test iBLEU |" in text
    assert "paired bootstrap, 200 resamples" in text
    assert plot.read_text().startswith("<?xml")
    assert r"\begin{tabular}" in run("compare", *both, "--format", "latex").stdout
    assert run("compare", *both, "--format", "csv").stdout.startswith("system,data,items,")
    assert "Self-BLEU" in run("compare", *both).stdout


def test_systems_are_listed() -> None:
    lines = run("systems").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [
        *KINDS,
        "copy",
        "tfidf",
        "trained",
        "plain",
        "own-sketch",
        "oracle",
        "plain-oracle",
    ]


def test_results_of_other_items_are_not_compared(data: Path, tmp_path: Path) -> None:
    run("evaluate", "--system", "copy", "--data", data, "--out", tmp_path)
    run("evaluate", "--system", "copy", "--data", data, "--out", tmp_path, "--limit", 2, "--name", "half")
    with pytest.raises(DataError, match="copy and half were evaluated on different items of toy/test"):
        run("compare", tmp_path / "copy-toy-test", tmp_path / "half-toy-test")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "exactly one of --model, --system and --outputs"),
        (["--system", "copy", "--model", "m"], "exactly one of --model, --system and --outputs"),
        (["--system", "copy", "--oracle"], "need a --model"),
        (["--model", "m", "--train", "x"], "--train and --save belong to --system"),
        (["--system", "oracle"], "give it with --model"),
        (["--system", "tfidf"], r"has to be fitted on training clusters \(--train\)"),
    ],
)
def test_misuse_is_explained(data: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run("evaluate", "--data", data, *arguments)


def test_too_few_outputs(data: Path, tmp_path: Path) -> None:
    short = tmp_path / "short.txt"
    short.write_text("one\n")
    with pytest.raises(DataError, match="has 1 outputs for 3 items"):
        run("evaluate", "--outputs", short, "--data", data, "--out", tmp_path)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole model directory with random weights."""
    tokenizer = Tokenizer.train(
        [text for item in ITEMS for text in (item["input"], *item["references"])], vocab_size=300
    )
    directory = tmp_path_factory.mktemp("model") / "tiny"
    save_model(directory, make_model(replace(MODEL, vocab_size=tokenizer.vocab_size)), tokenizer)
    return directory


def test_a_model_in_every_way(model: Path, data: Path, tmp_path: Path) -> None:
    run(
        *("evaluate", "--model", model, "--data", data, "--out", tmp_path, "--top", 2),
        *("--plain", "--own", "--oracle", "--depths"),
    )
    ways = [
        "plain",
        "plain-depth-0",
        "own-sketch",
        "oracle-depth-0",
        "oracle-depth-1",
        "oracle-depth-2",
        "oracle",
        "plain-oracle",
    ]
    names = ["tiny-toy-test", *(f"tiny-{way}-toy-test" for way in ways)]
    assert sorted(path.name for path in tmp_path.iterdir() if (path / "results.json").is_file()) == sorted(names)
    results = {name: json.loads((tmp_path / name / "results.json").read_text()) for name in names}
    assert {name for name, result in results.items() if result["uses_references"]} == {
        n for n in names if "oracle" in n
    }
    assert len({result["model_sha256"] for result in results.values()}) == 1
    for name in names:
        rows = [json.loads(row) for row in (tmp_path / name / "outputs.jsonl").read_text().splitlines()]
        assert [row["input"] for row in rows] == [item["input"] for item in ITEMS]
        assert {len(row["outputs"]) for row in rows} == {2 if name in names[:2] else 1}
    assert "p_bleu" in results["tiny-toy-test"]["scores"]
