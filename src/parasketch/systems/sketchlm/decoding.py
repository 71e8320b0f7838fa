"""Continuing sources: many rows of codes and tokens over the one cache of their source.

A grid of B inputs by S rows grows token by token. The keys and values of a source are computed once and read by all its
rows; only what a row has of its own is stored for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from parasketch.generate.stopping import stop_if_unwanted
from parasketch.model.language_model import PrefixCache, heads_of, split_heads
from parasketch.systems.sketchlm.network import END, SketchLM

_MOST_CHOICES = 40
"""Tokens that sampling chooses among at each place: what is less likely than the first 40 is never good English."""
_WORTH_PACKING = 0.75
"""Rows are taken out of the grid when no more than this share of them goes on."""


@dataclass
class Grid:
    """S rows for each of B inputs, `used` tokens long."""

    prefix: PrefixCache
    keys: list[Tensor]  # by layer (B, S, kv_heads, room, d)
    values: list[Tensor]
    used: int
    form: Tensor | None = None  # (B, S, width), added to the last code and to all that follows it

    def choose(self, rows: Tensor) -> "Grid":
        """Another grid of rows (B, S') of this one, which may repeat."""
        at = torch.arange(len(rows), device=rows.device)[:, None]
        form = None if self.form is None else self.form[at, rows]
        return Grid(self.prefix, [k[at, rows] for k in self.keys], [v[at, rows] for v in self.values], self.used, form)


@dataclass(frozen=True)
class Continuation:
    """A row that was decoded."""

    tokens: list[int]
    log_probs: list[float]
    """Of every token and, last, of the end; without temperature."""
    finished: bool


class Layer(Protocol):
    """What is needed of a block, in full precision or in 8 bits."""

    def project(self, x: Tensor, /) -> Tensor:
        """Queries, keys and values of states."""
        ...

    def finish(self, x: Tensor, attended: Tensor, /) -> Tensor:
        """The block's states, given what was attended to."""
        ...


class Decoding:
    """Reads sources and continues them with a network whose adapters were merged."""

    def __init__(self, network: SketchLM) -> None:
        self.network, self._model = network, network.language_model
        self._blocks = [cast(Layer, block) for block in self._model.blocks]

    def read(self, sources: Sequence[Sequence[int]], *, room: int) -> tuple[Grid, Tensor]:
        """A grid of one empty row for each source, and the states (B, width) that predict the first code."""
        rows = [[*source, self.network.ids.sketch] for source in sources]
        lengths = torch.tensor([len(row) for row in rows])
        longest = int(lengths.max())
        ids = torch.tensor([row + [END] * (longest - len(row)) for row in rows])
        x = self.network.embed(ids)
        rotation = self._model.rotation(torch.arange(1, longest + 1))  # the token at 0 was read once for all
        sees = torch.ones(longest, longest + 1, dtype=torch.bool).tril(1)
        prefix = PrefixCache([], [], lengths + 1)
        for layer, block in enumerate(self._blocks):
            q, k, v = heads_of(block.project(x), self._model.shape, rotation)
            k = torch.cat([self._model.first_keys[layer].expand(len(rows), -1, -1, -1), k], dim=2)
            v = torch.cat([self._model.first_values[layer].expand(len(rows), -1, -1, -1), v], dim=2)
            attended = F.scaled_dot_product_attention(q, k, v, attn_mask=sees, enable_gqa=True)
            x = block.finish(x, attended.transpose(1, 2).flatten(2))
            prefix.keys.append(k)
            prefix.values.append(v)
        shape = self._model.shape
        empty = [x.new_zeros(len(rows), 1, shape.kv_heads, room, shape.head_width) for _ in range(2 * shape.layers)]
        states = self._model.norm(x[torch.arange(len(rows)), lengths - 1])
        return Grid(prefix, empty[: shape.layers], empty[shape.layers :], 0), states

    def advance(self, grid: Grid, ids: Tensor) -> Tensor:
        """Add one token (B, S) to every row; returns the states (B, S, width) after it."""
        stop_if_unwanted()
        x = self.network.embed(ids)
        if grid.form is not None and grid.used >= self.network.ids.levels - 1:
            x = x + grid.form
        positions = grid.prefix.lengths[:, None] + grid.used
        cos, sin = self._model.rotation(positions)  # (B, 1, d)
        rotation = cos[:, :, None], sin[:, :, None]
        hidden = None if len(ids) == 1 else ~grid.prefix.mask()  # one source has no padding
        for layer, block in enumerate(self._blocks):
            x = self._block(block, x, grid, layer, rotation, hidden)
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
        self, grid: Grid, states: Tensor, *, limits: Sequence[int], sampling: "Sampling | None" = None
    ) -> list[list[Continuation]]:
        """Finish all rows token by token, greedily but for the last ones, which `sampling` draws.

        `limits` has the most tokens of each input's rows; those that are not finished by then stay as they are. Rows
        that have ended leave the grid, so that the last steps of the longest row are cheap.
        """
        inputs, rows = states.shape[:2]
        at = torch.arange(inputs)[:, None]
        here = torch.arange(rows).expand(inputs, rows)  # (B, S') the row that each row of the grid was at first
        alive = torch.ones(inputs, rows, dtype=torch.bool)
        tokens = torch.full((inputs, rows, max(limits) + 1), END)
        log_probs = torch.zeros(inputs, rows, max(limits) + 1)
        for step in range(max(limits) + 1):
            scores = self.log_probs(states)
            top, ids = scores.topk(_MOST_CHOICES, dim=-1)
            choice = torch.zeros_like(ids[..., :1]) if sampling is None else sampling.choose(top, here)
            token = torch.where(alive[at, here], ids.gather(-1, choice).squeeze(-1), END)
            tokens[at, here, step] = token
            log_probs[at, here, step] = scores.gather(-1, token[..., None]).squeeze(-1)
            alive[at, here] &= token != END
            going = alive[at, here]
            most = int(going.sum(1).max())
            if most == 0:
                break
            if most <= _WORTH_PACKING * here.shape[1]:
                kept = going.int().sort(dim=1, descending=True, stable=True).indices[:, :most]
                grid, here, token = grid.choose(kept), here.gather(1, kept), token.gather(1, kept)
            states = self.advance(grid, token)
        return [
            [_continuation(row, chances, limit) for row, chances in zip(said, sure, strict=True)]
            for said, sure, limit in zip(tokens.tolist(), log_probs.tolist(), limits, strict=True)
        ]

    def _block(
        self, block: "Layer", x: Tensor, grid: Grid, layer: int, rotation: tuple[Tensor, Tensor], hidden: Tensor | None
    ) -> Tensor:
        """States (B, S, width) after a block whose rows see their source, themselves and what they had before."""
        shape = self._model.shape
        batch, rows, _ = x.shape
        group = shape.heads // shape.kv_heads
        every = block.project(x).view(batch, rows, -1, shape.head_width)
        q, k, v = split_heads(every, shape, rotation, dim=2)
        grid.keys[layer][:, :, :, grid.used] = k
        grid.values[layer][:, :, :, grid.used] = v
        q = q.reshape(batch, rows, shape.kv_heads, group, -1) * shape.head_width**-0.5
        # The source's keys are the same for all rows: rows are further queries on them.
        shared = q.transpose(1, 2).flatten(2, 3) @ grid.prefix.keys[layer].transpose(-1, -2)  # (B, kv, S · g, T)
        if hidden is not None:
            shared = shared.masked_fill(hidden[:, None, None], -torch.inf)
        shared = shared.view(batch, shape.kv_heads, rows, group, -1).transpose(1, 2)  # (B, S, kv, g, T)
        own_keys, own_values = (each[layer][:, :, :, : grid.used + 1] for each in (grid.keys, grid.values))
        own = q @ own_keys.transpose(-1, -2)  # (B, S, kv, g, used + 1)
        weights = torch.cat([shared, own], dim=-1).softmax(-1)
        length = shared.shape[-1]
        seen = weights[..., :length].transpose(1, 2).flatten(2, 3) @ grid.prefix.values[layer]
        seen = seen.view(batch, shape.kv_heads, rows, group, -1).transpose(1, 2) + weights[..., length:] @ own_values
        return block.finish(x, seen.flatten(2))


