"""A whole reproduction, as small as can be: every table and figure is filled, and nothing is done twice."""

import json
import shutil
from pathlib import Path

import pytest
from reproduction import JOBS, PLAN, kill_reproduction, numbers

from parasketch.reproduce.command import Wanted, list_steps, publish, reproduce
from parasketch.reproduce.report import Found, drawings

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Wanted:
    wanted = Wanted(out=tmp_path_factory.mktemp("reproduction"), quick=True, plan=PLAN)
    outcome = reproduce(wanted, jobs=JOBS)
    assert not outcome.failed
    assert len(outcome.done) == len(list_steps(wanted))
    return wanted


def test_the_report_has_every_part(done: Wanted) -> None:
    text = (done.out / "report.md").read_text("utf-8")
    for title in (
        "## Comparison of systems",
        "### BLEU, Self-BLEU and iBLEU",
        "### Top 2: mean iBLEU and P-BLEU",
        "## Ablations of HRQ-VAE",
        "| questions/test | post hoc |",
        "(2 seeds)",
        "## What the codes mean: questions",
        "### Mutual information in bits",
        "### One input in many sketches: How heavy is a moose?",
        "## Forms on a plane: questions",
        "What the tests say:",
    ):
        assert title in text
    found = Found.read(done.out / "numbers")
    assert len(found.summaries) == 2
    assert not any(summary.missing for summary in found.summaries)
    assert all(
        (done.out / "figures" / f"{one.name}.{end}").is_file() for one in drawings(found) for end in ("svg", "png")
    )
    assert len(drawings(found)) >= 9


def test_the_page_needs_nothing_else(done: Wanted) -> None:
    page = (done.out / "index.html").read_text("utf-8")
    assert page.count("<svg") == len(drawings(Found.read(done.out / "numbers")))
    assert page.count("<table>") >= 8
    assert "<script" not in page
    assert "src=" not in page
    assert 'href="http' not in page


def test_nothing_is_done_twice(done: Wanted) -> None:
    before = (done.out / "report.md").read_text("utf-8")
    outcome = reproduce(done, jobs=1)
    assert not outcome.done
    assert len(outcome.skipped) == len(list_steps(done))
    assert (done.out / "report.md").read_text("utf-8") == before


def test_what_has_changed_is_done_again(done: Wanted, tmp_path: Path) -> None:
    """A result that is gone, and no other step."""
    out = tmp_path / "again"
    shutil.copytree(done.out, out)
    shutil.rmtree(out / "results" / "comparison" / "seed-1" / "copy-questions-test")
    wanted = Wanted(out=out, quick=True, plan=PLAN, only=["comparison"])
    assert reproduce(wanted, jobs=1).done == ["comparison/evaluate/copy/questions/1"]


def test_numbers_become_documents(done: Wanted, tmp_path: Path) -> None:
    publish(done.out, tmp_path)
    text = (tmp_path / "results.md").read_text("utf-8")
    assert text == (done.out / "report.md").read_text("utf-8")
    assert (tmp_path / "figures" / "comparison-alpha.svg").is_file()
    (tmp_path / "results.md").unlink()
    publish(tmp_path / "nothing", tmp_path)
    assert (tmp_path / "results.md").read_text("utf-8") == text


def test_killed_and_started_again_it_ends_with_the_same_numbers(done: Wanted, tmp_path: Path) -> None:
    only = "comparison/evaluate/hrqvae"
    kill_reproduction(2, tmp_path, only=only)
    [killed] = [row for row in numbers(tmp_path)["comparison"] if row["system"] == "hrqvae"]
    [straight] = [row for row in numbers(done.out)["comparison"] if row["system"] == "hrqvae"]
    assert killed == straight
    assert json.dumps(killed["scores"])
