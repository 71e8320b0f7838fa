import gzip
import io
from pathlib import Path

import pytest

from parasketch.bulk.reading import count_rows, names_a_file, open_rows
from parasketch.data.records import BadRows
from parasketch.errors import DataError, UsageError
from parasketch.files import raise_error


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


def test_pipes_are_files() -> None:
    assert names_a_file("/dev/null")


def test_a_directory_is_neither_a_text_nor_a_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a directory: name a file in it"):
        names_a_file(str(tmp_path))


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "in.csv", "id,text,text\n1,a,b\n")
    with pytest.raises(DataError, match=r"in\.csv:1: two columns are called 'text' \(expected a different name"):
        texts(path)


def test_semicolons_part_columns_where_no_comma_does(tmp_path: Path) -> None:
    path = write(tmp_path / "in.csv", 'id;text\n1;"well; so, be it"\n2;yes, no\n')
    assert texts(path) == ["well; so, be it", "yes, no"]
    assert texts(write(tmp_path / "in.csv", "text,a;b\none,2\n")) == ["one"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("in.csv", "text\none\n".encode("utf-16"), r"in\.csv: is UTF-16 text \(expected UTF-8: iconv -f UTF-16"),
        ("in.txt", b"\xfe\xff" + "one\n".encode("utf-16-be"), "is UTF-16 text"),
        ("in.csv", gzip.compress(b"text\none\n"), r"is packed by gzip \(expected a name that ends in \.gz\)"),
        ("in.csv", b"PK\x03\x04\x14\x00", r"is a spreadsheet or a zip archive \(expected text: save it as CSV\)"),
        ("in.json", b'[{"text": "one"},\n{"text": "two"}]\n', r"in\.json:1: is one JSON array \(.*jq -c '\.\[\]'"),
        ("in.json", b'\n[\n{"text": "one"}\n]\n', r"in\.json:2: is one JSON array"),
    ],
)
def test_other_kinds_of_files_are_refused_with_advice(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        texts(tmp_path / name)


def test_rows_are_counted_not_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "in.csv", 'id,text\n1,"two\nlines"\n\n2,"b\n\nc"\n3\n4,d\n')
    assert count_rows(str(path), column=None) == 3
    assert count_rows(str(write(tmp_path / "in.txt", "a\n\nb")), column=None) == 3
    assert count_rows("-", column=None) is None
    assert count_rows(str(path), column="nothing") is None
