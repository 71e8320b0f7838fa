"""Tables as text."""

import csv
import io
from collections.abc import Callable

from rich.console import Console

from parasketch.evaluate.compare import Table, tables
from parasketch.evaluate.report import render, score_table, to_rich
from parasketch.evaluate.results import Results

MakeResults = Callable[..., Results]

TABLE = Table(title="T & Co", header=["system", "a_b %"], rows=[["x|y", "1.0"], ["[z]", "–"]], best={(0, 1)})


def test_markdown_table_with_escaped_bars_and_bold_best() -> None:
    lines = render("markdown", [TABLE], []).splitlines()
    assert lines[:6] == ["### T & Co", "", "| system | a_b % |", "| --- | ---: |", r"| x\|y | **1.0** |", "| [z] | – |"]


def test_latex_table_with_escaped_signs() -> None:
    text = render("latex", [TABLE], [])
    assert r"\caption{T \& Co}" in text
    assert r"system & a\_b \% \\" in text
    assert r"x|y & \textbf{1.0} \\" in text
    assert r"\begin{tabular}{lr}" in text


def test_markdown_says_how_the_numbers_were_made(make_results: MakeResults) -> None:
    results = [make_results("copy"), make_results("silent")]
    text = render("markdown", tables(results), results)
    assert (
        "- **copy**, toy/test: `parasketch evaluate --outputs copy.txt`; 3 items, data `toy/test3000`; seed 0; " in text
    )
    assert "3 empty outputs; `nrefs:var|case:lc|eff:no|tok:13a|smooth:exp|version:" in text


def test_csv_has_a_row_for_each_result_and_unrounded_scores(make_results: MakeResults) -> None:
    results = [make_results("copy"), make_results("good", k=1)]
    rows = list(csv.DictReader(io.StringIO(render("csv", tables(results), results))))
    assert [row["system"] for row in rows] == ["copy", "good"]
    assert float(rows[0]["ibleu"]) == results[0].scores["ibleu"].value
    assert rows[1]["p_bleu"] == ""


def test_tables_for_the_terminal_take_names_as_they_are(make_results: MakeResults) -> None:
    screen = Console(file=io.StringIO(), width=100)
    screen.print(to_rich(TABLE), score_table(make_results("copy")))
    shown = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "[z]" in shown
    assert "copy on toy/test (3 items)" in shown
    assert "100.00" in shown
