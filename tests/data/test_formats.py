"""Bad rows of every format: named with file, line and what was expected, or left out and counted."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from parasketch.data.corpora import BadRows, Cluster, read_clusters, read_eval
from parasketch.errors import DataError

WriteCorpus = Callable[..., Path]


@pytest.fixture
def corpus_file(tmp_path: Path) -> WriteCorpus:
    def write(content: str | bytes, name: str = "corpus.jsonl") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


class TestBadRows:
    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ("[1, 2]", 'not a cluster (expected {"sentences": '),
            ('{"sentences": "one"}', "a string where the sentences should be (expected a list of strings)"),
            ('{"sentences": []}', "an empty list of sentences (expected at least one)"),
            ('{"sentences": ["a", null]}', "null where a sentence should be (expected a string)"),
            ('{"sentences": ["a", 3]}', "a number where a sentence should be (expected a string)"),
            ('{"sentences": ["a", " "]}', "an empty sentence"),
            ('{"sentences": ["a", "b\\u0000"]}', "a NUL byte in a sentence (expected text)"),
            ('{"sentences": ["a", "b\0"]}', "not valid JSON: Invalid control character"),
            ('{"sentences": ["a", "\\ud800"]}', "half of a surrogate pair in a sentence (expected Unicode text)"),
            ('{"sentences": ["a"], "sentences": ["b"]}', "the key 'sentences' occurs twice in one object"),
            ('{"sentences": ["a"', "not valid JSON: Expecting ',' delimiter"),
            ("[" * 100_000, "not readable as JSON: nested too deeply"),
            ('{"n": ' + "1" * 5000 + "}", "not valid JSON: Exceeds the limit"),
        ],
    )
    def test_a_bad_cluster_is_named_with_its_line(self, corpus_file: WriteCorpus, row: str, message: str) -> None:
        path = corpus_file('{"sentences": ["a", "b"]}\n' + row + '\n{"sentences": ["c", "d"]}\n')
        with pytest.raises(DataError) as caught:
            list(read_clusters(path))
        assert str(caught.value).startswith(f"{path}:2: {message}")
        bad = BadRows()
        assert list(read_clusters(path, on_bad=bad)) == [Cluster(("a", "b")), Cluster(("c", "d"))]
        assert bad.count == 1
        assert str(bad.first[0]) == str(caught.value)

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ('{"input": "a"}', "not an evaluation item (expected"),
            ('{"input": "a", "references": []}', "an empty list of sentences"),
            ('{"input": ["a"], "references": ["b"]}', "a list where a sentence should be"),
            ('{"sem_input": "a", "tgt": "b", "syn_input": "c"}', "not an evaluation item"),
        ],
    )
    def test_a_bad_item_is_named_with_its_line(self, corpus_file: WriteCorpus, row: str, message: str) -> None:
        path = corpus_file('{"input": "a", "references": ["b"]}\n' + row)
        with pytest.raises(DataError) as caught:
            list(read_eval(path))
        assert str(caught.value).startswith(f"{path}:2: {message}")

    def test_only_the_first_ten_are_kept(self, corpus_file: WriteCorpus) -> None:
        bad = BadRows()
        path = corpus_file('{"sentences": ["a"]}\n' + "{}\n" * 25)
        assert len(list(read_clusters(path, on_bad=bad))) == 1
        assert bad.count == 25
        assert [error.line for error in bad.first] == list(range(2, 12))

    def test_invalid_utf8_is_a_bad_row(self, corpus_file: WriteCorpus) -> None:
        path = corpus_file(b'{"sentences": ["a"]}\n{"sentences": ["\xff"]}\n')
        with pytest.raises(DataError, match=r"corpus\.jsonl:2: invalid UTF-8 at byte 17"):
            list(read_clusters(path))
        bad = BadRows()
        assert list(read_clusters(path, on_bad=bad)) == [Cluster(("a",))]
        assert bad.count == 1

    def test_a_truncated_gzip_file_is_no_bad_row_but_an_error(self, corpus_file: WriteCorpus) -> None:
        rows = "".join(json.dumps({"sentences": [f"sentence {n}", str(n * n)]}) + "\n" for n in range(2000))
        packed = gzip.compress(rows.encode())
        path = corpus_file(packed[: len(packed) // 2], "a.jsonl.gz")
        with pytest.raises(DataError, match=r"a\.jsonl\.gz:\d+: cannot be read further: .*end-of-stream"):
            list(read_clusters(path, on_bad=BadRows()))

    def test_a_line_of_a_megabyte_is_read(self, corpus_file: WriteCorpus) -> None:
        long = " ".join(["word"] * 250_000)
        path = corpus_file(json.dumps({"sentences": [long, "short"]}))
        assert list(read_clusters(path)) == [Cluster((long, "short"))]

    @pytest.mark.parametrize("content", ["", "\n", " \r\n\n"])
    def test_an_empty_file_is_an_error(self, corpus_file: WriteCorpus, content: str) -> None:
        path = corpus_file(content)
        with pytest.raises(DataError) as caught:
            list(read_clusters(path))
        assert str(caught.value) == f"{path}: is empty (expected a corpus)"
        with pytest.raises(DataError, match=r"corpus\.jsonl: holds no clusters \(expected JSON lines"):
            list(read_clusters(path, "clusters"))

    def test_nothing_but_bad_rows_is_an_error(self, corpus_file: WriteCorpus) -> None:
        path = corpus_file('{"input": "", "references": ["a"]}')
        with pytest.raises(DataError, match="holds no clusters"):
            list(read_eval(path, on_bad=BadRows()))


class TestOtherFormats:
    def test_paralex_needs_three_columns(self, corpus_file: WriteCorpus) -> None:
        path = corpus_file("a\tb\t0-0\na\tb\n", "word_alignments.txt")
        with pytest.raises(DataError) as caught:
            list(read_clusters(path))
        assert str(caught.value) == f"{path}:2: 2 columns (expected question, question and alignment between tabs)"

    def test_answers_alone_are_no_cluster(self, corpus_file: WriteCorpus) -> None:
        path = corpus_file("q:a\tq:b\na:42\ta:43\n", "wiki.txt")
        with pytest.raises(DataError, match=r"wiki\.txt:2: answers \(a:\) without a question"):
            list(read_clusters(path))

    @pytest.mark.parametrize(
        ("document", "message"),
        [
            ('{"annotations": {}}', "no list of annotations"),
            ('{"info": 1}', "no list of annotations"),
            ('{"annotations": [', "not valid JSON"),
            ('{"annotations": [], "annotations": []}', "the key 'annotations' occurs twice"),
            ('{"annotations": [{"image_id": 1, "bbox": [1]}]}', "annotation 1: not a caption"),
            ('{"annotations": [{"image_id": 1, "caption": " "}]}', "annotation 1: an empty sentence"),
        ],
    )
    def test_a_bad_coco_file_is_named(self, corpus_file: WriteCorpus, document: str, message: str) -> None:
        path = corpus_file(document, "captions.json")
        with pytest.raises(DataError) as caught:
            list(read_clusters(path))
        assert str(caught.value).startswith(f"{path}: {message}")

    def test_bad_captions_can_be_left_out(self, corpus_file: WriteCorpus) -> None:
        annotations = [{"image_id": 1, "caption": c} for c in ("A dog.", "", "A hound.")]
        bad = BadRows()
        path = corpus_file(json.dumps({"annotations": annotations}), "captions.json")
        assert list(read_clusters(path, on_bad=bad)) == [Cluster(("A dog.", "A hound."))]
        assert bad.count == 1
