"""Every format of a corpus, read from small files in the published layouts, and found out by itself."""

import gzip
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from parasketch.data.corpora import (
    FORMATS,
    Cluster,
    EvalItem,
    detect_format,
    gather_clusters,
    open_corpus,
    read_clusters,
    read_eval,
    write_clusters,
    write_eval,
)
from parasketch.errors import DataError, UsageError

WriteCorpus = Callable[..., Path]

CORPORA = Path(__file__).parent.parent / "fixtures" / "corpora"

MONT_BLANC = ("How tall is Mont Blanc?", "What height does Mont Blanc have?", "mont blanc height")
CATS = ("Can cats swim?", "Are cats able to swim?")

EXPECTED: dict[str, tuple[str, list[tuple[str, ...]]]] = {
    "clusters.jsonl": ("clusters", [MONT_BLANC, CATS]),
    "paper_clusters.jsonl": (
        "clusters",
        [
            ("how tall is mont blanc ?", "what height does mont blanc have ?"),
            ("can cats swim ?", "are cats able to swim ?"),
        ],
    ),
    "eval.jsonl": ("eval", [MONT_BLANC, CATS]),
    "paper_eval.jsonl": (
        "eval",
        [
            ("how tall is mont blanc ?", "mont blanc height ?", "what height does mont blanc have ?"),
            ("can cats swim ?", "are cats able to swim ?"),
        ],
    ),
    # The second row starts with a final "!" instead of ".": the same sentence, which joins the two pairs.
    "pairs.tsv": ("pairs", [("It rains.", "Rain is falling.", "It is raining.")]),
    "quora.tsv": (
        "quora",
        [
            (*CATS, "Do cats swim?"),
            ('How do I say "yes"', "What is the word for yes?"),
            ('"Stray quotes', "Should they matter?"),
        ],
    ),
    "captions.json": (
        "coco",
        [
            ("A dog runs on a beach.", "A brown dog is running by the sea"),
            ("Two people ride bikes.", "A couple on bicycles"),
        ],
    ),
    "word_alignments.txt": (
        "paralex",
        [
            ("how tall be mont blanc ?", "mont blanc height ?", "how high be mont blanc ?"),
            ("can cat swim ?", "be cat able to swim ?"),
        ],
    ),
    "wikianswers.txt": (
        "tabs",
        [("how tall is mont blanc", "mont blanc height"), ("can cats swim", "are cats able to swim")],
    ),
    "tabbed.txt": ("tabs", [("How tall is Mont Blanc?", "Mont Blanc height?"), (*CATS, "Do cats swim?")]),
    "plain.txt": ("text", [("How tall is Mont Blanc?", "Mont Blanc height?"), CATS]),
}

sentence = (
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)
    .map(lambda text: " ".join(text.split()))
    .filter(bool)
)
sentences = st.lists(sentence, min_size=1, max_size=4).map(tuple)


@pytest.fixture
def corpus_file(tmp_path: Path) -> WriteCorpus:
    def write(content: str | bytes, name: str = "corpus.jsonl") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("packed", [False, True])
def test_reads_and_detects_every_format(name: str, packed: bool, tmp_path: Path) -> None:
    path = CORPORA / name
    if packed:
        path = tmp_path / f"{name}.gz"
        path.write_bytes(gzip.compress((CORPORA / name).read_bytes()))
    format, clusters = EXPECTED[name]
    assert detect_format(path) == format
    assert list(read_clusters(path)) == [Cluster(members) for members in clusters]
    assert list(read_clusters(path, format)) == [Cluster(members) for members in clusters]


def documented_examples() -> dict[str, str]:
    document = (Path(__file__).parents[2] / "docs" / "data-formats.md").read_text(encoding="utf-8")
    sections = re.findall(r"^### `(\w+)`(.*?)(?=^##)", document, flags=re.MULTILINE | re.DOTALL)
    return {name: "".join(re.findall(r"^    (.*\n)", text, flags=re.MULTILINE)) for name, text in sections}


@pytest.mark.parametrize("format", FORMATS)
def test_the_documented_example_is_of_its_format(format: str, tmp_path: Path) -> None:
    path = tmp_path / ("example.csv" if format == "pairs" else "example.txt")
    path.write_text(documented_examples()[format], encoding="utf-8")
    assert detect_format(path) == format
    assert all(len(cluster.sentences) > 1 for cluster in read_clusters(path))


def test_every_format_has_a_fixture() -> None:
    assert {format for format, _ in EXPECTED.values()} == set(FORMATS)


@pytest.mark.parametrize("name", EXPECTED)
def test_standard_input_is_detected_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "pairs.tsv":  # without an ending, a table looks like clusters between tabs
        return
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((CORPORA / name).read_bytes())))
    assert [cluster.sentences for cluster in read_clusters("-")] == EXPECTED[name][1]


