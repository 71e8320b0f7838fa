"""How much wording sentences share: one count of n-grams for agreement, difference and diversity.

The k-th occurrence of an n-gram is a feature of its own, so that clipped counts of all pairs of sentences are one
product of a 0/1 matrix with itself.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ORDERS = 4
_WORD = re.compile(r"\w+|[^\w\s]")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Overlaps:
    """The n-grams of order 1 to 4 that m sentences share."""

    matches: Floats
    """(4, m, m), clipped matches of every two"""
    sizes: Floats
    """(4, m), how many n-grams each has"""

    @classmethod
    def among(cls, texts: Sequence[str]) -> "Overlaps":
        """Count them."""
        sentences = [compared_words(text) for text in texts]
        counts = [_matches(sentences, order) for order in range(1, ORDERS + 1)]
        return cls(np.stack([matches for matches, _ in counts]), np.stack([sizes for _, sizes in counts]))

    def f1(self) -> Floats:
        """The overlap of every two, (m, m): the mean F1 of their n-grams of all orders; 1 on the diagonal.

        It is 1 for the same words in the same order and 0 when no word is shared.
        """
        both = self.sizes[:, :, None] + self.sizes[:, None]
        orders = (both > 0).sum(axis=0)  # sentences too short for an order are compared by the lower ones
        overlap = (2 * self.matches / np.maximum(both, 1)).sum(axis=0) / np.maximum(orders, 1)
        np.fill_diagonal(overlap, 1.0)
        return np.asarray(overlap)


def compared_words(text: str) -> list[str]:
    """The words of a text as they are compared: without casing; punctuation marks are words."""
    return _WORD.findall(text.casefold())


def overlap_matrix(texts: Sequence[str]) -> Floats:
    """The overlap of every two texts, (m, m); 1 on the diagonal."""
    return Overlaps.among(texts).f1()


def _matches(sentences: Sequence[Sequence[str]], order: int) -> tuple[Floats, Floats]:
    """Clipped matches of the n-grams of every two sentences, (m, m), and how many n-grams each has, (m,)."""
    numbers: dict[tuple[tuple[str, ...], int], int] = {}
    rows, columns = [], []
    for row, words in enumerate(sentences):
        seen: Counter[tuple[str, ...]] = Counter()
        for gram in zip(*(words[start:] for start in range(order)), strict=False):
            rows.append(row)
            columns.append(numbers.setdefault((gram, seen[gram]), len(numbers)))
            seen[gram] += 1
    features = np.zeros((len(sentences), max(1, len(numbers))))
    features[rows, columns] = 1
    return features @ features.T, features.sum(axis=1)
