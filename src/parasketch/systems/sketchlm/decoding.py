"""Continuing sources: many rows of codes and tokens over the one cache of their source.

A grid of B inputs by S rows grows token by token. The keys and values of a source are computed once and read by all its
rows; only what a row has of its own is stored for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from parasketch.model.language_model import Block, PrefixCache, rotate
from parasketch.systems.sketchlm.network import END, START, SketchLM

_MOST_CHOICES = 40
"""Tokens that sampling chooses among at each place: what is less likely than the first 40 is never good English."""
_SHOWN = 6
"""Tokens that a continuation remembers at each place."""


@dataclass
class Grid:
    """S rows for each of B inputs, `used` tokens long."""

    prefix: PrefixCache
    keys: list[Tensor]  # by layer (B, S, kv_heads, room, d)
    values: list[Tensor]
    used: int
    form: Tensor | None = None  # (B, S, width), added to the last code and to all that follows it

    def choose(self, rows: Tensor) -> "Grid":
        """Another grid of rows (B, S') of this one, which may repeat; they have no form yet."""
        at = torch.arange(len(rows), device=rows.device)[:, None]
        return Grid(self.prefix, [k[at, rows] for k in self.keys], [v[at, rows] for v in self.values], self.used)


@dataclass(frozen=True)
class Continuation:
    """A row that was decoded."""

    tokens: list[int]
    log_probs: list[float]
    """Of every token and, last, of the end; without temperature."""
    finished: bool
    choices: list[list[int]]
    """The likeliest tokens at every place, best first."""
    choice_log_probs: list[list[float]]


class Decoding:
    """Reads sources and continues them with a network whose adapters were merged."""

    def __init__(self, network: SketchLM) -> None:
        self.network, self._model = network, network.language_model

    def read(self, sources: Sequence[Sequence[int]], *, room: int) -> tuple[Grid, Tensor]:
        """A grid of one empty row for each source, and the states (B, width) that predict the first code."""
        rows = [[START, *source, self.network.ids.sketch] for source in sources]
        lengths = torch.tensor([len(row) for row in rows])
        longest = int(lengths.max())
        ids = torch.tensor([row + [END] * (longest - len(row)) for row in rows])
        x = self.network.embed(ids)
        rotation = self._model.rotation(torch.arange(longest))
        prefix = PrefixCache([], [], lengths)
        for block in self._model.blocks:
            x, k, v = block(x, rotation)
            prefix.keys.append(k)
            prefix.values.append(v)
        shape = self._model.shape
        empty = [x.new_zeros(len(rows), 1, shape.kv_heads, room, shape.head_width) for _ in range(2 * shape.layers)]
        states = self._model.norm(x[torch.arange(len(rows)), lengths - 1])
        return Grid(prefix, empty[: shape.layers], empty[shape.layers :], 0), states

    def advance(self, grid: Grid, ids: Tensor) -> Tensor:
        """Add one token (B, S) to every row; returns the states (B, S, width) after it."""
        x = self.network.embed(ids)
        if grid.form is not None and grid.used >= self.network.ids.levels - 1:
            x = x + grid.form
        positions = grid.prefix.lengths[:, None] + grid.used
        cos, sin = self._model.rotation(positions)  # (B, 1, d)
        rotation = cos[:, :, None], sin[:, :, None]
        hidden = ~grid.prefix.mask()
        for layer, block in enumerate(self._model.blocks):
            x = self._block(cast(Block, block), x, grid, layer, rotation, hidden)
        grid.used += 1
        return cast(Tensor, self._model.norm(x))

    def log_probs(self, states: Tensor) -> Tensor:
        """Log-probabilities (..., vocabulary) of the next token given states (..., width)."""
        return self._model.logits(states).log_softmax(-1)

    def sketches(self, grid: Grid, states: Tensor, prefixes: Sequence[Sequence[int]], count: int) -> "Sketches":
        """The `count` most probable sketches of each input that begin with its prefix.

        Exact but for one cut: at each level the best 4 · count beginnings go on.
        """
        ids = self.network.ids
        inputs = len(states)
        log_probs = states.new_zeros(inputs, 1)
        codes = torch.zeros(inputs, 1, 0, dtype=torch.long)
        rows = states[:, None]
        for level in range(ids.levels):
            scores = self.network.code_logits(rows, level).log_softmax(-1)  # (B, S, K)
            for number, prefix in enumerate(prefixes):
                if len(prefix) > level:
                    given = torch.full((ids.codes,), -torch.inf)
                    given[prefix[level]] = 0.0
                    scores[number] = given
            total = (log_probs[..., None] + scores).flatten(1)  # (B, S · K)
            keep = min(total.shape[1], count if level == ids.levels - 1 else 4 * count)
            log_probs, chosen = total.topk(keep, dim=1)
            parents, code = chosen // ids.codes, chosen % ids.codes
            codes = torch.cat([codes[torch.arange(inputs)[:, None], parents], code[..., None]], dim=-1)
            if level < ids.levels - 1:
                grid = grid.choose(parents)
                rows = self.advance(grid, ids.first(level) + code)
        return Sketches(codes, log_probs)

    def begin(self, grid: Grid, codes: Tensor) -> tuple[Grid, Tensor]:
        """The grid of one empty row continued with given code ids (B, S, levels), and the states after them."""
        grid = grid.choose(torch.zeros(codes.shape[:2], dtype=torch.long))
        grid.form = self.network.form_vectors(codes)
        states = torch.empty(0)
        for level in range(codes.shape[-1]):
            states = self.advance(grid, codes[..., level])
        return grid, states

    def generate(
        self,
        grid: Grid,
        states: Tensor,
        *,
        limits: Sequence[int],
        forced: Sequence[Sequence[Sequence[int]]] | None = None,
        sampling: "Sampling | None" = None,
    ) -> list[list[Continuation]]:
        """Finish all rows token by token: after their `forced` beginnings greedily, or by sampling.

        `limits` has the most tokens of each input's rows; those that are not finished by then stay as they are.
        """
        most_tokens = max(limits)
        alive = torch.ones(states.shape[:2], dtype=torch.bool)
        beginnings = _padded(forced) if forced is not None else torch.zeros(*states.shape[:2], 0, dtype=torch.long)
        steps: list[_Step] = []
        for step in range(most_tokens + 1):
            log_probs = self.log_probs(states)
            top, ids = log_probs.topk(_MOST_CHOICES, dim=-1)
            token = ids[..., 0] if sampling is None else ids.gather(-1, sampling.choose(top)).squeeze(-1)
            if step < beginnings.shape[-1]:
                given = beginnings[..., step]
                token = torch.where(given >= 0, given, token)
            chance = log_probs.gather(-1, token[..., None]).squeeze(-1)
            token = torch.where(alive, token, END)
            steps.append(_Step(token, chance, ids[..., :_SHOWN], top[..., :_SHOWN]))
            alive &= token != END
            if not alive.any() or step == most_tokens:
                break
            states = self.advance(grid, token)
        return _collect(steps, limits)

    def _block(
        self, block: Block, x: Tensor, grid: Grid, layer: int, rotation: tuple[Tensor, Tensor], hidden: Tensor
    ) -> Tensor:
        """States (B, S, width) after a block whose rows see their source, themselves and what they had before."""
        shape = self._model.shape
        batch, rows, _ = x.shape
        group = shape.heads // shape.kv_heads
        every = block.qkv(block.attention_norm(x)).view(batch, rows, -1, shape.head_width)
        q, k, v = every.split([shape.heads, shape.kv_heads, shape.kv_heads], dim=2)
        grid.keys[layer][:, :, :, grid.used] = rotate(k, rotation)
        grid.values[layer][:, :, :, grid.used] = v
        q = rotate(q, rotation).view(batch, rows, shape.kv_heads, group, -1) * shape.head_width**-0.5
        # The source's keys are the same for all rows: rows are further queries on them.
        shared = q.transpose(1, 2).flatten(2, 3) @ grid.prefix.keys[layer].transpose(-1, -2)  # (B, kv, S · g, T)
        shared = shared.masked_fill(hidden[:, None, None], -torch.inf)
        shared = shared.view(batch, shape.kv_heads, rows, group, -1).transpose(1, 2)  # (B, S, kv, g, T)
        own_keys, own_values = (each[layer][:, :, :, : grid.used + 1] for each in (grid.keys, grid.values))
        own = q @ own_keys.transpose(-1, -2)  # (B, S, kv, g, used + 1)
        weights = torch.cat([shared, own], dim=-1).softmax(-1)
        length = shared.shape[-1]
        seen = weights[..., :length].transpose(1, 2).flatten(2, 3) @ grid.prefix.values[layer]
        seen = seen.view(batch, shape.kv_heads, rows, group, -1).transpose(1, 2) + weights[..., length:] @ own_values
        # Rows stand here where positions stand in training.
        return block.finish(x, seen.flatten(2, 3).transpose(1, 2))


@dataclass(frozen=True)
class Sketches:
    """Sketches that were chosen: codes (B, S, levels), and their log-probabilities (B, S)."""

    codes: Tensor
    log_probs: Tensor


class Sampling:
    """Draws tokens with each input's own random numbers, so that no result depends on what else is in a batch."""

    def __init__(self, seeds: Sequence[int], rows: int, *, temperature: float, top_p: float) -> None:
        self._generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self._rows, self._temperature, self._top_p = rows, temperature, top_p

    def choose(self, top: Tensor) -> Tensor:
        """Which of the best tokens, whose log-probabilities are (B, S, choices), each row takes, (B, S, 1)."""
        scores = top / self._temperature
        probabilities = scores.softmax(-1)
        unlikely = probabilities.cumsum(-1) - probabilities >= self._top_p
        uniform = [torch.rand(self._rows, top.shape[-1], generator=each) for each in self._generators]
        noise = -(-torch.stack(uniform).clamp(1e-9, 1 - 1e-7).log()).log()
        return (scores + noise).masked_fill(unlikely, -torch.inf).argmax(-1, keepdim=True)


@dataclass(frozen=True)
class _Step:
    """What happened at one place: tokens and their log-probabilities (B, S), and the likeliest ones (B, S, shown)."""

    tokens: Tensor
    log_probs: Tensor
    choices: Tensor
    choice_log_probs: Tensor


def _padded(forced: Sequence[Sequence[Sequence[int]]]) -> Tensor:
    """Beginnings as (B, S, longest), -1 after their ends."""
    longest = max(len(row) for rows in forced for row in rows)
    return torch.tensor([[[*row, *[-1] * (longest - len(row))] for row in rows] for rows in forced])


def _collect(steps: Sequence[_Step], limits: Sequence[int]) -> list[list[Continuation]]:
    tokens, log_probs = (torch.stack([getattr(step, name) for step in steps], -1) for name in ("tokens", "log_probs"))
    choices, chances = (
        torch.stack([getattr(step, name) for step in steps], -2) for name in ("choices", "choice_log_probs")
    )
    parts = [part.tolist() for part in (tokens, log_probs, choices, chances)]
    return [
        [
            _continuation(*(row[: limit + 1] for row in each))
            for each in zip(*(part[place] for part in parts), strict=True)
        ]
        for place, limit in enumerate(limits)
    ]


def _continuation(
    tokens: list[int], log_probs: list[float], choices: list[list[int]], chances: list[list[float]]
) -> Continuation:
    finished = END in tokens
    end = tokens.index(END) if finished else len(tokens)
    shown = slice(0, end + 1)
    return Continuation(tokens[:end], log_probs[shown], finished, choices[shown], chances[shown])
