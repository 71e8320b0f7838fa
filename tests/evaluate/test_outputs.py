"""Reading what other systems wrote, and refusing what does not belong to the data."""

from pathlib import Path

import pytest

from parasketch.data.corpora import EvalItem
from parasketch.errors import DataError
from parasketch.evaluate.outputs import read_outputs, write_outputs

ITEMS = [EvalItem("who is it?", ("who's there?",)), EvalItem("what is it?", ("what's that?", "what?"))]


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "outputs.txt"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\ntwo\n", [["one"], ["two"]]),
        ("one\n\n", [["one"], [""]]),  # an empty output is an output
        ('["a", "b"]\n["c", ""]\n', [["a", "b"], ["c", ""]]),
        ('{"outputs": ["a"]}\n{"outputs": ["b"], "input": "what  is it?"}\n', [["a"], ["b"]]),
        ("[sic] he said\n12\n", [["[sic] he said"], ["12"]]),  # not JSON lists: plain text
    ],
)
def test_forms_of_outputs(tmp_path: Path, text: str, expected: list[list[str]]) -> None:
    assert read_outputs(written(tmp_path, text), ITEMS) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("one\n", r"has 1 outputs for 2 items \(expected one line per item\)"),
        ("", "has 0 outputs for 2 items"),
        ('["a"]\nb\n', r"txt:2: not JSON, unlike the first line \(expected a JSON list"),
        ('["a"]\n[1]\n', "txt:2: no list of outputs"),
        ('{"output": "a"}\n{"output": "b"}\n', "txt:1: no list of outputs"),
        ('["a"]\n[]\n', "txt:2: an item without any output"),
        ('["a"]\n["b", "c"]\n', "txt:2: item 2 has 2 outputs where the first item has 1"),
        (
            '{"outputs": ["a"]}\n{"outputs": ["b"], "input": "where?"}\n',
            r"txt:2: written for another input: 'where\?' \(expected 'what is it\?', as in the data\)",
        ),
    ],
)
def test_outputs_that_cannot_be_scored(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_outputs(written(tmp_path, text), ITEMS)


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    outputs = [["é", ""], ["[x]", "y"]]
    path = tmp_path / "outputs.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        write_outputs(stream, ITEMS, outputs)
    assert read_outputs(path, ITEMS) == outputs
