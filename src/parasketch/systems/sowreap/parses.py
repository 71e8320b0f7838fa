"""A dependency parse as plain data, and its subtrees as phrases.

Orders, rules and the search over rewrites know this and no parser, so that a parse can come from anywhere: from spaCy,
from a file, or from the hand of who writes a test.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

WHOLE = -1
"""The head of a sentence with several roots, such as one that is two sentences."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word or mark of a text; `text[start:end]` are its characters."""

    text: str
    start: int
    end: int
    tag: str
    """Part of speech (Penn Treebank, for English)."""
    head: int
    """The word it depends on; its own number for a root."""
    label: str
    """How it depends on it."""


@dataclass(frozen=True, slots=True)
class Node:
    """A phrase: the words [start, end), which are all that depends on the word `head`, and that word."""

    head: int
    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start

    def contains(self, other: "Node") -> bool:
        """Whether the other lies in it, or is it."""
        return self.start <= other.start and other.end <= self.end

    def overlaps(self, other: "Node") -> bool:
        """Whether they share a word; phrases of one sentence that do are nested."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class Parse:
    """The words of a sentence, as a tree or several."""

    words: tuple[Word, ...]

    @classmethod
    def of(cls, words: Sequence[tuple[str, str, int, str]]) -> "Parse":
        """A parse written down as (word, tag, head, label), with one space between words."""
        found, start = [], 0
        for text, tag, head, label in words:
            found.append(Word(text, start, start + len(text), tag, head, label))
            start += len(text) + 1
        return cls(tuple(found))

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def children(self) -> list[list[int]]:
        """The words that depend on each word, from left to right."""
        found: list[list[int]] = [[] for _ in self.words]
        for number, word in enumerate(self.words):
            if word.head != number:
                found[word.head].append(number)
        return found

    @cached_property
    def roots(self) -> list[int]:
        """The words that depend on no other."""
        return [number for number, word in enumerate(self.words) if word.head == number]

    @cached_property
    def whole(self) -> Node:
        """The whole sentence."""
        return Node(self.roots[0] if len(self.roots) == 1 else WHOLE, 0, len(self))

    @cached_property
    def nodes(self) -> list[Node]:
        """The phrases, each before those inside it; what depends on a word but is not in one piece is none."""
        found = [self.whole] if self.whole.head == WHOLE else []
        waiting = list(reversed(self.roots))
        while waiting:
            word = waiting.pop()
            start, end, size = self._extents[word]
            if end - start == size:
                found.append(Node(word, start, end))
            waiting.extend(reversed(self.children[word]))
        return found

    @cached_property
    def _extents(self) -> list[tuple[int, int, int]]:
        """First word, end and number of words of all that depends on each word."""
        found: list[tuple[int, int, int]] = [(number, number + 1, 1) for number in range(len(self))]
        for word in reversed(self._from_roots()):
            for child in self.children[word]:
                (start, end, size), (first, last, more) = found[word], found[child]
                found[word] = min(start, first), max(end, last), size + more
        return found

    def _from_roots(self) -> list[int]:
        order = list(self.roots)
        for word in order:  # it grows on the way
            order.extend(self.children[word])
        return order
