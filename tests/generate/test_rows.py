import gzip
import io
import json
from pathlib import Path

import pytest

from parasketch.data.records import BadRows
from parasketch.errors import DataError, UsageError
from parasketch.files import raise_error
from parasketch.generate.paraphrases import Paraphrase, Sketch
from parasketch.generate.rows import Row, Rows, RowWriter, count_rows, names_a_file, open_rows

PARAPHRASES = [Paraphrase(text=text, sketch=Sketch(1), score=0.0, difference=0.5) for text in ('so, "so"', "no")]


def texts(path: Path | str, column: str | None = None) -> list[object]:
    return [row.text for row in open_rows(str(path), column=column, on_bad=raise_error).rows]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_every_line_of_a_text_file_is_a_row(tmp_path: Path) -> None:
    assert texts(write(tmp_path / "in.txt", "\none, two\n\n{three}\n")) == ["", "one, two", "", "{three}"]
    assert texts(write(tmp_path / "empty.txt", "")) == []


def test_tables_keep_all_columns(tmp_path: Path) -> None:
    content = 'id,question,more\n1,"how, so?",x\n2,"two\nlines",""\n\n3,three,z\n'
    rows = list(open_rows(str(write(tmp_path / "in.csv", content)), column="question", on_bad=raise_error).rows)
    assert [row.text for row in rows] == ["how, so?", "two\nlines", "three"]
    assert rows[1].fields == {"id": "2", "question": "two\nlines", "more": ""}
    tabs = write(tmp_path / "in.tsv", 'id\ttext\n1\tsay "hi\n2\tthere\n')
    assert texts(tabs) == ['say "hi', "there"]


def test_json_lines_keep_all_values(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", '{"text": "one", "deep": {"a": [1]}}\n\n{"text": 7}\n{"other": 1}\n')
    rows = list(open_rows(str(path), column=None, on_bad=raise_error).rows)
    assert [row.text for row in rows] == ["one", 7, None]
    assert rows[0].fields == {"text": "one", "deep": {"a": [1]}}


def test_packed_files_and_unknown_endings(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "in.csv.gz", "wt") as stream:
        stream.write("text\none\n")
    assert texts(tmp_path / "in.csv.gz") == ["one"]
    assert texts(write(tmp_path / "plain", "one\ntwo\n")) == ["one", "two"]
    assert texts(write(tmp_path / "objects", '{"text": "one"}\n')) == ["one"]
    assert texts(write(tmp_path / "table", "id\tq\n1\tone\n"), column="q") == ["one"]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"q,id\none,1\n")))
    assert texts("-", column="q") == ["one"]


def test_bad_rows_are_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    bad = BadRows()
    table = tmp_path / "in.csv"
    table.write_bytes(b'id,text\n1,one\n2\n3,\xff\n4,"four\n5,five\n')
    assert [row.text for row in open_rows(str(table), column=None, on_bad=bad).rows] == ["one", "five"]
    assert [error.line for error in bad.first] == [3, 4, 5]
    assert str(bad.first[0]).endswith("in.csv:3: 1 fields (expected 2, as in the header)")
    bad = BadRows()
    lines = write(tmp_path / "in.jsonl", '{"text": "one"}\n{"text": \n[]\n{"text": "two"}\n')
    assert [row.text for row in open_rows(str(lines), column=None, on_bad=bad).rows] == ["one", "two"]
    assert [error.line for error in bad.first] == [2, 3]


def test_a_missing_column_is_named_with_those_there_are(tmp_path: Path) -> None:
    table = write(tmp_path / "in.csv", "id,question\n1,so?\n")
    with pytest.raises(DataError, match=r"in\.csv:1: no column 'querstion' \(expected one of id, question\)$"):
        texts(table, column="querstion")
    with pytest.raises(DataError, match=r"in\.csv:1: which column\? There are a, b \(expected --column NAME\)$"):
        texts(write(tmp_path / "in.csv", "a,b\n1,2\n"))
    with pytest.raises(DataError, match=r"no column 'q' \(expected one of text\)$"):
        texts(write(tmp_path / "in.jsonl", '{"text": "a"}\n'), column="q")
    with pytest.raises(UsageError, match="a text file has no columns"):
        texts(write(tmp_path / "in.txt", "a\n"), column="q")
    with pytest.raises(DataError, match="cannot be read"):
        texts(tmp_path / "missing.txt")


@pytest.mark.parametrize(
    ("argument", "expected"),
    [("-", True), ("missing.csv", True), ("What is a .csv", False), ("moose", False), ("word " * 10_000, False)],
)
def test_texts_and_names_of_files(argument: str, expected: bool) -> None:
    assert names_a_file(argument) == expected


def table(*columns: str) -> Rows:
    return Rows("csv", columns[0], columns, iter(()))


def test_lines_of_every_format() -> None:
    row = Row({"text": "hm\t?", "id": "7"}, "hm\t?")
    csv, tsv, text, json_lines = (
        RowWriter(table("text", "id"), format, 2) for format in ("csv", "tsv", "txt", "jsonl")
    )
    assert csv.header == "text,id,paraphrase_1,paraphrase_2,problem\n"
    assert csv.line(row, PARAPHRASES, None) == 'hm\t?,7,"so, ""so""",no,\n'
    assert csv.line(row, [], "is empty") == "hm\t?,7,,,is empty\n"
    assert tsv.line(row, PARAPHRASES, None) == '"hm\t?"\t7\t"so, ""so"""\tno\t\n'
    assert text.line(row, PARAPHRASES, None) == 'so, "so"\tno\n'
    assert text.header == json_lines.header == ""
    written = json.loads(json_lines.line(row, PARAPHRASES, None))
    assert written["id"] == "7"
    assert [each["text"] for each in written["paraphrases"]] == ['so, "so"', "no"]
    assert "problem" not in written
    assert json.loads(json_lines.line(row, [], "is empty"))["problem"] == "is empty"


def test_columns_are_never_overwritten() -> None:
    with pytest.raises(UsageError, match="there is a column 'paraphrase_1' already"):
        RowWriter(table("text", "paraphrase_1"), "csv", 1)
    with pytest.raises(UsageError, match="there is a column 'paraphrases' already"):
        RowWriter(table("text", "paraphrases"), "jsonl", 1)
    with pytest.raises(UsageError, match="may differ in their columns"):
        RowWriter(Rows("jsonl", "text", ("text",), iter(())), "csv", 1)


def test_whole_rows_are_counted_also_where_fields_have_line_ends(tmp_path: Path) -> None:
    path = write(tmp_path / "out.csv", 'a,b\n1,"two\nlines"\n2,"not fin\n')
    assert count_rows(path, "csv") == (2, len('a,b\n1,"two\nlines"\n'))
    assert count_rows(path, "txt") == (4, path.stat().st_size)
    assert count_rows(write(tmp_path / "out.jsonl", '{}\n{"a'), "jsonl") == (1, 3)
