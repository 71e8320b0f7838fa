"""In which order a paraphrase says the words of a sentence (the orders that REAP is trained on).

Every word of the source is given its place in the other sentence, by similarity. Then the tree is put in order from its
leaves up: a word and the phrases that depend on it are sorted by the places of the word and of the heads of those
phrases. Phrases stay in one piece, so that an order is something that a language could have; a word alone does not jump
into the middle of another phrase.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from parasketch.systems.sowreap.parses import Parse

POSITION_WEIGHT = 0.1
"""How much a similarity of words loses with the distance of their places, as shares of the sentences: among several
equal words ("the") it decides for the one in the like place."""

Similarities = NDArray[np.float32]


def aligned_places(similarities: Similarities) -> list[int]:
    """For each of n words the most similar of m, by their similarities (n, m)."""
    count, others = similarities.shape
    distance = np.abs(np.arange(count)[:, None] / count - np.arange(others) / others)
    return [int(place) for place in (similarities - POSITION_WEIGHT * distance).argmax(axis=1)]


def word_order(parse: Parse, places: Sequence[int]) -> list[int]:
    """The words of a sentence, by number, in the order of their places in another; a permutation.

    Of equal places, what was first stays first.
    """

    def sort(words: list[int]) -> list[int]:
        return sorted(words, key=lambda word: places[word])

    order: list[int] = []
    waiting = [(root, True) for root in reversed(sort(parse.roots))]
    while waiting:  # a stack: a parse may be deeper than Python calls may be
        word, is_phrase = waiting.pop()
        if not is_phrase:
            order.append(word)
            continue
        parts = sort(sorted([word, *parse.children[word]]))
        waiting.extend((part, part != word) for part in reversed(parts))
    return order


def word_ranks(order: Sequence[int]) -> list[int]:
    """The rank of every word, from 1, in an order of the words."""
    ranks = [0] * len(order)
    for rank, word in enumerate(order, 1):
        ranks[word] = rank
    return ranks


def token_ranks(order: Sequence[int], owners: Sequence[int]) -> list[int]:
    """The rank of every subword, from 1, where owners[i] is the word of subword i; words without subwords have none.

    With the begin token (0) in front and the end token (the last rank) behind.
    """
    present = set(owners)
    rank_of = {word: rank for rank, word in enumerate((word for word in order if word in present), 1)}
    return [0, *(rank_of[owner] for owner in owners), len(rank_of) + 1]


def displacement(similarities: Similarities, is_content: Sequence[bool]) -> float:
    """How far the content words of a sentence move in the other, as a mean share of the sentences."""
    count, others = similarities.shape
    places = aligned_places(similarities)
    moved = [abs(word / count - place / others) for word, place in enumerate(places) if is_content[word]]
    return sum(moved) / len(moved) if moved else 0.0
