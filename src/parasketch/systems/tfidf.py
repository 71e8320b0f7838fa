"""tf-idf: the training sentence that is most similar to the input, by cosine of word tf-idf vectors.

A retrieval baseline. The neighbour itself is the output, not one of its paraphrases, and a neighbour that
equals the input is not excluded, as in the paper. Words are all runs of letters and digits (single letters
too, since they tell questions apart), lower-cased; idf is smoothed, tf is not damped.
"""

import hashlib
import json
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from parasketch.console import track
from parasketch.data.corpora import Cluster
from parasketch.errors import DataError, ModelError, UsageError
from parasketch.extras import needs
from parasketch.systems.base import Settings, System

SENTENCES, VOCABULARY, IDF, VECTORS = "sentences.json", "vocabulary.json", "idf.npy", "vectors.npz"
_WORD = r"\b\w+\b"
_BLOCK_ELEMENTS = 25_000_000  # similarities held at a time: 200 MB, whatever the number of sentences
_TIE = 1e-12  # similarities that differ by rounding alone are the same


class TfIdf(System):
    """Retrieves the nearest training sentences."""

    name = "tfidf"
    description = "the training sentences nearest to the input, by cosine of word tf-idf vectors"

    def __init__(self) -> None:
        self._sentences: list[str] = []
        self._vectorizer: Any = None
        self._vectors: Any = None  # (sentences, words), sparse rows of length 1

    def fit(self, clusters: Iterable[Cluster]) -> None:
        """Index all training sentences; of sentences that differ in case alone the first is kept."""
        unique: dict[str, str] = {}
        for cluster in clusters:
            for sentence in cluster.sentences:
                unique.setdefault(sentence.lower(), sentence)
        if not unique:
            raise DataError("there are no sentences to learn from", expected="at least one cluster")
        self._sentences = list(unique.values())
        self._vectorizer = _vectorizer()
        try:
            self._vectors = self._vectorizer.fit_transform(unique)
        except ValueError as error:
            raise DataError("the sentences to learn from hold no word") from error

    def generate(
        self, inputs: Sequence[str], n: int = 1, references: Sequence[Sequence[str]] | None = None
    ) -> list[list[str]]:
        """The `n` nearest sentences, the first in the training data among equals (if no word is known, its first)."""
        del references
        if self._vectors is None:
            raise UsageError("tf-idf has to be fitted on training clusters (--train) before it can generate")
        if n > len(self._sentences):
            raise UsageError(f"{n} different neighbours are wanted of {len(self._sentences)} training sentences")
        queries, by_word = self._vectorizer.transform(inputs), self._vectors.T.tocsr()
        block = max(1, _BLOCK_ELEMENTS // len(self._sentences))
        starts = track(range(0, len(inputs), block), "searching neighbours")
        return [
            [self._sentences[index] for index in row]
            for start in starts
            for row in _largest((queries[start : start + block] @ by_word).toarray(), n)
        ]

    def fingerprint(self) -> str:
        """A hash of the training sentences, which decide everything."""
        return hashlib.sha256("\n".join(self._sentences).encode()).hexdigest()

    def _write(self, directory: Path) -> Settings:
        if self._vectors is None:
            raise UsageError("tf-idf has to be fitted before it can be saved")
        from scipy import sparse

        words = self._vectorizer.get_feature_names_out().tolist()
        for name, texts in ((SENTENCES, self._sentences), (VOCABULARY, words)):
            (directory / name).write_text(json.dumps(texts, ensure_ascii=False), encoding="utf-8")
        np.save(directory / IDF, self._vectorizer.idf_, allow_pickle=False)
        sparse.save_npz(directory / VECTORS, self._vectors)
        return {}

    @classmethod
    def _read(cls, directory: Path, settings: Settings) -> Self:
        del settings
        from scipy import sparse

        system = cls()
        try:
            system._sentences = json.loads((directory / SENTENCES).read_text(encoding="utf-8"))
            words = json.loads((directory / VOCABULARY).read_text(encoding="utf-8"))
            system._vectorizer = _vectorizer(vocabulary=words)
            system._vectorizer.idf_ = np.load(directory / IDF, allow_pickle=False)
            system._vectors = sparse.load_npz(directory / VECTORS)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise ModelError(f"the tf-idf system in {directory} is damaged: {error}") from error
        if system._vectors.shape != (len(system._sentences), len(words)):
            raise ModelError(f"the tf-idf system in {directory} is damaged: its files do not belong together")
        return system


def _vectorizer(vocabulary: list[str] | None = None) -> Any:
    with needs("eval", "tf-idf"):
        from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(token_pattern=_WORD, vocabulary=vocabulary)


def _largest(similarity: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    """The columns of the n largest values of each row, (rows, columns) to (rows, n); the first column among ties."""
    rows = np.arange(len(similarity))
    found = np.empty((len(similarity), n), dtype=np.int64)
    for rank in range(n):
        best = similarity.max(axis=1, keepdims=True)
        found[:, rank] = (similarity >= best - _TIE).argmax(axis=1)
        similarity[rows, found[:, rank]] = -1.0
    return found
