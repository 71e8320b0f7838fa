"""Names of codes live beside the weights and in the card, and are told on request."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from parasketch.analyse.codes import Association, CodeMeaning, CodeReport
from parasketch.analyse.naming import name_codes, read_names, with_section
from parasketch.cli import app
from parasketch.errors import DataError
from parasketch.generate.pretrained import find_model

WHO = Association(property="question word", value="who", share=0.9, share_of_all=0.1, p=1e-120)
CODE = CodeMeaning(
    level=1, code=0, share=0.25, name="“who” questions", associations=[WHO], least_p=1e-120, sentences=["Who | me?"]
)
REPORT = CodeReport(model="toy", sentences=400, tests=12, permutations=10, codes=[CODE], information=[])


def test_names_are_written_read_and_replaced(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# toy\n\nA model.\n")
    for _ in range(2):  # the second time the section takes the place of the first
        name_codes(tmp_path, REPORT, data="toy/train", typical="toy/train")
    assert read_names(tmp_path) == REPORT
    card = (tmp_path / "README.md").read_text()
    assert card.startswith("# toy\n\nA model.\n\n")
    assert card.count("## What the codes mean") == 1
    assert "| 1 | 0 | 25.0 | “who” questions | < 1e-99 |" in card


def test_a_section_amid_others_is_replaced_where_it_is() -> None:
    card = with_section(with_section("# toy\n", "old\n") + "after\n", "new\n")
    assert card.index("new") < card.index("after")
    assert "old" not in card


def test_a_model_without_names_and_a_damaged_file(tmp_path: Path) -> None:
    assert read_names(tmp_path) is None
    (tmp_path / "codes.json").write_text("{}")
    with pytest.raises(DataError, match="analyse codes"):
        read_names(tmp_path)


@pytest.mark.parametrize("model", ["questions", "captions"])
def test_every_code_of_a_shipped_model_has_a_name_and_stands_in_its_card(model: str) -> None:
    report = read_names(find_model(model))
    assert report is not None
    assert len(report.codes) == 3 * 16
    card = (find_model(model) / "README.md").read_text("utf-8")
    assert all(code.name in card for code in report.codes)
    if model == "questions":
        assert sum(code.least_p < 0.001 for code in report.codes if code.level == 1) >= 12


def test_codes_are_explained() -> None:
    result = CliRunner().invoke(app, ["sketches", "--explain", "--model", "questions", "--level", "1"])
    assert result.exit_code == 0, result.output
    assert "description" in result.stdout
    result = CliRunner().invoke(app, ["sketches"])
    assert "give a text" in str(result.exception)
