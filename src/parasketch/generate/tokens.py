"""From a decoding that was started to sentences: beam search or sampling for many groups at once, step by step.

A group is one sketch of one source; its rows are hypotheses. Groups whose hypotheses have all ended leave the batch.
Which network decodes is unknown here: the search talks to a `Decoding`. Hypotheses are ranked by
log p / ((5 + length) / 6)^a at every step, with begin and end counted. Nothing that happens in a group depends
on another group: sampling takes its random numbers from a hash of the group's own key.

A group may come with runs of tokens that its sentences must contain, in order. Its rows are kept in banks, by how many
of these tokens they have said, and the banks fill the beam in turn: rows that have paid for an unlikely token and rows
that have yet to say it do not push each other out (Post and Vilar, 2018).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parasketch.counter_rng import random_bits, uniform
from parasketch.generate.decoding import Bools, Decoding, Floats, Ints, NextTokens, Rules
from parasketch.generate.required import Required, Requirements, take_in_turn
from parasketch.generate.settings import GenerateConfig
from parasketch.generate.stopping import stop_if_unwanted
from parasketch.text.tokenizer import Tokenizer

_DROP_SHARE = 8  # groups are dropped when one in so many has ended: dropping copies the cache


@dataclass(frozen=True)
class SpecialTokens:
    """The tokens that stand for no text."""

    pad: int
    begin: int
    end: int
    never: tuple[int, ...]
    """Tokens that no sentence contains."""
    continuing: tuple[int, ...] = ()
    """Tokens that go on with the word before them."""

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "SpecialTokens":
        never = (tokenizer.pad_id, tokenizer.bos_id, tokenizer.unk_id, tokenizer.mask_id)
        return cls(tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, never, tokenizer.continuing_ids())


@dataclass(frozen=True)
class Hypothesis:
    """A whole sentence that the model said."""

    tokens: tuple[int, ...]
    """Without begin and end."""
    log_prob: float
    """Of all its tokens and its end."""
    score: float
    """log_prob with the length penalty."""

    @property
    def likelihood(self) -> float:
        """log p per token, the end included."""
        return self.log_prob / (len(self.tokens) + 1)


@dataclass(frozen=True)
class Sampling:
    """How to draw sentences instead of searching for the best."""

    temperature: float
    keys: np.ndarray
    """(G,) a random number for each group, uint64: equal keys draw equal sentences."""


@dataclass
class _Rows:
    """G groups of W hypotheses."""

    groups: Ints  # (G,) which group each is
    limits: Ints  # (G,) longest length
    tokens: Ints  # (G, W, t) begin, tokens, perhaps end, then pads
    log_probs: Floats  # (G, W)
    lengths: Ints  # (G, W) without pads
    ended: Bools  # (G, W)
    said: Ints  # (G, W) required tokens said so far
    required: Requirements | None

    def keep(self, kept: Bools) -> "_Rows":
        return _Rows(
            groups=self.groups[kept],
            limits=self.limits[kept],
            tokens=self.tokens[kept],
            log_probs=self.log_probs[kept],
            lengths=self.lengths[kept],
            ended=self.ended[kept],
            said=self.said[kept],
            required=None if self.required is None else self.required.keep(kept),
        )

    @property
    def incomplete(self) -> Bools:
        """Rows with something left to say before they may end, (G, W)."""
        if self.required is None:
            return np.zeros_like(self.ended)
        return np.asarray(self.said < self.required.counts[:, None])


def output_limits(source_lengths: NDArray[Any], config: GenerateConfig, *, max_length: int) -> Ints:
    """Longest outputs of sources of these lengths, (G,), begin and end included in all; none above max_length."""
    relative = 10 + np.ceil(config.max_ratio * (source_lengths - 2)).astype(np.int64)
    return np.minimum(relative, min(config.max_tokens, max_length))


class TokenSearch:
    """Finds sentences."""

    def __init__(self, special: SpecialTokens, config: GenerateConfig) -> None:
        self.special, self.config = special, config
        self._continuing = np.array(special.continuing, dtype=np.int64)

    def __call__(
        self,
        decoding: Decoding,
        limits: Ints,
        *,
        width: int,
        sampling: Sampling | None = None,
        required: Sequence[Required] | None = None,
    ) -> list[list[Hypothesis]]:
        """At most `width` sentences for each of G groups that have just been started, best first.

        `limits` (G,) are the longest lengths, begin and end included, at least 3. `required`: what the sentences of
        each group must contain; samples do not mind it.
        """
        rows = self._begin(limits)
        if sampling is None and required is not None and any(each.tokens for each in required):
            rows.required = Requirements.of(required, filler=self.special.pad)
        found: list[list[Hypothesis]] = [[] for _ in range(len(limits))]
        for length in range(2, int(limits.max()) + 1):
            stop_if_unwanted()
            proposals = self._propose(rows, decoding, length, width, sampling)
            rows, parents = self._choose(rows, proposals, length, width, sampling)
            if rows.required is not None:
                self._close(rows, rows.required, width)
            done: Bools = np.asarray(rows.ended.all(axis=1))
            if done.all():
                break
            if int(done.sum()) * _DROP_SHARE >= len(done):
                self._collect(rows.keep(done), found)
                rows, parents = rows.keep(~done), parents[~done]
                decoding.keep_groups(np.flatnonzero(~done))
            decoding.reorder_rows(parents)
        self._collect(rows, found)
        return found

    def _begin(self, limits: Ints) -> _Rows:
        groups = len(limits)
        return _Rows(
            groups=np.arange(groups),
            limits=limits,
            tokens=np.full((groups, 1, 1), self.special.begin),
            log_probs=np.zeros((groups, 1), dtype=np.float32),
            lengths=np.ones((groups, 1), dtype=np.int64),
            ended=np.zeros((groups, 1), dtype=np.bool_),
            said=np.zeros((groups, 1), dtype=np.int64),
            required=None,
        )

    def _close(self, rows: _Rows, required: Requirements, width: int) -> None:
        """Give up the other rows of a group, in place, when as many have ended as is the last bank's share of the beam.

        Rows that have not said everything may not end: there would always be some that go on to the limit.
        """
        ended = (rows.ended & np.isfinite(rows.log_probs)).sum(axis=1)
        closed = ended * (required.counts + 1) >= width  # (G,)
        rows.log_probs[closed[:, None] & ~rows.ended] = -np.inf
        rows.ended |= closed[:, None]

    def _propose(
        self, rows: _Rows, decoding: Decoding, length: int, width: int, sampling: Sampling | None
    ) -> NextTokens:
        """Continuations of every row; an ended row has one, a pad that costs nothing."""
        last = rows.tokens[:, :, -1]
        first = length == 2
        rules = self._rules(rows, last, length)
        if sampling is None:
            proposals = self._next(rows, last, decoding, width if first else self.config.expansion, rules)
        else:
            log_probs = decoding.log_probs(last)
            rules.apply(log_probs)
            proposals = _draw(log_probs, sampling, rows.groups, length, width if first else 1)
        ids = np.where(rows.ended[..., None], self.special.pad, proposals.ids)
        log_probs = np.where(rows.ended[..., None], np.float32(-np.inf), proposals.log_probs)
        log_probs[rows.ended, 0] = 0.0
        return NextTokens(ids, log_probs)

    def _next(self, rows: _Rows, last: Ints, decoding: Decoding, count: int, rules: Rules) -> NextTokens:
        """The best continuations, and the next required token; inside a run nothing but that."""
        if rows.required is None:
            return decoding.best(last, count=count, rules=rules)
        wanted = rows.required.next(rows.said)
        proposals = decoding.best(last, count=count, rules=rules, wanted=wanted)
        proposals.log_probs[rows.required.inside(rows.said), :-1] = -np.inf
        return proposals

    def _rules(self, rows: _Rows, last: Ints, length: int) -> Rules:
        """What may follow: no special tokens, no end that comes too early, and after something required a new word.

        "4th" must not become "4thth".
        """
        too_early = np.ones_like(rows.ended) if length == 2 else None if rows.required is None else rows.incomplete
        rules = Rules(self.special.never, too_early, rows.limits == length, self.special.end)
        if rows.required is None or not len(self._continuing):
            return rules
        return rules._replace(after_word=rows.required.completed(rows.said, last), continuing=self._continuing)

    def _choose(
        self, rows: _Rows, proposals: NextTokens, length: int, width: int, sampling: Sampling | None
    ) -> tuple[_Rows, Ints]:
        """The rows that go on, and which row each of them continues, (G, W)."""
        groups, _, count = proposals.ids.shape
        sums = (rows.log_probs[..., None] + proposals.log_probs).reshape(groups, -1)
        lengths = np.where(rows.ended, rows.lengths, length)
        said = np.broadcast_to(rows.said[..., None], proposals.ids.shape)
        if rows.required is not None:
            said = rows.required.advance(rows.said, proposals.ids)
        said = said.reshape(groups, -1)
        if sampling is None:
            scores = sums / self._penalty(np.repeat(lengths, count, axis=1))
            best = min(width, scores.shape[1])
            if rows.required is None:
                chosen = np.argsort(-scores, axis=1, kind="stable")[:, :best]
            else:
                chosen = take_in_turn(scores, said, best)
        else:  # every sample goes on
            chosen = np.broadcast_to(np.arange(sums.shape[1]), sums.shape)
        parents = chosen // count
        ids = np.take_along_axis(proposals.ids.reshape(groups, -1), chosen, axis=1)
        tokens = np.take_along_axis(rows.tokens, parents[..., None], axis=1)
        return (
            _Rows(
                groups=rows.groups,
                limits=rows.limits,
                tokens=np.concatenate([tokens, ids[..., None]], axis=2),
                log_probs=np.take_along_axis(sums, chosen, axis=1),
                lengths=np.take_along_axis(lengths, parents, axis=1),
                ended=np.take_along_axis(rows.ended, parents, axis=1) | (ids == self.special.end),
                said=np.take_along_axis(said, chosen, axis=1),
                required=rows.required,
            ),
            parents,
        )

    def _penalty(self, lengths: Ints) -> Floats:
        penalty: Floats = (((5 + lengths) / 6) ** self.config.length_penalty).astype(np.float32)
        return penalty

    def _collect(self, rows: _Rows, found: list[list[Hypothesis]]) -> None:
        """Store the rows as hypotheses of their groups, best first, but for those that lack what was required."""
        whole = ~rows.incomplete
        scores = rows.log_probs / self._penalty(rows.lengths)
        order = np.argsort(-scores, axis=1, kind="stable")
        parts = (rows.tokens, rows.log_probs, rows.lengths, scores, order, whole)
        for group, *row in zip(rows.groups.tolist(), *(part.tolist() for part in parts), strict=True):
            tokens, log_probs, lengths, ranked, places, kept = row
            found[group] = [
                Hypothesis(tuple(tokens[i][1 : lengths[i] - 1]), log_probs[i], ranked[i])
                for i in places
                if kept[i] and math.isfinite(log_probs[i])
            ]


def _draw(log_probs: Floats, sampling: Sampling, groups: Ints, step: int, count: int) -> NextTokens:
    """`count` tokens for every row from log_probs (G, W, V), by one random number each and the cumulative sums."""
    shape = log_probs.shape[0], log_probs.shape[1] * count
    keys = sampling.keys[groups]
    numbers = uniform(random_bits(0, keys[:, None], np.arange(shape[1]), step)).reshape(*log_probs.shape[:2], count)
    heated = log_probs.astype(np.float64) / sampling.temperature
    sums = np.exp(heated - heated.max(axis=-1, keepdims=True)).cumsum(axis=-1)
    wanted = numbers * sums[..., -1:]
    ids = np.minimum((sums[:, :, None] <= wanted[..., None]).sum(axis=-1), log_probs.shape[-1] - 1)
    return NextTokens(ids, np.take_along_axis(log_probs, ids, axis=-1))
