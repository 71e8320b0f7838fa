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

import numpy as np
import torch
from torch import Tensor

from parasketch.counter_rng import random_bits, uniform
from parasketch.generate.decoding import Decoding, NextTokens, Rules
from parasketch.generate.required import Required, Requirements, take_in_turn
from parasketch.generate.settings import GenerateConfig
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

    groups: Tensor  # (G,) which group each is
    limits: Tensor  # (G,) longest length
    tokens: Tensor  # (G, W, t) begin, tokens, perhaps end, then pads
    log_probs: Tensor  # (G, W)
    lengths: Tensor  # (G, W) without pads
    ended: Tensor  # (G, W)
    said: Tensor  # (G, W) required tokens said so far
    required: Requirements | None

    def keep(self, kept: Tensor) -> "_Rows":
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
    def incomplete(self) -> Tensor:
        """Rows with something left to say before they may end, (G, W)."""
        if self.required is None:
            return torch.zeros_like(self.ended)
        return self.said < self.required.counts[:, None]


def output_limits(source_lengths: np.ndarray, config: GenerateConfig, *, max_length: int) -> Tensor:
    """Longest outputs of sources of these lengths, (G,), begin and end included in all; none above max_length."""
    relative = 10 + np.ceil(config.max_ratio * (source_lengths - 2)).astype(np.int64)
    return torch.from_numpy(np.minimum(relative, min(config.max_tokens, max_length)))


