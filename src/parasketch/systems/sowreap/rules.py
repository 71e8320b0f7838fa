"""The rules that SOW is trained on: how a phrase with two gaps, X and Y, is said in a paraphrase.

Phrases (subtrees of the dependency parses) of two paraphrases are aligned by the similarity of their words. Two aligned
phrases inside a third become X and Y on both sides; what is left of the third is the rule:

    how can I protect [my phone] from [water]   ->   X: my phone, Y: water
    what keeps [water] off [my phone]           ->   "how can I protect X from Y" -> "what keeps Y off X"
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parasketch.systems.sowreap.orders import Similarities
from parasketch.systems.sowreap.parses import Node, Parse, Word

MOST_REMAINDER = 1.7
"""The words beside X and Y are at most the phrase's length over this."""
MOST_RULES = 6
"""Rules of a pair of sentences in each direction; those with the longest gaps are kept."""
X, Y = "X", "Y"
"""The gaps, in the order of the source."""

Unit = int | str
"""A word, by its number, or a gap."""


@dataclass(frozen=True)
class Rule:
    """A phrase of the source and how the target says it."""

    x: Node
    y: Node
    source: tuple[Unit, ...]
    """Words of the source and gaps; X comes before Y."""
    target: tuple[Unit, ...]
    """Words of the target and gaps."""

    @property
    def is_inverted(self) -> bool:
        """Whether the target says Y before X."""
        return self.target.index(Y) < self.target.index(X)


NEVER_ALONE = frozenset({"DT", "IN", "CD", "MD", "TO", "PRP", "PRP$", "RB", "FW", "POS"})
"""Tags of small words: determiners, prepositions, numbers, pronouns, ..."""


def may_be_gap(parse: Parse, node: Node) -> bool:
    """Whether a phrase may be X or Y: a single word must be no mark and no small word."""
    return len(node) > 1 or is_content(parse.words[node.start])


def is_content(word: Word) -> bool:
    """Whether a word says by itself what a sentence is about: it is no mark and no small word."""
    return word.tag not in NEVER_ALONE and any(letter.isalnum() for letter in word.text)


def units_of(node: Node, x: Node, y: Node) -> tuple[Unit, ...]:
    """The phrase with the gaps X and Y in it."""
    found: list[Unit] = []
    for word in range(node.start, node.end):
        if x.start <= word < x.end:
            found += [X] if word == x.start else []
        elif y.start <= word < y.end:
            found += [Y] if word == y.start else []
        else:
            found.append(word)
    return tuple(found)


def node_similarities(
    words: Similarities,
    first: Sequence[Node],
    second: Sequence[Node],
    weights: tuple[NDArray[np.float32], NDArray[np.float32]],
) -> NDArray[np.float32]:
    """How like the phrases A of one sentence and B of another are, (A, B): F1 of their words' best matches.

    `words` (n, m) are the similarities of the words and `weights` (n,) and (m,) what each counts for. Every word of a
    phrase is matched with the most similar of the other phrase; a match that is not mutual counts half.
    """
    inside_first, inside_second = _membership(first, words.shape[0]), _membership(second, words.shape[1])
    # For each phrase the best match in it of every word of the other sentence: (B, n) and (A, m).
    in_second = np.where(inside_second[:, None], words, -1.0)  # (B, n, m)
    in_first = np.where(inside_first[:, None], words.T, -1.0)  # (A, m, n)
    recall = _matched(in_second, in_first, inside_first, weights[0])  # (A, B)
    precision = _matched(in_first, in_second, inside_second, weights[1]).T
    f1: NDArray[np.float32] = 2 * recall * precision / np.maximum(recall + precision, 1e-9)
    return f1


