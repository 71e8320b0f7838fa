"""The bag of words: from neighbours of every source word to words that paraphrases may have.

    b = sum over positions t and predictors j of softmax(z_tj)        (V,), expected counts of words

No softmax leaves its block: what the decoder and the loss ask of b are a few words of each sentence, so the gradient of
a softmax is its own multiple plus a few numbers, as for the output layer (model/likelihood.py).
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from parasketch.model.likelihood import BLOCK_ELEMENTS
from parasketch.model.ragged import Layout

SMALLEST = 1e-6


class Bag(NamedTuple):
    """Of B sentences."""

    words: Tensor
    """(B, k) the words with the largest weights, best first"""
    weights: Tensor
    """(B, k), with a gradient"""
    wanted: Tensor
    """(B, M) the weights of the words that were asked for, with a gradient"""


class _Mixture(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, table: Tensor, owners: Tensor, wanted: Tensor, slots: int, noise: float | None
    ) -> tuple[Tensor, Tensor]:
        """hidden (R, d) of rows that belong to sentences `owners` (R,); words (B, k + M) and their weights."""
        size = max(1, BLOCK_ELEMENTS // len(table))
        bag = hidden.new_zeros(len(wanted), len(table))
        parts = []
        for rows, owner in zip(torch.split(hidden, size), torch.split(owners, size), strict=True):
            scores = rows @ table.T
            if noise is not None:
                scores = (scores - torch.empty_like(scores).exponential_().log_()) / noise
            parts.append(torch.softmax(scores, dim=1))
            bag.index_add_(0, owner, parts[-1])
        words = torch.cat([bag.topk(slots, dim=1).indices, wanted], dim=1)
        ctx.save_for_backward(hidden, table, owners, words)
        ctx.parts, ctx.size, ctx.scale = parts, size, 1.0 if noise is None else 1 / noise
        return words, bag.gather(1, words)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor | None, None, None, None, None]:
        hidden, table, owners, words = ctx.saved_tensors
        d_hidden = torch.empty_like(hidden)
        d_table = torch.zeros_like(table) if ctx.needs_input_grad[1] else None
        for number, softmax in enumerate(ctx.parts):
            rows = slice(number * ctx.size, number * ctx.size + len(softmax))
            named = words[owners[rows]]  # (R, k + M)
            pushed = softmax.gather(1, named) * gradients[1][owners[rows]] * ctx.scale
            d_scores = softmax.mul_(-pushed.sum(dim=1, keepdim=True)).scatter_add_(1, named, pushed)
            torch.mm(d_scores, table, out=d_hidden[rows])
            if d_table is not None:
                d_table.addmm_(d_scores.T, hidden[rows])
        ctx.parts = None  # they were overwritten: a second backward must fail, not lie
        return d_hidden, d_table, None, None, None, None


def mix_neighbours(
    hidden: Tensor, table: Tensor, layout: Layout, wanted: Tensor, *, slots: int, noise: float | None = None
) -> Bag:
    """The bags of B sentences: hidden (N, predictors, d), the words' vectors (V, d), and words to look up (B, M).

    With `noise`, a temperature, the softmaxes are those of scores with Gumbel noise.
    """
    owners = layout.owners.to(hidden.device).repeat_interleave(hidden.shape[1])
    with torch.autocast(hidden.device.type, enabled=False):
        words, weights = _Mixture.apply(  # type: ignore[no-untyped-call]
            hidden.float().flatten(0, 1), table, owners, wanted, slots, noise
        )
    return Bag(words[:, :slots], weights[:, :slots], weights[:, slots:])


def bag_loss(weights: Tensor, present: Tensor) -> Tensor:
    """- sum of log b_w over the words of each bag / (their number + 1), (B,): of weights (B, M), some not present."""
    surprise = -(weights + SMALLEST).log() * present
    return surprise.sum(dim=1) / (present.sum(dim=1) + 1)


@torch.no_grad()
def draw_words(scores: Tensor, generator: torch.Generator) -> Tensor:
    """A word of every row of scores (R, V), drawn by its probability, (R,): Gumbel noise at temperature 0."""
    noise = torch.empty(scores.shape).exponential_(generator=generator).log_()
    return (scores - noise.to(scores.device)).argmax(dim=1)
