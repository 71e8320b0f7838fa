"""The best next tokens of a Transformer with an output layer and, perhaps, a copy head, from what one step computes.

A backend (torch, onnxruntime) runs the network: `Steps` is all that is asked of it. What follows is the same for all of
them and works on arrays. With a copy head p(y) = (1 - g) softmax(y) + g copied(y), where copying only adds to the
tokens of the source: so the best of the mixture are among the best of the softmax and the source's own tokens, and
nothing else has to be mixed. A token that a row wants to say is looked up besides, however unlikely it is.
"""

from typing import NamedTuple, Protocol

import numpy as np

from parasketch.generate.decoding import Bools, Floats, Ints, NextTokens, Rules, add_wanted, take_largest

SMALLEST = np.float32(1e-9)  # a probability that rounding made 0 has a finite log all the same
_BLOCK_ROWS = 32


class StepOutput(NamedTuple):
    """What a network says after one more token of G groups of W rows."""

    logits: Floats
    """(G, W, V); the receiver may change them"""
    gate: Floats | None = None
    """(G, W, 1), the probability to copy; None without a copy head"""
    attention: Floats | None = None
    """(G, W, S), which token of the source is copied"""


class Steps(Protocol):
    """One decoding in progress, as a backend sees it."""

    @property
    def source_tokens(self) -> Ints:
        """(G, S), the tokens of each group's source."""
        ...

    @property
    def is_pad(self) -> Bools:
        """(G, S), where a source has no token."""
        ...

    def step(self, last: Ints) -> StepOutput:
        """Read one more token of every row, (G, W)."""
        ...

    def keep_groups(self, groups: Ints) -> None:
        """Drop every group but these, (G',)."""
        ...

    def reorder_rows(self, rows: Ints) -> None:
        """Row w of group g continues what row rows[g, w] was, (G, W')."""
        ...


class StepDecoding:
    """A `Decoding` by any backend."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._copies: _Copies | None = None

    def best(self, last: Ints, *, count: int, rules: Rules, wanted: Ints | None = None) -> NextTokens:
        logits, gate, attention = self._steps.step(last)
        total = _log_sum_exp(logits)
        rules.apply(logits)
        best = take_largest(logits, min(count, logits.shape[2]))
        best = NextTokens(best.ids, best.log_probs - total)
        extra = None if wanted is None else np.take_along_axis(logits, wanted[..., None], axis=-1) - total
        if gate is not None and attention is not None:
            copies = self._copies = self._copies or _Copies.of(self._steps.source_tokens, self._steps.is_pad)
            looked_up = np.broadcast_to(copies.tokens[:, None], attention.shape)
            source = np.take_along_axis(logits, looked_up, axis=-1) - total
            best = copies.mix(best, source, gate, attention)
            if wanted is not None and extra is not None:
                copied = (attention * (looked_up == wanted[..., None])).sum(axis=-1, keepdims=True)
                extra = mixture(extra, gate, copied)
        return best if wanted is None or extra is None else add_wanted(best, wanted, extra)

    def log_probs(self, last: Ints) -> Floats:
        logits, gate, attention = self._steps.step(last)
        logits -= _log_sum_exp(logits)
        if gate is None or attention is None:
            return logits
        tokens = np.broadcast_to(self._steps.source_tokens[:, None], attention.shape)
        copied = np.zeros_like(logits)
        groups, rows = np.ogrid[: logits.shape[0], : logits.shape[1]]
        np.add.at(copied, (groups[..., None], rows[..., None], tokens), attention)
        return mixture(logits, gate, copied)

    def keep_groups(self, groups: Ints) -> None:
        self._steps.keep_groups(groups)
        self._copies = None if self._copies is None else self._copies.keep(groups)

    def reorder_rows(self, rows: Ints) -> None:
        self._steps.reorder_rows(rows)


class _Copies(NamedTuple):
    """What does not change from step to step about the tokens that G groups may copy."""

    tokens: Ints  # (G, S)
    same: Floats  # (G, S, S), 1 where two places of the source have one token
    hidden: Bools  # (G, 1, S): pads; and of equal tokens the first stands for all

    @classmethod
    def of(cls, tokens: Ints, is_pad: Bools) -> "_Copies":
        same = tokens[:, :, None] == tokens[:, None]
        earlier = np.tril(same, -1).any(axis=-1)
        return cls(np.where(is_pad, -1, tokens), same.astype(np.float32), (earlier | is_pad)[:, None])

    def keep(self, groups: Ints) -> "_Copies":
        return _Copies(self.tokens[groups], self.same[groups], self.hidden[groups])

    def mix(self, best: NextTokens, source: Floats, gate: Floats, attention: Floats) -> NextTokens:
        """The best of the mixture, from the best of the softmax and log p of the source's tokens (G, W, S)."""
        copied = attention @ self.same  # a token that occurs twice in the source is copied from both
        mixed = np.where(self.hidden, np.float32(-np.inf), mixture(source, gate, copied))
        plain = mixture(best.log_probs, gate, np.float32(0))
        in_source = (best.ids[..., None] == self.tokens[:, None, None]).any(axis=-1)
        plain[in_source] = -np.inf
        ids = np.concatenate([best.ids, np.broadcast_to(self.tokens[:, None], mixed.shape)], axis=-1)
        top = take_largest(np.concatenate([plain, mixed], axis=-1), best.ids.shape[-1])
        return NextTokens(np.take_along_axis(ids, top.ids, axis=-1), top.log_probs)


def target_log_probs(output: StepOutput, source_tokens: Ints, targets: Ints) -> Floats:
    """log p of targets (G, W) after a step of G groups of W rows, whose sources have these tokens (G, S)."""
    logits, gate, attention = output
    found = np.take_along_axis(logits, targets[..., None], axis=-1) - _log_sum_exp(logits)
    if gate is not None and attention is not None:
        copied = (attention * (source_tokens[:, None] == targets[..., None])).sum(axis=-1, keepdims=True)
        found = mixture(found, gate, copied)
    return np.asarray(found[..., 0])


def mixture(generated: Floats, gate: Floats, copied: Floats | np.float32) -> Floats:
    """log((1 - g) p + g c) of tokens: p is given as its log, c is the probability to copy them.

    What cannot be generated because it is forbidden (log p is -inf) cannot be copied either.
    """
    mixed = np.log(np.maximum((1 - gate) * np.exp(generated) + gate * copied, SMALLEST))
    mixed[np.isneginf(generated)] = -np.inf
    return np.asarray(mixed, dtype=np.float32)


def _log_sum_exp(logits: Floats) -> Floats:
    """(G, W, V) -> (G, W, 1); some rows at a time, so that what they become meanwhile stays in the cache."""
    rows = logits.reshape(-1, logits.shape[-1])
    total = np.empty((len(rows), 1), dtype=np.float32)
    space = np.empty((min(len(rows), _BLOCK_ROWS), rows.shape[1]), dtype=np.float32)
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = rows[start : start + _BLOCK_ROWS]
        largest = block.max(axis=1, keepdims=True)
        shifted = np.subtract(block, largest, out=space[: len(block)])
        np.exp(shifted, out=shifted)
        total[start : start + _BLOCK_ROWS] = np.log(shifted.sum(axis=1, keepdims=True)) + largest
    return total.reshape(*logits.shape[:-1], 1)