@dataclass(frozen=True)
class Sketches:
    """Sketches that were chosen: codes (B, S, levels), and their log-probabilities (B, S)."""

    codes: Tensor
    log_probs: Tensor


class Sampling:
    """Draws the tokens of each input's last rows with the input's own random numbers, whatever else is in a batch."""

    def __init__(self, seeds: Sequence[int], *, greedy: int, sampled: int, temperature: float, top_p: float) -> None:
        """The first `greedy` rows of each input take the likeliest tokens, the `sampled` ones after them are drawn."""
        self._generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self._greedy, self._sampled = greedy, sampled
        self._temperature, self._top_p = temperature, top_p

    def choose(self, top: Tensor, rows: Tensor) -> Tensor:
        """Which of the best tokens, whose log-probabilities are (B, S, choices), the rows (B, S) take, (B, S, 1)."""
        uniform = torch.stack([torch.rand(self._sampled, top.shape[-1], generator=each) for each in self._generators])
        noise = -(-uniform.clamp(1e-9, 1 - 1e-7).log()).log()
        noise = noise[torch.arange(len(rows))[:, None], (rows - self._greedy).clamp(min=0)]
        scores = top / self._temperature
        probabilities = scores.softmax(-1)
        unlikely = probabilities.cumsum(-1) - probabilities >= self._top_p
        drawn = (scores + noise).masked_fill(unlikely, -torch.inf).argmax(-1)
        return torch.where(rows < self._greedy, 0, drawn)[..., None]


def _continuation(tokens: list[int], log_probs: list[float], limit: int) -> Continuation:
    tokens = tokens[: limit + 1]
    finished = END in tokens
    end = tokens.index(END) if finished else len(tokens)
    return Continuation(tokens[:end], log_probs[: end + 1] if finished else log_probs[:end], finished)
