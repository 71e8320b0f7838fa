"""What the token search asks of a model: the best next tokens of the hypotheses it has, and no more.

A `Decoding` is one search in progress: G groups (a group is one sketch of one source, or whatever a model goes by) of W
rows (hypotheses). Whoever starts it has encoded the sources; the search only says which tokens came last, which rows go
on, and which groups are done. Any network that can do this, a Transformer with a cache, a recurrent one or a pretrained
language model, is searched, sampled and held to required tokens by the same code. All arrays are NumPy's: the search
runs wherever there is a model, with whatever library that computes.
"""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_FEW = 8


class NextTokens(NamedTuple):
    """The best continuations of G groups of W rows, best first."""

    ids: Ints
    """(G, W, count)"""
    log_probs: Floats
    """(G, W, count); -inf where fewer tokens are allowed"""


class Rules(NamedTuple):
    """Which tokens may follow."""

    never: tuple[int, ...]
    """Tokens that may not, in any row"""
    no_end: Bools | None
    """(G, W), whether the end may not follow; None: it may everywhere"""
    must_end: Bools
    """(G,), whether nothing but `end` may follow"""
    end: int
    after_word: Bools | None = None
    """(G, W), whether the word before must not be continued"""
    continuing: Ints | None = None
    """(c,), the tokens that continue a word"""

    def apply(self, scores: Floats) -> None:
        """Set the scores (G, W, V) of forbidden tokens to -inf, in place."""
        at_end = scores[self.must_end, :, self.end]
        scores[..., list(self.never)] = -np.inf
        if self.no_end is not None:
            scores[self.no_end, self.end] = -np.inf
        if self.after_word is not None and self.continuing is not None:
            groups, rows = np.nonzero(self.after_word)
            scores[groups[:, None], rows[:, None], self.continuing] = -np.inf
        if len(at_end):
            scores[self.must_end] = -np.inf
            scores[self.must_end, :, self.end] = at_end


class Decoding(Protocol):
    """The decoding of G groups of W rows by one model; W is 1 at the first step, which is given the begin token.

    Every step calls `best` or `log_probs` once, then perhaps `keep_groups`, then `reorder_rows`.
    """

    def best(self, last: Ints, *, count: int, rules: Rules, wanted: Ints | None = None) -> NextTokens:
        """The `count` best tokens that may follow the last ones (G, W), by log p over the whole vocabulary.

        With a wanted token for every row, (G, W), there is one place more: the last one is for it, with its log p
        (-inf if it is forbidden), and it has no other place (-inf there).
        """
        ...

    def log_probs(self, last: Ints) -> Floats:
        """log p of every next token, (G, W, V): what samples are drawn from. The caller may change it."""
        ...

    def keep_groups(self, groups: Ints) -> None:
        """Drop every group but these, (G',)."""
        ...

    def reorder_rows(self, rows: Ints) -> None:
        """Row w of group g continues what row rows[g, w] was, (G, W')."""
        ...


def best_of(log_probs: Floats, *, count: int, rules: Rules, wanted: Ints | None = None) -> NextTokens:
    """`Decoding.best` for a model that has log p of the whole vocabulary, (G, W, V), at hand; changes it."""
    rules.apply(log_probs)
    best = take_largest(log_probs, min(count, log_probs.shape[2]))
    if wanted is None:
        return best
    return add_wanted(best, wanted, np.take_along_axis(log_probs, wanted[..., None], axis=-1))


def add_wanted(best: NextTokens, wanted: Ints, log_probs: Floats) -> NextTokens:
    """The best with a last place for the wanted tokens (G, W), whose log p is (G, W, 1)."""
    others = np.where(best.ids == wanted[..., None], np.float32(-np.inf), best.log_probs)  # none is proposed twice
    return NextTokens(
        np.concatenate([best.ids, wanted[..., None]], axis=-1), np.concatenate([others, log_probs], axis=-1)
    )


def take_largest(values: Floats, count: int) -> NextTokens:
    """The `count` largest values of every row (..., n), largest first, and where they are; of equal ones the first.

    A few are found one after the other: the largest of a row is found much faster than rows are sorted.
    """
    if count > _FEW:
        places = np.argsort(-values, axis=-1, kind="stable")[..., :count]
        return NextTokens(places, np.take_along_axis(values, places, axis=-1))
    found, largest = [], []
    for _ in range(count):
        place = values.argmax(axis=-1)[..., None]
        found.append(place)
        largest.append(np.take_along_axis(values, place, axis=-1))
        np.put_along_axis(values, place, -np.inf, axis=-1)
    for place, value in zip(found, largest, strict=True):
        np.put_along_axis(values, place, value, axis=-1)  # as it was
    return NextTokens(np.concatenate(found, axis=-1), np.concatenate(largest, axis=-1))
