"""The best next tokens of a network on the shared Transformer, without the distribution over the whole vocabulary.

Logits exist for a block of rows at a time, small enough for the cache, and only their normaliser and their largest
values leave the block. With a copy head p(y) = (1 - g) softmax(y) + g copied(y), where copying only adds to the tokens
of the source: so the best of the mixture are among the best of the softmax and the source's own tokens, and nothing
else has to be mixed. A token that a row wants to say is looked up besides, however unlikely it is.
"""

import math
from typing import Protocol

import torch
from torch import Tensor

from parasketch.generate.decoding import NextTokens, Rules, add_wanted
from parasketch.model.copying import CopyHead, mixture
from parasketch.model.outputs import DecodingState
from parasketch.model.transformer import Decoder, TokenEmbedding

_BLOCK_ELEMENTS = 1 << 20  # 4 MB of fp32 logits at a time
_CHUNK = 64


class TransformerNetwork(Protocol):
    """A network with the shared decoder and an output layer that is tied to its embedding, perhaps with a copy head."""

    @property
    def embedding(self) -> TokenEmbedding: ...
    @property
    def decoder(self) -> Decoder: ...
    @property
    def copying(self) -> CopyHead | None: ...

    def step(self, tokens: Tensor, state: DecodingState) -> Tensor:
        """Log-probabilities of the next token given the last ones: (G, W) -> (G, W, vocab_size)."""
        ...


class TransformerDecoding:
    """A `Decoding` by such a network; `state` is what its `start` gave."""

    def __init__(self, network: TransformerNetwork, state: DecodingState) -> None:
        self._network, self._state = network, state

    def best(self, last: Tensor, *, count: int, rules: Rules, wanted: Tensor | None = None) -> NextTokens:
        network, state = self._network, self._state
        positions = torch.full_like(last, state.cache.length)
        hidden = network.decoder.step(network.embedding(last, positions), state.cache)
        tokens = state.source_tokens[:, None].expand(-1, last.shape[1], -1)
        looked_up = tokens if wanted is None else torch.cat([tokens, wanted[..., None]], dim=-1)
        best, log_probs = _search_softmax(network.embedding.weight, hidden, looked_up, count, rules)
        source, extra = log_probs.tensor_split([tokens.shape[2]], dim=-1)
        if network.copying is not None and state.pointer_keys is not None:
            blocked = state.cache.blocked.squeeze(1)  # (G, 1, S)
            attention = network.copying.attention(network.copying.query(hidden), state.pointer_keys, blocked)
            gate = torch.sigmoid(network.copying.gate(hidden))  # (G, W, 1)
            best = _with_copies(attention, gate, state.source_tokens, blocked, best, source)
            if wanted is not None:
                copied = (attention * (tokens == wanted[..., None])).sum(dim=-1, keepdim=True)
                extra = mixture(extra, gate, copied)
        return best if wanted is None else add_wanted(best, wanted, extra)

    def log_probs(self, last: Tensor) -> Tensor:
        return self._network.step(last, self._state)

    def keep_groups(self, groups: Tensor) -> None:
        self._state.keep_groups(groups)

    def reorder_rows(self, rows: Tensor) -> None:
        self._state.reorder_rows(rows)


def _search_softmax(
    weight: Tensor, hidden: Tensor, looked_up: Tensor, count: int, rules: Rules
) -> tuple[NextTokens, Tensor]:
    """The best of softmax(hidden (G, W, width) times the output layer (V, width)), and log p of the tokens looked up.

    Those are (G, W, S), and so is their log p.
    """
    groups, width, _ = hidden.shape
    rows, looked_up = hidden.flatten(0, 1), looked_up.flatten(0, 1)
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
    mixed = mixture(source, gate, copied)
    earlier = same.tril(diagonal=-1).any(dim=-1)[:, None]  # (G, 1, S): the first occurrence stands for all
    mixed.masked_fill_(earlier | blocked, -math.inf)
    plain = mixture(best.log_probs, gate, 0.0)
    in_source = ((best.ids[..., None] == tokens[:, None, None]) & ~blocked[:, :, None]).any(dim=-1)
    plain.masked_fill_(in_source, -math.inf)
    ids = torch.cat([best.ids, tokens[:, None].expand_as(mixed)], dim=-1)
    log_probs, places = torch.cat([plain, mixed], dim=-1).topk(best.ids.shape[-1])
    return NextTokens(ids.gather(-1, places), log_probs)
