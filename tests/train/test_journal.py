import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from parasketch.console import console
from parasketch.errors import DataError
from parasketch.train import journal as journal_module
from parasketch.train.checkpoint import Progress
from parasketch.train.journal import Journal
from parasketch.train.task import DevResult


def log(run: Path, progress: Progress, nll: float) -> None:
    with Journal(run, progress, enabled=True) as journal:
        terms = [
            {"nll": torch.tensor(nll), "kl": torch.tensor(1.0)},
            {"nll": torch.tensor(nll + 2), "kl": torch.tensor(2.0)},
        ]
        health = {"perplexity_1": 3.0, "perplexity_2": 2.0}
        journal.log_step(progress, terms, schedule={"temperature": 1.5}, health=health, examples=8)


def records(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def test_every_term_is_written_as_the_mean_over_the_parts(tmp_path: Path) -> None:
    log(tmp_path, Progress(step=50, seconds=12.34), 3.0)
    (record,) = records(tmp_path)
    assert (record["step"], record["seconds"]) == (50, 12.3)
    speed = record["train"].pop("examples_per_second")
    assert speed == 0, "no step was made since the journal was opened"
    expected = {"nll": 4.0, "kl": 1.5, "perplexity_1": 3.0, "perplexity_2": 2.0, "temperature": 1.5}
    assert record["train"] == expected


def test_a_resumed_run_forgets_what_it_will_do_again(tmp_path: Path) -> None:
    for step in (50, 100, 150):
        log(tmp_path, Progress(step=step), 1.0)
    with (tmp_path / "metrics.jsonl").open("a") as stream:
        stream.write('{"step": 200, "seconds": 3.0, "train": {"nll": 1.0}')  # torn by a kill
    Journal(tmp_path, Progress(step=100), enabled=True)
    assert [record["step"] for record in records(tmp_path)] == [50, 100]


def test_dev_results_are_told_to_people_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = DevResult(score=1.0, metrics={"ibleu": 1.0}, samples=[("how [bold]heavy", "what weight")])
    monkeypatch.setattr(console, "quiet", False)
    with console.capture() as capture, Journal(tmp_path, Progress(), enabled=True) as journal:
        journal.log_dev(Progress(step=7, seconds=90), result)
        journal.log_dev(Progress(step=8), None)
    assert capture.get() == "step 7  1.5 min  ibleu 1.00\n    how [bold]heavy  ->  what weight\n"
    assert records(tmp_path) == [{"step": 7, "seconds": 90, "dev": {"ibleu": 1.0}}]


def test_other_processes_write_nothing(tmp_path: Path) -> None:
    with Journal(tmp_path / "run", Progress(), enabled=False) as journal:
        journal.log_step(Progress(step=1), [{}], schedule={}, health={}, examples=8)
        journal.log_dev(Progress(step=1), DevResult(score=0, metrics={}))
    assert not (tmp_path / "run").exists()


def test_a_journal_that_cannot_be_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path, Progress(), enabled=True)
    (tmp_path / "metrics.jsonl").unlink()
    (tmp_path / "metrics.jsonl").mkdir()
    with pytest.raises(DataError, match=r"metrics.jsonl: cannot be written: Is a directory"):
        journal.log_dev(Progress(), DevResult(score=0, metrics={}))


def test_the_bar_is_readable_on_eighty_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = Console(file=StringIO(), width=80, force_terminal=True, color_system=None)
    monkeypatch.setattr(journal_module, "console", narrow)
    progress = Progress(step=12345, seconds=300.0)
    journal = Journal(tmp_path, progress, enabled=True)
    journal.last_step -= 50
    journal.advance(progress, 0.37)
    terms = {"nll": torch.tensor(3.21), "kl": torch.tensor(0.12)}
    health = {f"perplexity_{level}": 12.3 for level in (1, 2, 3)}
    journal.log_step(progress, [terms], schedule={}, health=health, examples=192)
    with narrow.capture() as capture:
        narrow.print(journal.bar.get_renderable())
    [line] = capture.get().splitlines()
    assert line.startswith("step 12345 ━")
    assert "37%" in line
    assert "nll 3.21" in line
    assert "…" not in line
