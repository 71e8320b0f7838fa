"""Tables of pairs: quoting, stray quotes, rows over several lines, labels and columns."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parasketch.data.corpora import BadRows, Cluster, open_corpus
from parasketch.errors import DataError

CORPORA = Path(__file__).parent.parent / "fixtures" / "corpora"
QUORA_HEADER = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"

WriteTable = Callable[..., Path]


@pytest.fixture
def table(tmp_path: Path) -> WriteTable:
    def write(content: str, name: str = "table.tsv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode())
        return path

    return write


def rows(path: Path, **options: object) -> list[tuple[str, ...]]:
    return [row.sentences for row in open_corpus(path, **options).rows()]  # type: ignore[arg-type]


def test_named_columns_and_labels() -> None:
    columns = ("before", "after")
    assert rows(CORPORA / "pairs.csv", text_columns=columns, label_column="same") == [
        ("Tea, or coffee?", "Would you like tea or coffee?"),
        ('She said "hello".', "She greeted me."),
    ]
    assert len(rows(CORPORA / "pairs.csv", text_columns=columns)) == 3  # without a label, every pair counts


def test_kaggle_is_quora_between_commas(table: WriteTable) -> None:
    content = '"id","qid1","qid2","question1","question2","is_duplicate"\n"0","1","2","Why, oh why?","Why?","1"\n'
    corpus = open_corpus(table(content, "train.csv"))
    assert corpus.format == "quora"
    assert list(corpus.rows()) == [Cluster(("Why, oh why?", "Why?"))]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ('"Is ""a"" b?"\tIs it?', ('Is "a" b?', "Is it?")),
        ('"a" is what?\tWhat is "a"?', ('"a" is what?', 'What is "a"?')),
        ('"Open\tnever closed', ('"Open', "never closed")),
        ('"one\ttwo"', ('"one', 'two"')),
        ('"over\n\nlines"\tshort', ("over lines", "short")),
        ('short\t"over\nlines "', ("short", "over lines")),
    ],
)
def test_quotes_of_a_tsv_file(table: WriteTable, fields: str, expected: tuple[str, str]) -> None:
    path = table(f"{QUORA_HEADER}0\t1\t2\t{fields}\t1\n1\t3\t4\tnext\trow\t1\n")
    assert rows(path) == [expected, ("next", "row")]


def test_a_row_over_lines_is_numbered_by_its_first(table: WriteTable) -> None:
    path = table(f'{QUORA_HEADER}0\t1\t2\t"a\nb"\tc\tmaybe\n')
    with pytest.raises(DataError) as caught:
        rows(path)
    assert str(caught.value) == f"{path}:2: the label 'maybe' (expected 1 (a paraphrase) or 0 (none))"


def test_an_open_quote_does_not_swallow_the_rows_behind_it(table: WriteTable) -> None:
    path = table('text1,text2\n"open,1\n' + "".join(f"a{n},b{n}\n" for n in range(100)), "a.csv")
    bad = BadRows()
    assert rows(path, on_bad=bad) == [(f"a{n}", f"b{n}") for n in range(100)]
    assert [str(error) for error in bad.first] == [f"{path}:2: not valid CSV: unexpected end of data"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("0\t1\t2\ta\tb", "5 columns (expected 6, as in the header)"),
        ("0\t1\t2\ta\tb\t2", "the label '2' (expected 1 (a paraphrase) or 0 (none))"),
        ("0\t1\t2\t\tb\t1", "an empty sentence"),
        ("0\t1\t2\ta\0\tb\t1", "a NUL byte in a sentence (expected text)"),
    ],
)
def test_a_bad_row_is_named_with_its_line(table: WriteTable, row: str, message: str) -> None:
    path = table(f"{QUORA_HEADER}0\t1\t2\tx\ty\t1\n{row}\n1\t1\t2\tu\tv\t1.0\n")
    with pytest.raises(DataError) as caught:
        rows(path)
    assert str(caught.value) == f"{path}:3: {message}"
    assert rows(path, on_bad=BadRows()) == [("x", "y"), ("u", "v")]


def test_windows_line_ends(table: WriteTable) -> None:
    path = table(f'{QUORA_HEADER}0\t1\t2\t"a\nb"\tc\t1\n1\t1\t2\tu\tv\t0\n'.replace("\n", "\r\n"))
    assert rows(path) == [("a b", "c")]


def test_unknown_columns_are_named(table: WriteTable) -> None:
    path = table("left,right\na,b\n", "a.csv")
    with pytest.raises(DataError, match=r"a\.csv:1: the columns are left, right \(expected question1 and question2"):
        rows(path)
    with pytest.raises(DataError, match=r"a\.csv:1: no column 'centre' among left, right"):
        rows(path, text_columns=("left", "centre"), on_bad=BadRows())


def test_a_header_alone_holds_no_clusters(table: WriteTable) -> None:
    with pytest.raises(DataError, match=r"table\.tsv: holds no clusters"):
        rows(table(QUORA_HEADER))


def test_a_field_of_a_megabyte(table: WriteTable) -> None:
    long = "x" * 1_000_000
    assert rows(table(f"text1\ttext2\n{long}\tb\n")) == [(long, "b")]
    with pytest.raises(DataError, match=r"a\.csv:2: not valid CSV: field larger than field limit"):
        rows(table(f'text1,text2\n"{long}",b\n', "a.csv"))


@example(pairs=[("0\t", "0\n")], delimiter="\t")
@settings(deadline=None, max_examples=50)
@given(
    pairs=st.lists(
        st.tuples(*[st.text(st.characters(codec="utf-8", exclude_characters="\0")).filter(str.strip)] * 2), min_size=1
    ),
    delimiter=st.sampled_from([",", "\t"]),
)
def test_what_the_csv_module_writes_is_read(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]], delimiter: str
) -> None:
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(
        [("text1", "text2", "end"), *((first, second, "") for first, second in pairs)]
    )
    path = tmp_path_factory.getbasetemp() / "a.csv"
    path.write_bytes(stream.getvalue().encode())
    assert rows(path) == [tuple(" ".join(text.split()) for text in pair) for pair in pairs]
