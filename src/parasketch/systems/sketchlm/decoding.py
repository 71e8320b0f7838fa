"""Continuing sources: many rows of codes and tokens over the one cache of their source.

A grid of B inputs by S rows grows token by token. The keys and values of a source are computed once and read by all its
rows; only what a row has of its own is stored for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parasketch.counter_rng import random_bits, uniform
from parasketch.systems.sketchlm.ids import END
from parasketch.systems.sketchlm.model import Floats, Ints, SketchModel

_WORTH_PACKING = 0.75
"""Rows are taken out of the grid when no more than this share of them goes on."""
_MORE_ROOM = 8
"""Tokens that rows get room for at a time."""


@dataclass
class Grid:
    """S rows for each of B inputs, `used` tokens long."""

    shared: Floats  # (2, layers, B, kv_heads, T, d) keys and values of the sources
    lengths: Ints  # (B,) of the sources
    own: Floats  # (2, layers, B, kv_heads, S, room, d) keys and values of the rows
    used: int = 0
    form: Floats | None = None  # (B, S, width), added to the last code and to all that follows it

    def choose(self, rows: Ints) -> "Grid":
        """Another grid of rows (B, S') of this one, which may repeat."""
        room = self.used + _MORE_ROOM
        own = np.zeros((*self.own.shape[:4], rows.shape[1], room, self.own.shape[-1]), dtype=np.float32)
        for number, chosen in enumerate(rows if self.used else ()):
            for place, row in enumerate(chosen):
                own[:, :, number, :, place, : self.used] = self.own[:, :, number, :, row, : self.used]
        form = None if self.form is None else np.take_along_axis(self.form, rows[..., None], axis=1)
        return Grid(self.shared, self.lengths, own, self.used, form)

    def sees(self) -> NDArray[np.bool_]:
        """What the next token of each row sees, (B, S, T + S + room): its source, itself, and what it has been told."""
        inputs, rows, room = self.own.shape[2], *self.own.shape[4:6]
        source = np.arange(self.shared.shape[4]) < self.lengths[:, None]  # (B, T)
        before = np.arange(room) < self.used
        parts = (source[:, None], np.eye(rows, dtype=bool)[None], before[None, None])
        return np.concatenate([np.broadcast_to(part, (inputs, rows, part.shape[-1])) for part in parts], axis=-1)

    def add(self, new: Floats) -> None:
        """Keep the keys and values (2, layers, B, kv_heads, S, d) of a token of each row."""
        self.own[..., self.used, :] = new
        self.used += 1
        room = self.own.shape[5]
        if self.used == room:
            more = [(0, 0)] * 5 + [(0, _MORE_ROOM), (0, 0)]
            self.own = np.pad(self.own, more)


@dataclass(frozen=True)
class Continuation:
    """A row that was decoded."""

    tokens: list[int]
    log_probs: list[float]
    """Of every token and, last, of the end; without temperature."""
    finished: bool
    grades: tuple[float, float]
    """Log-odds that a reader finds it weak or better, and good; 0 where it is not finished."""


@dataclass(frozen=True)
class Sketches:
    """Sketches that were chosen: codes (B, S, levels), and their log-probabilities (B, S)."""

    codes: Ints
    log_probs: Floats


class Decoding:
    """Reads sources and continues them."""

    def __init__(self, model: SketchModel) -> None:
        self._model = model

    def read(self, sources: Sequence[Sequence[int]]) -> tuple[Grid, Floats]:
        """A grid of one empty row for each source, and the states (B, width) that predict the first code."""
        rows = [[*source, self._model.ids.sketch] for source in sources]
        lengths = np.array([len(row) for row in rows])
        longest = int(lengths.max())
        ids = np.array([row + [END] * (longest - len(row)) for row in rows])
        # The token at 0 was read once for all. What is right of a token it does not see, and so no padding.
        first = np.repeat(self._model.first[:, :, None], len(rows), axis=2)
        places = np.broadcast_to(np.arange(1, longest + 1), ids.shape)
        own = np.zeros((*first.shape[:4], longest, 1, first.shape[-1]), dtype=np.float32)  # nothing, and not seen
        sees = np.pad(np.tri(longest, dtype=bool), ((0, 0), (1, 1)), constant_values=((True, True), (True, False)))
        states, new = self._model.run(
            self._model.embed(ids), places, np.broadcast_to(sees, (len(rows), *sees.shape)), first, own
        )
        shared = np.concatenate([first, new], axis=4)
        room = np.zeros((*first.shape[:4], 1, _MORE_ROOM, first.shape[-1]), dtype=np.float32)
        return Grid(shared, lengths + 1, room), states[np.arange(len(rows)), lengths - 1]

    def advance(self, grid: Grid, ids: Ints) -> Floats:
        """Add one token (B, S) to every row; returns the states (B, S, width) after it."""
        x = self._model.embed(ids)
        if grid.form is not None and grid.used >= self._model.ids.levels - 1:
            x = x + grid.form
        places = np.broadcast_to(grid.lengths[:, None] + grid.used, ids.shape)
        states, new = self._model.run(x, places, grid.sees(), grid.shared, grid.own)
        grid.add(new)
        return states

    def sketches(self, grid: Grid, states: Floats, prefixes: Sequence[Sequence[int]], count: int) -> Sketches:
        """The `count` most probable sketches of each input that begin with its prefix.

        Exact but for one cut: at each level the best 4 · count beginnings go on.
        """
        ids = self._model.ids
        log_probs: Floats = np.zeros((len(states), 1), dtype=np.float32)
        codes = np.zeros((len(states), 1, 0), dtype=np.int64)
        rows = states[:, None]
        for level in range(ids.levels):
            scores = self._model.code_log_probs(rows, level)  # (B, S, K)
            for number, prefix in enumerate(prefixes):
                if len(prefix) > level:
                    scores[number] = np.where(np.arange(ids.codes) == prefix[level], np.float32(0), -np.inf)
            total = (log_probs[..., None] + scores).reshape(len(states), -1)  # (B, S · K)
            keep = min(total.shape[1], count if level == ids.levels - 1 else 4 * count)
            chosen = np.argsort(-total, axis=1, kind="stable")[:, :keep]
            log_probs = np.take_along_axis(total, chosen, axis=1)
            parents, code = np.divmod(chosen, ids.codes)
            codes = np.concatenate([np.take_along_axis(codes, parents[..., None], axis=1), code[..., None]], axis=-1)
            if level < ids.levels - 1:
                grid = grid.choose(parents)
                rows = self.advance(grid, ids.first(level) + code)
        return Sketches(codes, log_probs)

    def begin(self, grid: Grid, codes: Ints) -> tuple[Grid, Floats]:
        """The grid of one empty row continued with given code ids (B, S, levels), and the states after them."""
        grid = grid.choose(np.zeros(codes.shape[:2], dtype=np.int64))
        grid.form = self._model.form_vectors(codes)
        states = np.empty(0, dtype=np.float32)
        for level in range(codes.shape[-1]):
            states = self.advance(grid, codes[..., level])
        return grid, states

    def generate(
        self, grid: Grid, states: Floats, *, limits: Sequence[int], sampling: "Sampling | None" = None
    ) -> list[list[Continuation]]:
        """Finish all rows token by token, greedily but for the last ones, which `sampling` draws.

        `limits` has the most tokens of each input's rows; those that are not finished by then stay as they are. Rows
        that have ended leave the grid, so that the last steps of the longest row are cheap.
        """
        inputs, rows = states.shape[:2]
        at = np.arange(inputs)[:, None]
        here = np.broadcast_to(
            np.arange(rows), (inputs, rows)
        )  # (B, S') the row that each row of the grid was at first
        alive = np.ones((inputs, rows), dtype=bool)
        tokens = np.full((inputs, rows, max(limits) + 1), END)
        log_probs: Floats = np.zeros(tokens.shape, dtype=np.float32)
        grades: Floats = np.zeros((inputs, rows, 2), dtype=np.float32)
        for step in range(max(limits) + 1):
            best = self._model.next_tokens(states)
            choice = np.zeros_like(here) if sampling is None else sampling.choose(step, best.log_probs, here)
            token = np.take_along_axis(best.ids, choice[..., None], axis=-1)[..., 0]
            token = np.where(alive[at, here], token, END)
            tokens[at, here, step] = token
            log_probs[at, here, step] = np.take_along_axis(best.log_probs, choice[..., None], axis=-1)[..., 0]
            ends = (alive[at, here] & (token == END))[..., None]
            grades[at, here] = np.where(ends, self._model.grade_logits(states), grades[at, here])
            alive[at, here] &= token != END
            going = alive[at, here]
            most = int(going.sum(axis=1).max())
            if most == 0:
                break
            if most <= _WORTH_PACKING * here.shape[1]:
                kept = np.argsort(~going, axis=1, kind="stable")[:, :most]
                grid, here, token = grid.choose(kept), here[at, kept], token[at, kept]
            states = self.advance(grid, token)
        return [
            [_continuation(*row, limit) for row in zip(said, sure, graded, strict=True)]
            for said, sure, graded, limit in zip(
                tokens.tolist(), log_probs.tolist(), grades.tolist(), limits, strict=True
            )
        ]


class Sampling:
    """Draws the tokens of each input's last rows with the input's own random numbers, whatever else is in a batch."""

    def __init__(self, seeds: Sequence[int], *, greedy: int, temperature: float, top_p: float) -> None:
        """The first `greedy` rows of each input take the likeliest tokens, those after them are drawn."""
        self._seeds, self._greedy = seeds, greedy
        self._temperature, self._top_p = temperature, top_p

    def choose(self, step: int, log_probs: Floats, rows: Ints) -> Ints:
        """Which of the best tokens, whose log-probabilities are (B, S, choices), the rows (B, S) take, (B, S)."""
        choices = np.arange(log_probs.shape[-1])
        chances = np.stack(
            [
                uniform(random_bits(seed, step, each[:, None], choices))
                for seed, each in zip(self._seeds, rows, strict=True)
            ]
        )
        noise = -np.log(-np.log(np.clip(chances, 1e-9, 1 - 1e-7)))
        scores = log_probs / self._temperature
        probabilities = np.exp(scores - scores.max(axis=-1, keepdims=True))
        probabilities /= probabilities.sum(axis=-1, keepdims=True)
        unlikely = probabilities.cumsum(axis=-1) - probabilities >= self._top_p
        drawn = np.where(unlikely, -np.inf, scores + noise).argmax(axis=-1)
        return np.where(rows < self._greedy, 0, drawn)


def _continuation(tokens: list[int], log_probs: list[float], grades: list[float], limit: int) -> Continuation:
    tokens = tokens[: limit + 1]
    finished = END in tokens
    end = tokens.index(END) if finished else len(tokens)
    weak, good = grades
    return Continuation(tokens[:end], log_probs[: end + 1] if finished else log_probs[:end], finished, (weak, good))