def align_nodes(
    words: Similarities, first: Parse, second: Parse, weights: tuple[NDArray[np.float32], NDArray[np.float32]]
) -> list[tuple[Node, Node]]:
    """Phrases of two sentences that are each other's best match; the sentences themselves are the last of them."""
    ours = [node for node in first.nodes if len(node) < len(first)]
    theirs = [node for node in second.nodes if len(node) < len(second)]
    found: list[tuple[Node, Node]] = []
    if ours and theirs:
        scores = node_similarities(words, ours, theirs, weights)
        best, best_back = scores.argmax(axis=1), scores.argmax(axis=0)
        found = [
            (node, theirs[best[row]])
            for row, node in enumerate(ours)
            if best_back[best[row]] == row and scores[row, best[row]] > 0  # what is like nothing is no match
        ]
    return [*found, (first.whole, second.whole)]


def rules_of(first: Parse, second: Parse, aligned: Sequence[tuple[Node, Node]]) -> list[Rule]:
    """The rules from the first sentence to the second; in the other direction, give both the other way round."""
    found: dict[tuple[tuple[Unit, ...], tuple[Unit, ...]], Rule] = {}
    gaps = [(a, b) for a, b in aligned if may_be_gap(first, a) and a is not first.whole]
    for x, x_there in gaps:
        for y, y_there in gaps:
            if x.end > y.start or x_there.overlaps(y_there):
                continue
            if x.end == y.start and (x_there.end == y_there.start or y_there.end == x_there.start):
                continue  # side by side in both: nothing lies between that a rule could change
            phrase, there = _common(aligned, (x, x_there), (y, y_there))
            if not (_fits(phrase, x, y) and _fits(there, x_there, y_there)):
                continue
            source, target = units_of(phrase, x, y), units_of(there, x_there, y_there)
            if _spelled(first, source) != _spelled(second, target):
                found[source, target] = Rule(x, y, source, target)
    return sorted(found.values(), key=lambda rule: -(len(rule.x) + len(rule.y)))[:MOST_RULES]


def _membership(nodes: Sequence[Node], size: int) -> NDArray[np.bool_]:
    places = np.arange(size)
    starts, ends = (np.array([getattr(node, name) for node in nodes])[:, None] for name in ("start", "end"))
    return (places >= starts) & (places < ends)


def _matched(
    forth: NDArray[np.float32],
    back: NDArray[np.float32],
    inside: NDArray[np.bool_],
    weights: NDArray[np.float32],
) -> NDArray[np.float32]:
    """How much of each phrase A is matched in each phrase B, (A, B).

    `forth` (B, n, m) are similarities of A's sentence to the words of each B, `back` (A, m, n) those of B's sentence to
    the words of each A; `inside` (A, n).
    """
    best, value = forth.argmax(axis=2), forth.max(axis=2)  # (B, n)
    best_back = back.argmax(axis=2)  # (A, m)
    mutual = best_back[:, best] == np.arange(forth.shape[1])  # (A, B, n)
    weighted = np.where(inside, weights, 0.0)  # (A, n)
    total = np.einsum("an,abn,bn->ab", weighted, np.where(mutual, 1.0, 0.5), value)
    result: NDArray[np.float32] = total / np.maximum(weighted.sum(axis=1, keepdims=True), 1e-9)
    return result


def _common(aligned: Sequence[tuple[Node, Node]], x: tuple[Node, Node], y: tuple[Node, Node]) -> tuple[Node, Node]:
    """The smallest aligned phrases that have both gaps in them, on both sides."""
    around = [pair for pair in aligned if all(pair[side].contains(gap[side]) for side in (0, 1) for gap in (x, y))]
    return min(around, key=lambda pair: len(pair[0]) + len(pair[1]))


def _fits(phrase: Node, x: Node, y: Node) -> bool:
    """Whether the words beside the gaps are few enough."""
    return len(phrase) - len(x) - len(y) <= len(phrase) / MOST_REMAINDER


def _spelled(parse: Parse, units: Sequence[Unit]) -> list[str]:
    return [unit if isinstance(unit, str) else parse.words[unit].text.lower() for unit in units]
