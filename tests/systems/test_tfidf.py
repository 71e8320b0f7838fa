"""tf-idf: neighbours against scikit-learn's plain cosine, ties, and what is saved."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from parasketch.data.corpora import Cluster
from parasketch.errors import DataError, ModelError, UsageError
from parasketch.systems import tfidf
from parasketch.systems.tfidf import TfIdf

CLUSTERS = [
    Cluster(("How heavy is a moose?", "what does a moose weigh?")),
    Cluster(("Who wrote C?", "who wrote r?", "HOW HEAVY IS A MOOSE?")),
]

texts = st.lists(st.sampled_from(["who", "what", "is", "a", "moose", "C", "heavy", "r"]), min_size=1, max_size=6).map(
    " ".join
)


@pytest.fixture
def fitted() -> TfIdf:
    system = TfIdf()
    system.fit(CLUSTERS)
    return system


def test_nearest_sentence_is_given_in_its_own_spelling(fitted: TfIdf) -> None:
    inputs = ["how heavy is the moose", "WHO WROTE R", "what does a moose weigh?"]
    assert fitted.generate(inputs) == [["How heavy is a moose?"], ["who wrote r?"], ["what does a moose weigh?"]]


def test_ties_go_to_the_first_sentence(fitted: TfIdf) -> None:
    assert fitted.generate(["unheard-of words"]) == [["How heavy is a moose?"]]
    system = TfIdf()
    system.fit([Cluster(("b a", "a b", "c d"))])
    assert system.generate(["a b"], n=3) == [["b a", "a b", "c d"]]


@settings(deadline=None, max_examples=40)
@given(st.lists(texts, min_size=3, max_size=8, unique_by=str.lower), st.lists(texts, min_size=1, max_size=5))
def test_neighbours_are_those_of_the_plain_cosine(training: list[str], inputs: list[str]) -> None:
    system = TfIdf()
    system.fit([Cluster(tuple(training))])
    vectorizer = TfidfVectorizer(token_pattern=r"\w+").fit(training)
    similarity = cosine_similarity(vectorizer.transform(inputs), vectorizer.transform(training))
    for row, found in zip(similarity, system.generate(inputs, n=3), strict=True):
        places = [training.index(text) for text in found]
        assert len(set(places)) == 3
        assert row[places] == pytest.approx(np.sort(row)[::-1][:3], abs=1e-9)


def test_small_blocks_find_the_same(fitted: TfIdf, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = ["who", "moose", "weigh", "r", "heavy c"]
    whole = fitted.generate(inputs, n=2)
    monkeypatch.setattr(tfidf, "_BLOCK_ELEMENTS", 8)
    assert fitted.generate(inputs, n=2) == whole


def test_a_saved_system_gives_the_same(fitted: TfIdf, tmp_path: Path) -> None:
    fitted.save(tmp_path / "tfidf")
    loaded = TfIdf.load(tmp_path / "tfidf")
    inputs = ["who wrote c", "what is heavy", "zzz"]
    assert loaded.generate(inputs, n=2) == fitted.generate(inputs, n=2)
    assert loaded.fingerprint() == fitted.fingerprint()
    assert {path.suffix for path in (tmp_path / "tfidf").iterdir()} == {".json", ".npy", ".npz"}


def test_a_damaged_system_is_named(fitted: TfIdf, tmp_path: Path) -> None:
    fitted.save(tmp_path)
    (tmp_path / "sentences.json").write_text('["just one"]')
    with pytest.raises(ModelError, match="its files do not belong together"):
        TfIdf.load(tmp_path)
    (tmp_path / "vectors.npz").write_bytes(b"no")
    with pytest.raises(ModelError, match="is damaged"):
        TfIdf.load(tmp_path)


def test_misuse_is_explained(fitted: TfIdf, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has to be fitted"):
        TfIdf().generate(["a"])
    with pytest.raises(UsageError, match="has to be fitted before it can be saved"):
        TfIdf().save(tmp_path / "never")
    assert not (tmp_path / "never").exists()
    with pytest.raises(UsageError, match="5 different neighbours are wanted of 4 training sentences"):
        fitted.generate(["a"], n=5)
    with pytest.raises(DataError, match="no sentences to learn from"):
        TfIdf().fit([])
    with pytest.raises(DataError, match="hold no word"):
        TfIdf().fit([Cluster(("?", "!"))])
