import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from parasketch.data.prepared import Prepared, Ragged, offsets, slices
from parasketch.errors import DataError


def test_offsets_and_slices_by_hand() -> None:
    assert offsets(np.array([2, 0, 3])).tolist() == [0, 2, 2, 5]
    assert offsets(np.array([], dtype=np.int64)).tolist() == [0]
    assert slices(np.array([7, 100, 0]), np.array([2, 0, 3])).tolist() == [7, 8, 0, 1, 2]
    assert slices(np.array([], dtype=np.int64), np.array([], dtype=np.int64)).tolist() == []


def test_rows_of_different_lengths() -> None:
    ragged = Ragged(np.array([4, 5, 6], dtype=np.int32), np.array([1, 0, 2], dtype=np.int32))
    assert [row.tolist() for row in ragged.rows()] == [[4], [], [5, 6]]


def test_the_reader(corpus: Prepared) -> None:
    assert corpus.num_clusters == 13
    assert corpus.num_sentences == 10 * 3 + 8 + 2 + 1
    assert corpus.cluster_sentences(1) == range(3, 6)
    assert [corpus.cluster_of(sentence) for sentence in (0, 3, 5, 40)] == [0, 1, 1, 12]
    assert corpus.text(4) == "sleeps the cat ?"
    assert corpus.template(4) == "VP the NP ?"
    assert corpus.tokenizer.decode(corpus.sentence_tokens(4).tolist()) == "sleeps the cat ?"
    batch = corpus.sentences(np.array([4, 0, 40]))
    assert [row.tolist() for row in batch.rows()] == [corpus.sentence_tokens(i).tolist() for i in (4, 0, 40)]
    assert batch.tokens.dtype == batch.lengths.dtype == np.int32


def test_groups_are_contiguous_among_the_members_of_their_template(corpus: Prepared) -> None:
    a = corpus.arrays
    for group in range(len(a.group_positions)):
        members = a.group_members[a.group_offsets[group] : a.group_offsets[group + 1]]
        start = a.group_positions[group]
        assert a.template_members[start : start + len(members)].tolist() == members.tolist()
        assert set(a.group_ids[members]) == {group}
        assert len(set(a.cluster_ids[members])) == len(set(a.template_ids[members])) == 1


def test_directories_that_are_no_prepared_corpus(tmp_path: Path, corpus: Prepared) -> None:
    with pytest.raises(DataError, match=r"not a prepared corpus .* made by `parasketch prepare`"):
        Prepared(tmp_path)
    out = Path(shutil.copytree(corpus.path, tmp_path / "out"))
    (out / "slot_ends.npy").write_bytes(b"")
    with pytest.raises(DataError, match="a damaged prepared corpus"):
        Prepared(out)
    manifest = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps(manifest | {"format": 99}))
    with pytest.raises(DataError, match="not a prepared corpus of this version"):
        Prepared(out)
