"""The best next tokens of every hypothesis, without ever holding the distribution over the whole vocabulary.

Logits exist for a block of rows at a time, small enough for the cache, and only their normaliser and their largest
values leave the block. With a copy head p(y) = (1 - g) softmax(y) + g copied(y), where copying only adds to the tokens
of the source: so the best of the mixture are among the best of the softmax and the source's own tokens, and nothing
else has to be mixed. A token that a row wants to say is looked up besides, however unlikely it is.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from parasketch.model.copying import SMALLEST
from parasketch.model.outputs import DecodingState
from parasketch.systems.hrqvae.network import HRQVAE

_BLOCK_ELEMENTS = 1 << 20  # 4 MB of fp32 logits at a time
_CHUNK = 64


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

    def apply(self, scores: Tensor, rows: slice) -> None:
        """Set the scores (R, V) of forbidden tokens to -inf; R are these of the G * W rows."""
        must_end = self.must_end.repeat_interleave(self.banned.shape[1])[rows]
        at_end = scores[must_end, self.end]
        scores.scatter_(1, self.banned.flatten(0, 1)[rows], -math.inf)
        if len(at_end):
            scores[must_end] = -math.inf
            scores[must_end, self.end] = at_end


def next_tokens(
    model: HRQVAE, last: Tensor, state: DecodingState, *, count: int, rules: Rules, wanted: Tensor | None = None
) -> NextTokens:
    """The `count` best tokens that may follow the last ones (G, W).

    With a wanted token for every row, (G, W), there is one place more: the last one is for it.
    """
    hidden = model.decoder.step(model.embedding(last, torch.full_like(last, state.cache.length)), state.cache)
    tokens = state.source_tokens[:, None].expand(-1, last.shape[1], -1)
    looked_up = tokens if wanted is None else torch.cat([tokens, wanted[..., None]], dim=-1)
    best, log_probs = _search_softmax(model, hidden, looked_up, count, rules)
    source, extra = log_probs.tensor_split([tokens.shape[2]], dim=-1)
    if model.copying is not None and state.pointer_keys is not None:
        blocked = state.cache.blocked.squeeze(1)  # (G, 1, S)
        attention = model.copying.attention(model.copying.query(hidden), state.pointer_keys, blocked)
        gate = torch.sigmoid(model.copying.gate(hidden))  # (G, W, 1)
        best = _with_copies(attention, gate, state.source_tokens, blocked, best, source)
        if wanted is not None:
            copied = (attention * (tokens == wanted[..., None])).sum(dim=-1, keepdim=True)
            extra = _mix(extra, gate, copied)
    if wanted is None:
        return best
    # If it is one of the best, it is not proposed twice.
    others = best.log_probs.masked_fill(best.ids == wanted[..., None], -math.inf)
    return NextTokens(torch.cat([best.ids, wanted[..., None]], dim=-1), torch.cat([others, extra], dim=-1))


def _search_softmax(
    model: HRQVAE, hidden: Tensor, looked_up: Tensor, count: int, rules: Rules
) -> tuple[NextTokens, Tensor]:
    """The best of softmax(hidden (G, W, width)), and log p of each of the tokens looked up, (G, W, S)."""
    groups, width, _ = hidden.shape
    weight, rows, looked_up = model.embedding.weight, hidden.flatten(0, 1), looked_up.flatten(0, 1)
    size = max(1, _BLOCK_ELEMENTS // len(weight))
    values, ids, found = [], [], []
    for start in range(0, len(rows), size):
        block = slice(start, start + size)
        logits = rows[block] @ weight.T
        total = torch.logsumexp(logits, dim=-1, keepdim=True)
        rules.apply(logits, block)
        top, token = _largest(logits, min(count, len(weight)))
        values.append(top - total)
        ids.append(token)
        found.append(logits.gather(1, looked_up[block]) - total)
    shape = groups, width, -1
    best = NextTokens(torch.cat(ids).view(shape), torch.cat(values).view(shape))
    return best, torch.cat(found).view(shape)


def _largest(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` largest values of every row (R, V), and where they are: as `topk`, several times as fast.

    The largest values are in the chunks with the largest maxima, and maxima are cheap.
    """
    chunks = logits.shape[1] // _CHUNK
    if chunks <= count:
        largest = logits.topk(count)
        return largest.values, largest.indices
    body = logits[:, : chunks * _CHUNK].view(-1, chunks, _CHUNK)
    best = body.amax(dim=-1).topk(count).indices[..., None]  # (R, count, 1)
    values = [body.gather(1, best.expand(-1, -1, _CHUNK)).flatten(1), logits[:, chunks * _CHUNK :]]
    tail = torch.arange(chunks * _CHUNK, logits.shape[1], device=logits.device).expand(len(logits), -1)
    ids = [(best * _CHUNK + torch.arange(_CHUNK, device=logits.device)).flatten(1), tail]
    largest = torch.cat(values, dim=1).topk(count)
    return largest.values, torch.cat(ids, dim=1).gather(1, largest.indices)


def _with_copies(
    attention: Tensor, gate: Tensor, tokens: Tensor, blocked: Tensor, best: NextTokens, source: Tensor
) -> NextTokens:
    """The best of the mixture, from the best of the softmax and the source's tokens (G, S) with their log p (G, W, S).

    Attention is (G, W, S), the gate (G, W, 1); blocked (G, 1, S) are the pads.
    """
    same = tokens[:, :, None] == tokens[:, None]  # (G, S, S)
    copied = attention @ same.to(attention.dtype)  # a token that occurs twice in the source is copied from both
    mixed = _mix(source, gate, copied)
    earlier = same.tril(diagonal=-1).any(dim=-1)[:, None]  # (G, 1, S): the first occurrence stands for all
    mixed.masked_fill_(earlier | blocked, -math.inf)
    plain = _mix(best.log_probs, gate, 0.0)
    in_source = ((best.ids[..., None] == tokens[:, None, None]) & ~blocked[:, :, None]).any(dim=-1)
    plain.masked_fill_(in_source, -math.inf)
    ids = torch.cat([best.ids, tokens[:, None].expand_as(mixed)], dim=-1)
    log_probs, places = torch.cat([plain, mixed], dim=-1).topk(best.ids.shape[-1])
    return NextTokens(ids.gather(-1, places), log_probs)


def _mix(generated: Tensor, gate: Tensor, copied: Tensor | float) -> Tensor:
    """log of the mixture of p to generate, given as its log, and p to copy; what is forbidden stays so."""
    mixed = ((1 - gate) * generated.exp() + gate * copied).clamp_min_(SMALLEST).log_()
    return mixed.masked_fill_(generated == -math.inf, -math.inf)