class TokenSearch:
    """Finds sentences."""

    def __init__(self, special: SpecialTokens, config: GenerateConfig) -> None:
        self.special, self.config = special, config

    def __call__(
        self,
        decoding: Decoding,
        limits: Tensor,
        *,
        width: int,
        sampling: Sampling | None = None,
        required: Sequence[Required] | None = None,
    ) -> list[list[Hypothesis]]:
        """At most `width` sentences for each of G groups that have just been started, best first.

        `limits` (G,), on the decoding's device, are the longest lengths, begin and end included, at least 3.
        `required`: what the sentences of each group must contain; samples do not mind it.
        """
        rows = self._begin(limits)
        if sampling is None and required is not None and any(each.tokens for each in required):
            rows.required = Requirements.of(required, filler=self.special.pad, device=limits.device)
        found: list[list[Hypothesis]] = [[] for _ in range(len(limits))]
        for length in range(2, int(limits.max()) + 1):
            proposals = self._propose(rows, decoding, length, width, sampling)
            rows, parents = self._choose(rows, proposals, length, width, sampling)
            if rows.required is not None:
                self._close(rows, rows.required, width)
            done = rows.ended.all(dim=1)
            if done.all():
                break
            if int(done.sum()) * _DROP_SHARE >= len(done):
                self._collect(rows.keep(done), found)
                rows, parents = rows.keep(~done), parents[~done]
                decoding.keep_groups((~done).nonzero().squeeze(1))
            decoding.reorder_rows(parents)
        self._collect(rows, found)
        return found

    def _begin(self, limits: Tensor) -> _Rows:
        groups, device = len(limits), limits.device
        return _Rows(
            groups=torch.arange(groups, device=device),
            limits=limits,
            tokens=torch.full((groups, 1, 1), self.special.begin, device=device),
            log_probs=torch.zeros(groups, 1, device=device),
            lengths=torch.ones(groups, 1, dtype=torch.int64, device=device),
            ended=torch.zeros(groups, 1, dtype=torch.bool, device=device),
            said=torch.zeros(groups, 1, dtype=torch.int64, device=device),
            required=None,
        )

    def _close(self, rows: _Rows, required: Requirements, width: int) -> None:
        """Give up the other rows of a group, in place, when as many have ended as is the last bank's share of the beam.

        Rows that have not said everything may not end: there would always be some that go on to the limit.
        """
        ended = (rows.ended & rows.log_probs.isfinite()).sum(dim=1)
        closed = ended * (required.counts + 1) >= width  # (G,)
        rows.log_probs.masked_fill_(closed[:, None] & ~rows.ended, -math.inf)
        rows.ended |= closed[:, None]

    def _propose(
        self, rows: _Rows, decoding: Decoding, length: int, width: int, sampling: Sampling | None
    ) -> NextTokens:
        """Continuations of every row; an ended row has one, a pad that costs nothing."""
        last = rows.tokens[:, :, -1]
        first = length == 2
        rules = Rules(self._banned(rows, first), rows.limits == length, self.special.end)
        if sampling is None:
            count = width if first else self.config.expansion
            proposals = self._next(rows, last, decoding, count, self._with_whole_words(rules, rows, last))
        else:
            log_probs = decoding.log_probs(last)
            rules.apply(log_probs.view(-1, log_probs.shape[2]))
            proposals = _draw(log_probs, sampling, rows.groups, length, width if first else 1)
        ids = proposals.ids.masked_fill(rows.ended[..., None], self.special.pad)
        log_probs = proposals.log_probs.masked_fill(rows.ended[..., None], -math.inf)
        log_probs[..., 0].masked_fill_(rows.ended, 0.0)
        return NextTokens(ids, log_probs)

    def _next(self, rows: _Rows, last: Tensor, decoding: Decoding, count: int, rules: Rules) -> NextTokens:
        """The best continuations, and the next required token; inside a run nothing but that."""
        if rows.required is None:
            return decoding.best(last, count=count, rules=rules)
        wanted = rows.required.next(rows.said)
        proposals = decoding.best(last, count=count, rules=rules, wanted=wanted)
        inside = rows.required.inside(rows.said)
        proposals.log_probs[..., :-1].masked_fill_(inside[..., None], -math.inf)
        return proposals

    def _with_whole_words(self, rules: Rules, rows: _Rows, last: Tensor) -> Rules:
        """The rules for rows that have just said something required: "4th" must not become "4thth"."""
        if rows.required is None or not self.special.continuing:
            return rules
        continuing = torch.tensor(self.special.continuing, device=last.device)
        return rules._replace(after_word=rows.required.completed(rows.said, last), continuing=continuing)

    def _banned(self, rows: _Rows, first: bool) -> Tensor:
        """Tokens that may not follow, (G, W, b): special ones, and an end that comes too early."""
        never = [*self.special.never, self.special.end if first else self.special.never[0]]
        banned = torch.tensor(never, device=rows.tokens.device).expand(*rows.tokens.shape[:2], -1)
        if rows.required is not None:
            end = torch.where(rows.incomplete, self.special.end, self.special.never[0])
            banned = torch.cat([banned, end[..., None]], dim=-1)
        return banned

    def _choose(
        self, rows: _Rows, proposals: NextTokens, length: int, width: int, sampling: Sampling | None
    ) -> tuple[_Rows, Tensor]:
        """The rows that go on, and which row each of them continues, (G, W)."""
        count = proposals.ids.shape[2]
        sums = (rows.log_probs[..., None] + proposals.log_probs).flatten(1)
        lengths = rows.lengths.masked_fill(~rows.ended, length)
        said = rows.said[..., None].expand_as(proposals.ids)
        if rows.required is not None:
            said = rows.required.advance(rows.said, proposals.ids)
        said = said.flatten(1)
        if sampling is None:
            scores = sums / self._penalty(lengths.repeat_interleave(count, dim=1))
            best = min(width, scores.shape[1])
            chosen = scores.topk(best).indices if rows.required is None else take_in_turn(scores, said, best)
        else:  # every sample goes on
            chosen = torch.arange(sums.shape[1], device=sums.device).expand_as(sums)
        parents = chosen // count
        ids = proposals.ids.flatten(1).gather(1, chosen)
        tokens = rows.tokens.gather(1, parents[..., None].expand(-1, -1, rows.tokens.shape[2]))
        return (
            _Rows(
                groups=rows.groups,
                limits=rows.limits,
                tokens=torch.cat([tokens, ids[..., None]], dim=2),
                log_probs=sums.gather(1, chosen),
                lengths=lengths.gather(1, parents),
                ended=rows.ended.gather(1, parents) | (ids == self.special.end),
                said=said.gather(1, chosen),
                required=rows.required,
            ),
            parents,
        )

    def _penalty(self, lengths: Tensor) -> Tensor:
        return ((5 + lengths) / 6) ** self.config.length_penalty

    def _collect(self, rows: _Rows, found: list[list[Hypothesis]]) -> None:
        """Store the rows as hypotheses of their groups, best first, but for those that lack what was required."""
        whole = ~rows.incomplete
        scores = rows.log_probs / self._penalty(rows.lengths)
        order = scores.argsort(dim=1, descending=True, stable=True)
        parts = (rows.tokens, rows.log_probs, rows.lengths, scores, order, whole)
        for group, *row in zip(rows.groups.tolist(), *(part.tolist() for part in parts), strict=True):
            tokens, log_probs, lengths, ranked, places, kept = row
            found[group] = [
                Hypothesis(tuple(tokens[i][1 : lengths[i] - 1]), log_probs[i], ranked[i])
                for i in places
                if kept[i] and math.isfinite(log_probs[i])
            ]


def _draw(log_probs: Tensor, sampling: Sampling, groups: Tensor, step: int, count: int) -> NextTokens:
    """`count` tokens for every row from log_probs (G, W, V), by one random number each and the cumulative sums."""
    shape = log_probs.shape[0], log_probs.shape[1] * count
    keys = sampling.keys[groups.cpu().numpy()]
    numbers = uniform(random_bits(0, keys[:, None], np.arange(shape[1]), step)).reshape(*log_probs.shape[:2], count)
    sums = torch.softmax(log_probs / sampling.temperature, dim=-1).cumsum(dim=-1)
    wanted = torch.from_numpy(numbers).to(sums) * sums[..., -1:]
    ids = torch.searchsorted(sums, wanted, right=True).clamp_max_(log_probs.shape[-1] - 1)
    return NextTokens(ids, log_probs.gather(-1, ids))