@pytest.mark.parametrize("name", [name for name in EXPECTED if name != "quora.tsv"])
def test_windows_line_ends_change_nothing(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes((CORPORA / name).read_bytes().replace(b"\n", b"\r\n"))
    assert [cluster.sentences for cluster in read_clusters(path)] == EXPECTED[name][1]


def test_evaluation_items() -> None:
    assert list(read_eval(CORPORA / "eval.jsonl")) == [
        EvalItem(MONT_BLANC[0], MONT_BLANC[1:]),
        EvalItem(CATS[0], CATS[1:]),
    ]
    assert [item.references for item in read_eval(CORPORA / "paper_eval.jsonl")] == [
        ("mont blanc height ?", "what height does mont blanc have ?"),
        ("are cats able to swim ?",),
    ]


def test_clusters_are_no_evaluation_file() -> None:
    with pytest.raises(DataError, match=r"clusters\.jsonl: not an evaluation file but clusters .*convert --to eval"):
        read_eval(CORPORA / "clusters.jsonl")


@settings(deadline=None, max_examples=30)
@given(clusters=st.lists(sentences.map(Cluster), min_size=1), packed=st.booleans())
def test_clusters_round_trip(tmp_path_factory: pytest.TempPathFactory, clusters: list[Cluster], packed: bool) -> None:
    path = tmp_path_factory.getbasetemp() / ("a.jsonl.gz" if packed else "a.jsonl")
    write_clusters(path, clusters)
    assert list(read_clusters(path)) == clusters


@settings(deadline=None, max_examples=30)
@given(items=st.lists(st.builds(EvalItem, sentence, sentences), min_size=1))
def test_evaluation_items_round_trip(tmp_path_factory: pytest.TempPathFactory, items: list[EvalItem]) -> None:
    path = tmp_path_factory.getbasetemp() / "a.jsonl"
    write_eval(path, items)
    assert list(read_eval(path)) == items


@settings(deadline=None, max_examples=30)
@given(clusters=st.lists(sentences, min_size=1))
@pytest.mark.parametrize(("format", "between", "after"), [("text", "\n", "\n\n"), ("tabs", "\t", "\n")])
def test_text_round_trip(
    tmp_path_factory: pytest.TempPathFactory, clusters: list[tuple[str, ...]], format: str, between: str, after: str
) -> None:
    clusters = [("first",), *clusters]  # a byte order mark at the start would be dropped
    assume(not any(sentence.startswith(("q:", "a:")) for members in clusters for sentence in members))
    path = tmp_path_factory.getbasetemp() / "a"
    path.write_bytes("".join(between.join(members) + after for members in clusters).encode())
    assert [cluster.sentences for cluster in read_clusters(path, format)] == clusters


@settings(deadline=None, max_examples=30)
@given(content=st.binary(max_size=200) | st.text(alphabet='{}[]":,a1 \t\n\\').map(str.encode))
@pytest.mark.parametrize("format", ["auto", *FORMATS])
def test_whatever_the_bytes_there_is_no_other_error(
    tmp_path_factory: pytest.TempPathFactory, format: str, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "a"
    path.write_bytes(content)
    assert all(error.path is not None and str(path) in str(error) for error in problems(path, format))


def problems(path: Path, format: str) -> list[DataError]:
    found: list[DataError] = []
    try:
        assert all(cluster.sentences for cluster in read_clusters(path, format, on_bad=found.append))
    except DataError as error:
        found.append(error)
    return found


class TestDetection:
    def test_other_keys_may_come_first(self, corpus_file: WriteCorpus) -> None:
        assert detect_format(corpus_file('{"id": 1, "sentences": ["a"]}')) == "clusters"
        assert detect_format(corpus_file('{"tgt": "b", "paras": ["b"], "sem_input": "a"}')) == "eval"

    def test_unknown_keys_are_named(self, corpus_file: WriteCorpus) -> None:
        path = corpus_file('{"text": "a", "id": 1}')
        with pytest.raises(DataError) as caught:
            detect_format(path)
        assert str(caught.value).startswith(f"{path}:1: a JSON object with the keys id, text (expected one of")

    def test_a_list_of_sentences_is_not_taken_for_one_huge_cluster(self, corpus_file: WriteCorpus) -> None:
        path = corpus_file("".join(f"sentence {number}\n" for number in range(200)), "list.txt")
        with pytest.raises(DataError, match=r"list\.txt: no blank line between clusters"):
            detect_format(path)
        assert len(list(read_clusters(path, "text"))) == 1

    def test_an_unknown_format_is_refused(self) -> None:
        with pytest.raises(UsageError, match="unknown format 'xml'; there are clusters, eval, pairs"):
            open_corpus("-", "xml")

    def test_columns_belong_to_pairs(self) -> None:
        with pytest.raises(UsageError, match="columns can only be named for the format pairs, not for quora"):
            open_corpus("-", "quora", text_columns=("a", "b"))


def test_pairs_of_several_files_are_joined(corpus_file: WriteCorpus) -> None:
    first = corpus_file("question1\tquestion2\tis_duplicate\na\tb\t1\n", "train.tsv")
    second = corpus_file("question1\tquestion2\tis_duplicate\nC\tB?\t1\nd\te\t1\n", "dev.tsv")
    corpora = [open_corpus(path) for path in (first, CORPORA / "plain.txt", second)]
    gathered = [cluster.sentences for cluster in gather_clusters(corpora)]
    assert gathered == [*EXPECTED["plain.txt"][1], ("a", "b", "C"), ("d", "e")]


def test_whole_clusters_are_joined_only_on_request(corpus_file: WriteCorpus) -> None:
    path = corpus_file('{"sentences": ["a", "b"]}\n{"sentences": ["B.", "c"]}\n')
    assert [c.sentences for c in gather_clusters([open_corpus(path)])] == [("a", "b"), ("B.", "c")]
    assert [c.sentences for c in gather_clusters([open_corpus(path)], merge=True)] == [("a", "b", "c")]


def test_reading_streams(corpus_file: WriteCorpus) -> None:
    path = corpus_file('{"sentences": ["a", "b"]}\n' * 500 + "bad\n")
    clusters = read_clusters(path)
    assert next(clusters) == Cluster(("a", "b"))  # the bad row, far behind, has not been seen yet
    with pytest.raises(DataError, match=":501: not valid JSON"):
        list(clusters)
