import json

import pytest

from parasketch.bulk.reading import Row, Rows
from parasketch.bulk.writing import RowWriter
from parasketch.errors import UsageError
from parasketch.generate.paraphrases import Paraphrase, Sketch

PARAPHRASES = [
    Paraphrase(text='so, "so"', sketch=Sketch(1), score=1 / 3, difference=0.5, lost=("Rome", "2")),
    Paraphrase(text="no", sketch=Sketch(1), score=0.0, difference=0.5, accepted=False, warnings=("odd", "a copy")),
]


def table(*columns: str) -> Rows:
    return Rows("csv", columns[0], columns, iter(()))


def test_lines_of_every_format() -> None:
    row = Row({"text": "hm\t?", "id": "7"}, "hm\t?")
    csv, tsv, text, json_lines = (
        RowWriter(table("text", "id"), format, 2) for format in ("csv", "tsv", "txt", "jsonl")
    )
    assert csv.header == "text,id,paraphrase_1,paraphrase_2,accepted,lost,warnings,problem\n"
    assert csv.line(row, PARAPHRASES, None) == 'hm\t?,7,"so, ""so""",no,true | false,"Rome, 2 |",| odd; a copy,\n'
    assert csv.line(row, [], "is empty") == "hm\t?,7,,,,,,is empty\n"
    assert (
        tsv.line(row, PARAPHRASES, None) == '"hm\t?"\t7\t"so, ""so"""\tno\ttrue | false\tRome, 2 |\t| odd; a copy\t\n'
    )
    assert text.line(row, PARAPHRASES, None) == 'so, "so"\tno\n'
    assert text.header == json_lines.header == ""
    written = json.loads(json_lines.line(row, PARAPHRASES, None))
    assert written["id"] == "7"
    assert [each["text"] for each in written["paraphrases"]] == ['so, "so"', "no"]
    assert written["paraphrases"][0]["score"] == 0.3333
    assert "problem" not in written
    assert json.loads(json_lines.line(row, [], "is empty"))["problem"] == "is empty"


def test_columns_are_never_overwritten() -> None:
    with pytest.raises(UsageError, match="there is a column 'paraphrase_1' already"):
        RowWriter(table("text", "paraphrase_1"), "csv", 1)
    with pytest.raises(UsageError, match="there is a column 'paraphrases' already"):
        RowWriter(table("text", "paraphrases"), "jsonl", 1)
    later = RowWriter(Rows("jsonl", "text", ("text",), iter(())), "jsonl", 1)
    with pytest.raises(UsageError, match="there is a column 'problem' already"):
        later.line(Row({"text": "a", "problem": "mine"}, "a"), [], None)
    with pytest.raises(UsageError, match="may differ in their columns"):
        RowWriter(Rows("jsonl", "text", ("text",), iter(())), "csv", 1)
