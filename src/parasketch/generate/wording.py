"""Sentences compared by their words: what wording they share, whether their forms are alike, and what is said twice.

One count of n-grams serves agreement, difference and diversity: the k-th occurrence of an n-gram is a feature of its
own, so that clipped counts of all pairs of sentences are one product of a 0/1 matrix with itself.

The form of a sentence, by which it is compared with an exemplar, is what is left when content words become blanks: "A
man is riding a horse." is `a _ is _ a _ .`. Forms are compared by the edit distance of words. A word more or less
counts for more than another word in the same place, because it moves all that follows.
"""

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parasketch.text.templates import STOP_WORDS

ORDERS = 4
_WORD = re.compile(r"\w+|[^\w\s]")
_LETTERS = re.compile(r"[^\W\d_]\w*")
_STUTTER = re.compile(r"(\w{1,4}?)\1{2,}")
_BLANK = "_"
_INSERTION = 3  # as many changed words; 1 to 4 were compared (docs/experiments.md)

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


def likeness(exemplar: str, texts: Sequence[str]) -> Floats:
    """The likeness of each text to the exemplar, (m,): 1 for the same form, less for others, without a lower bound."""
    wanted = form_of(exemplar)
    forms = [form_of(text) for text in texts]
    return np.array([1 - _distance(wanted, form) / max(len(wanted), len(form), 1) for form in forms])


def form_of(text: str) -> list[str]:
    """The words of a text with blanks for those of content; numbers are content."""
    return [word if word in STOP_WORDS or not word[0].isalnum() else _BLANK for word in compared_words(text)]


def count_repeats(source: str, text: str) -> int:
    """How many words of the text are one too many: said twice in a row, or content words said more often than in the
    source; and how often words that the source has not stutter ("kikikik").
    """
    words, known = ([word.casefold() for word in _LETTERS.findall(part)] for part in (text, source))
    doubles = set(itertools.pairwise(known))
    in_a_row = sum(
        first == second and first in STOP_WORDS and (first, second) not in doubles
        for first, second in itertools.pairwise(words)
    )
    needed = Counter(known)
    said = Counter(word for word in words if word not in STOP_WORDS)
    too_often = sum(count - max(1, min(count, needed[word])) for word, count in said.items())
    new = [word for word in words if word not in needed]
    stutters = sum(len(found[0]) // len(found[1]) - 1 for word in new for found in _STUTTER.finditer(word))
    return int(in_a_row) + too_often + stutters


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
    features = np.zeros((len(sentences), max(1, len(numbers))), dtype=np.float32)  # exact: counts are small
    features[rows, columns] = 1
    return (features @ features.T).astype(np.float64), features.sum(axis=1, dtype=np.float64)


def _distance(first: Sequence[str], second: Sequence[str]) -> int:
    costs = [_INSERTION * place for place in range(len(second) + 1)]
    for word in first:
        diagonal, costs[0] = costs[0], costs[0] + _INSERTION
        for place, other in enumerate(second, 1):
            changed = diagonal + (word != other)
            diagonal = costs[place]
            costs[place] = min(changed, diagonal + _INSERTION, costs[place - 1] + _INSERTION)
    return costs[-1]
