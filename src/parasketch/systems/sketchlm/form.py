"""The form of a sentence: what its template says, projected to a vector and quantised to a sketch, coarse to fine.

The template (function words as they are, content as chunk tags) is what exemplars share in HRQ-VAE. Here its openings,
parts and end, its length and its voice are hashed features, reduced by a truncated SVD to a few dimensions; the
hierarchical quantiser of HRQ-VAE, fitted level by level to what is left over, makes codes of them. It reads any
sentence, so that an exemplar of any topic gives its form, and takes microseconds.
"""

import math
import zlib
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from parasketch.text.crf import CrfTagger
from parasketch.text.tagger import TaggedToken
from parasketch.text.templates import build_template, template_text

Floats = NDArray[np.float32]

HASHES = 8192
_LEAST = 5
"""Features of fewer sentences than this say nothing about form."""
_MOST_POINTS = 20_000
"""Points that k-means looks at; more do not change it."""
_BE = frozenset(["am", "is", "are", "was", "were", "be", "been", "being", "'s", "'re", "'m"])


def form_features(tokens: Sequence[TaggedToken]) -> dict[int, float]:
    """Hashed features of a tagged sentence, with weights: openings count most, for they decide the rest."""
    parts = template_text(build_template(tokens, "chunk")).split(" ")
    words = sum(token.text[0].isalnum() for token in tokens)
    features: dict[str, float] = {f"length {round(3 * math.log2(max(words, 1)))}": 1.0}
    for size, weight in ((1, 2.0), (2, 1.6), (3, 1.0)):
        features["^ " + " ".join(parts[:size])] = weight
    features["$ " + " ".join(parts[-2:])] = 0.8
    for part in parts:
        features[part] = 0.5
    for pair in pairwise(parts):
        features[" ".join(pair)] = 0.5
    if _is_passive(tokens):
        features["passive"] = 1.5
    hashed: dict[int, float] = {}
    for name, weight in features.items():
        key = zlib.crc32(name.encode()) % HASHES
        hashed[key] = max(weight, hashed.get(key, 0.0))
    return hashed


def _is_passive(tokens: Sequence[TaggedToken]) -> bool:
    """Whether a form of "be" is followed by a participle, with at most an adverb between them."""
    tags = [("BE" if token.text.lower() in _BE else token.pos) for token in tokens]
    return any(
        tag == "BE" and (tags[at + 1 : at + 2] == ["VBN"] or tags[at + 1 : at + 3] == ["RB", "VBN"])
        for at, tag in enumerate(tags)
    )


class FormEncoder:
    """From sentences to sketches."""

    def __init__(self, projection: Floats, codebooks: Floats) -> None:
        """With what was learnt: a projection (HASHES, width), and codebooks (levels, codes, width)."""
        self._projection, self._codebooks = projection, codebooks

    @cached_property
    def _tagger(self) -> CrfTagger:
        return CrfTagger()

    def sketches(self, sentences: Sequence[str]) -> list[tuple[int, ...]]:
        """The sketch that each sentence has itself: level by level the code that is nearest to what is left over."""
        if not sentences:
            return []
        rows = [form_features(tokens) for tokens in self._tagger.tag(sentences)]
        left, codes = form_vectors(rows, self._projection), []
        for codebook in self._codebooks:
            distances = np.square(codebook).sum(axis=-1) - 2 * left @ codebook.T  # but for what is the same for all
            codes.append(distances.argmin(axis=-1))
            left = left - codebook[codes[-1]]
        return [tuple(path) for path in np.stack(codes, axis=1).tolist()]


def form_vectors(rows: Sequence[dict[int, float]], projection: Floats) -> Floats:
    """Vectors (n, width) of length 1, of rows of features."""
    result = np.zeros((len(rows), projection.shape[1]), dtype=np.float32)
    for number, features in enumerate(rows):
        result[number] = np.array(list(features.values()), dtype=np.float32) @ projection[list(features)]
    result /= np.maximum(np.linalg.norm(result, axis=-1, keepdims=True), 1e-12)
    return result


def fit_projection(sentences: Sequence[str], width: int, *, seed: int) -> tuple[Floats, list[dict[int, float]]]:
    """A projection (HASHES, width) for sentences, and the features of those that codes are fitted to."""
    from scipy.sparse import csr_matrix
    from sklearn.decomposition import TruncatedSVD

    rows = [form_features(tokens) for tokens in CrfTagger().tag(sentences)]
    counts: NDArray[np.float64] = np.zeros(HASHES)
    for features in rows:
        counts[list(features)] += 1
    # Rare features say more, but openings such as "what" are common and say most: half of the usual weight.
    scale = np.sqrt(np.log(len(rows) / np.maximum(counts, 1)) * (counts >= _LEAST))
    matrix = csr_matrix(
        (
            [weight for features in rows for weight in features.values()],
            [key for features in rows for key in features],
            np.cumsum([0, *map(len, rows)]),
        ),
        shape=(len(rows), HASHES),
    )
    svd = TruncatedSVD(width, random_state=seed).fit(matrix.multiply(scale).tocsr())
    # The first dimensions would outshine the others: divided by the root of their size, all levels have work.
    directions = scale[:, None] * svd.components_.T / np.sqrt(svd.singular_values_)
    return directions.astype(np.float32), rows[:_MOST_POINTS]
