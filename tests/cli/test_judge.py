"""`judge create` and `judge report` from the command line, from results that `evaluate` wrote."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from parasketch.cli import evaluate, judge
from parasketch.errors import ParasketchError, UsageError
from parasketch.judge.study import QUESTIONS, Study

ITEMS = [
    {"input": f"How heavy is animal {k}?", "references": [f"What does animal {k} weigh?"]} for k in range(5)
]  # fmt: skip

app = typer.Typer(rich_markup_mode="rich")
evaluate.register(app)
judge.register(app)


def run(*arguments: object) -> Result:
    found = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(found.exception, ParasketchError):
        raise found.exception
    assert found.exit_code == 0, found.output
    return found


def test_a_study_is_made_of_results_and_reported(tmp_path: Path) -> None:
    data, other = tmp_path / "test.jsonl", tmp_path / "other.txt"
    data.write_text("".join(json.dumps(item) + "\n" for item in ITEMS))
    other.write_text("".join(f"Animal {k} weighs what?\n" for k in range(5)))
    results = tmp_path / "results"
    run("evaluate", "--system", "copy", "--data", data, "--out", results)
    run("evaluate", "--outputs", other, "--name", "other", "--data", data, "--out", results)
    directories = sorted(results.iterdir())
    out = tmp_path / "study.db"
    sizes = ["--items", 4, "--ratings", 2, "--raters", 2]
    made = run("judge", "create", "--systems", *directories, "--data", data, "--out", out, *sizes)
    study = Study(out)
    links = [line for line in made.output.splitlines() if line.startswith("http")]
    assert links == [f"http://127.0.0.1:8000/judge/{token}" for token in study.tokens()]
    for token in study.tokens():
        while (page := study.page(token)) is not None and page.assignment is not None:
            better = "left" if "weigh" in page.left else "right"
            study.judge(token, page.assignment, dict.fromkeys(QUESTIONS, better), 1.0)
    report = run("judge", "report", out, "--csv", tmp_path / "answers.csv", "--plot", tmp_path / "means.png").output
    assert "| other | +1.00 (+1.00 to +1.00) |" in report
    assert "| copy | -1.00 (-1.00 to -1.00) |" in report
    assert (tmp_path / "answers.csv").is_file()
    assert (tmp_path / "means.png").is_file()
    with pytest.raises(UsageError, match="at least two systems"):
        run("judge", "create", "--systems", directories[0], "--data", data, "--out", tmp_path / "new.db", *sizes)
