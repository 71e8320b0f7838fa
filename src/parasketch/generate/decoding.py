"""What the token search asks of a model: the best next tokens of the hypotheses it has, and no more.

A `Decoding` is one search in progress: G groups (a group is one sketch of one source, or whatever a model goes by) of W
rows (hypotheses). Whoever starts it has encoded the sources; the search only says which tokens came last, which rows go
on, and which groups are done. Any network that can do this, a Transformer with a cache, a recurrent one or a pretrained
language model, is searched, sampled and held to required tokens by the same code.
"""

import math
from typing import NamedTuple, Protocol

import torch
from torch import Tensor


class NextTokens(NamedTuple):
    """The best continuations of G groups of W rows, best first."""

    ids: Tensor
    """(G, W, count)"""
    log_probs: Tensor
    """(G, W, count); -inf where fewer tokens are allowed"""


class Rules(NamedTuple):
    """Which tokens may follow."""

    banned: Tensor
    """(G, W, b), tokens that may not"""
    must_end: Tensor
    """(G,), whether nothing but `end` may follow"""
    end: int
    after_word: Tensor | None = None
    """(G, W), whether the word before must not be continued"""
    continuing: Tensor | None = None
    """(c,), the tokens that continue a word"""

    def apply(self, scores: Tensor, rows: slice = slice(None)) -> None:
        """Set the scores (R, V) of forbidden tokens to -inf, in place; R are these of the G * W rows."""
        must_end = self.must_end.repeat_interleave(self.banned.shape[1])[rows]
        at_end = scores[must_end, self.end]
        scores.scatter_(1, self.banned.flatten(0, 1)[rows], -math.inf)
        if self.after_word is not None and self.continuing is not None:
            scores[self.after_word.flatten()[rows].nonzero(), self.continuing] = -math.inf
        if len(at_end):
            scores[must_end] = -math.inf
            scores[must_end, self.end] = at_end


class Decoding(Protocol):
    """The decoding of G groups of W rows by one model; W is 1 at the first step, which is given the begin token.

    Every step calls `best` or `log_probs` once, then perhaps `keep_groups`, then `reorder_rows`.
    """

    def best(self, last: Tensor, *, count: int, rules: Rules, wanted: Tensor | None = None) -> NextTokens:
        """The `count` best tokens that may follow the last ones (G, W), by log p over the whole vocabulary.

        With a wanted token for every row, (G, W), there is one place more: the last one is for it, with its log p
        (-inf if it is forbidden), and it has no other place (-inf there).
        """
        ...

    def log_probs(self, last: Tensor) -> Tensor:
        """log p of every next token, (G, W, V): what samples are drawn from. The caller may change it."""
        ...

    def keep_groups(self, groups: Tensor) -> None:
        """Drop every group but these, (G',)."""
        ...

    def reorder_rows(self, rows: Tensor) -> None:
        """Row w of group g continues what row rows[g, w] was, (G, W')."""
        ...


def best_of(log_probs: Tensor, *, count: int, rules: Rules, wanted: Tensor | None = None) -> NextTokens:
    """`Decoding.best` for a model that has log p of the whole vocabulary, (G, W, V), at hand; changes it."""
    rules.apply(log_probs.view(-1, log_probs.shape[2]))
    top = log_probs.topk(min(count, log_probs.shape[2]))
    best = NextTokens(top.indices, top.values)
    return best if wanted is None else add_wanted(best, wanted, log_probs.gather(-1, wanted[..., None]))


def add_wanted(best: NextTokens, wanted: Tensor, log_probs: Tensor) -> NextTokens:
    """The best with a last place for the wanted tokens (G, W), whose log p is (G, W, 1)."""
    others = best.log_probs.masked_fill(best.ids == wanted[..., None], -math.inf)  # none is proposed twice
    return NextTokens(torch.cat([best.ids, wanted[..., None]], dim=-1), torch.cat([others, log_probs], dim=-1))
