"""A little of everything in faults.py; `make stress` does much of it."""

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from parasketch.cli import app
from parasketch.errors import ParasketchError
from stress import faults


def test_odd_texts_are_read() -> None:
    assert sum(faults.read_texts(300).values()) == 300


def test_odd_texts_are_paraphrased() -> None:
    assert sum(faults.paraphrase_texts(20).values()) > 20


def test_damaged_models_are_refused_or_the_same(tmp_path: Path) -> None:
    assert sum(faults.damage_models(20, tmp_path).values()) == 20


def test_absurd_settings_are_refused(tmp_path: Path) -> None:
    assert faults.hostile_configs(30, tmp_path)["refused"] > 0


def test_a_model_is_saved_whole_or_not_at_all(tmp_path: Path) -> None:
    faults.starve_models(tmp_path)


def test_killed_bulk_jobs_end_as_if_they_had_not_been(tmp_path: Path) -> None:
    assert faults.kill_bulk(5, tmp_path)["finished"] > 0


def test_starved_bulk_jobs_end_as_if_they_had_not_been(tmp_path: Path) -> None:
    assert faults.starve_bulk(3, tmp_path)["continued"] == 3


def test_killed_trainings_end_as_if_they_had_not_been(tmp_path: Path) -> None:
    assert faults.kill_training(2, tmp_path)["finished"] > 0


OPTIONS = ["-n", "--sketch", "--depth", "--like", "--temperature", "--seed", "--json", "--strict", "--out", "--column"]
VALUES = ["0", "1", "-1", "1e9", "nan", "", "x", "1,2", "moose", "/", "no/such/file.csv", "\x00", "漢"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from([*OPTIONS, *VALUES]), max_size=5))
def test_the_command_line_survives_anything(tmp_path: Path, arguments: list[str]) -> None:
    model = tmp_path / "model"
    if not model.exists():
        faults.tiny_paraphraser().save_pretrained(model)
    result = CliRunner().invoke(app, ["paraphrase", "how heavy is a moose?", "--model", str(model), *arguments])
    known = result.exception is None or isinstance(result.exception, SystemExit | ParasketchError)
    assert known, (arguments, result.exception)
