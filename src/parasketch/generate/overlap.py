"""How much wording sentences share: one measure for difference, consensus and diversity.

The overlap of two sentences is the mean, over n-grams of order 1 to 4, of the F1 of their clipped n-gram matches: 1 for
the same words in the same order, 0 when no word is shared. The k-th occurrence of an n-gram is a feature of its own, so
that clipped counts of all pairs are one product of a 0/1 matrix with itself.
"""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ORDERS = 4
_WORD = re.compile(r"\w+|[^\w\s]")


def overlap_matrix(texts: Sequence[str]) -> NDArray[np.float64]:
    """The overlap of every two texts, (m, m); 1 on the diagonal."""
    sentences = [_WORD.findall(text.casefold()) for text in texts]
    total = np.zeros((len(texts), len(texts)))
    orders = np.zeros_like(total)
    for order in range(1, ORDERS + 1):
        grams = [zip(*(words[start:] for start in range(order)), strict=False) for words in sentences]
        matches, sizes = _matches([list(sentence) for sentence in grams])
        both = sizes[:, None] + sizes[None]
        total += 2 * matches / np.maximum(both, 1)
        orders += both > 0  # sentences too short for this order are compared by the lower ones
    overlap = total / np.maximum(orders, 1)
    np.fill_diagonal(overlap, 1.0)
    return overlap


def _matches(sentences: list[list[tuple[str, ...]]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Clipped matches of every two lists of n-grams, (m, m), and how many n-grams each has, (m,)."""
    numbers: dict[tuple[tuple[str, ...], int], int] = {}
    rows, columns = [], []
    for row, grams in enumerate(sentences):
        seen: Counter[tuple[str, ...]] = Counter()
        for gram in grams:
            rows.append(row)
            columns.append(numbers.setdefault((gram, seen[gram]), len(numbers)))
            seen[gram] += 1
    features = np.zeros((len(sentences), max(1, len(numbers))))
    features[rows, columns] = 1
    return features @ features.T, features.sum(axis=1)
