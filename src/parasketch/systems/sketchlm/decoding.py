"""Continuing sources: many rows of codes and tokens over the one cache of their source.

A grid of B inputs by S rows grows token by token. The keys and values of a source are computed once and read by all its
rows; only what a row has of its own is stored for it. Rows that have ended are not computed any more.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parasketch.counter_rng import random_bits, uniform
from parasketch.generate.stopping import stop_if_unwanted
from parasketch.systems.sketchlm.ids import END
from parasketch.systems.sketchlm.model import Floats, Ints, SketchModel

_WORTH_PACKING = 0.6
"""Rows that have ended are taken out of the grid when no input has more than this share of its rows left."""
_MORE_ROOM = 8
"""Tokens that rows get room for at a time."""


@dataclass
class Grid:
    """S rows for each of B inputs, `used` tokens long, N of which go on."""

    shared: Floats  # (2, layers, B, kv_heads, T, d) keys and values of the sources
    lengths: Ints  # (B,) of the sources
    own: Floats  # (2, layers, B, kv_heads, S, room, d) keys and values of the rows
    going: Ints  # (N,) places in the grid, row by row, of those that go on
    used: int = 0
    form: Floats | None = None  # (B, S, width), added to the last code and to all that follows it

    def choose(self, rows: Ints, *, more: int = _MORE_ROOM) -> "Grid":
        """Another grid of rows (B, S') of this one, which may repeat, with room for `more` tokens."""
        room = self.used + more
        own = np.zeros((*self.own.shape[:4], rows.shape[1], room, self.own.shape[-1]), dtype=np.float32)
        for number, chosen in enumerate(rows if self.used else ()):
            for place, row in enumerate(chosen):
                own[:, :, number, :, place, : self.used] = self.own[:, :, number, :, row, : self.used]
        form = None if self.form is None else np.take_along_axis(self.form, rows[..., None], axis=1)
        return Grid(self.shared, self.lengths, own, np.arange(rows.size), self.used, form)

    def keep(self, going: NDArray[np.bool_]) -> "Grid":
        """The grid with only some of the N rows going on."""
        inputs, rows = self.own.shape[2], self.own.shape[4]
        self.going = self.going[going]
        number, row = np.divmod(self.going, rows)
        counts = np.bincount(number, minlength=inputs)
        most = int(counts.max(initial=0))
        if not 0 < most <= _WORTH_PACKING * rows:
            return self
        place = np.concatenate([np.arange(count) for count in counts])
        kept = np.zeros((inputs, most), dtype=np.int64)
        kept[number, place] = row
        packed = self.choose(kept)
        packed.going = number * most + place
        return packed

    def sees(self) -> NDArray[np.bool_]:
        """What the next token of each row sees, (B, S, T + S + room): its source, itself, and what it has been told."""
        inputs, rows, room = self.own.shape[2], *self.own.shape[4:6]
        source = np.arange(self.shared.shape[4]) < self.lengths[:, None]  # (B, T)
        before = np.arange(room) < self.used
        parts = (source[:, None], np.eye(rows, dtype=bool)[None], before[None, None])
        return np.concatenate([np.broadcast_to(part, (inputs, rows, part.shape[-1])) for part in parts], axis=-1)

    def add(self, new: Floats) -> None:
        """Store the keys and values (2, layers, B, kv_heads, S, d) of a token of each row."""
        if self.used == self.own.shape[5]:
            old = self.own
            self.own = np.zeros((*old.shape[:5], self.used + _MORE_ROOM, old.shape[-1]), dtype=np.float32)
            self.own[..., : self.used, :] = old
        self.own[..., self.used, :] = new
        self.used += 1


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
        places = np.concatenate([number * longest + np.arange(length) for number, length in enumerate(lengths)])
        # The token at 0 was read once for all. A token sees what is left of it.
        first = np.repeat(self._model.first[:, :, None], len(rows), axis=2)
        positions = np.broadcast_to(np.arange(1, longest + 1), (len(rows), longest))
        own = np.zeros((*first.shape[:4], longest, 1, first.shape[-1]), dtype=np.float32)  # nothing, and not seen
        sees = np.pad(np.tri(longest, dtype=bool), ((0, 0), (1, 1)), constant_values=((True, True), (True, False)))
        states, new = self._model.run(
            self._model.embed(np.concatenate(rows)),
            places,
            positions,
            np.broadcast_to(sees, (len(rows), *sees.shape)),
            first,
            own,
        )
        shared = np.concatenate([first, new], axis=4)
        room = np.zeros((*first.shape[:4], 1, 1, first.shape[-1]), dtype=np.float32)
        return Grid(shared, lengths + 1, room, np.arange(len(rows))), states[np.cumsum(lengths) - 1]

    def advance(self, grid: Grid, ids: Ints, *, last: bool = False) -> Floats:
        """Add one token (N,) to every row that goes on; returns the states (N, width) after it.

        After the last one nothing can follow: it is not stored.
        """
        stop_if_unwanted()
        x = self._model.embed(ids)
        if grid.form is not None and grid.used >= self._model.ids.levels - 1:
            x = x + grid.form.reshape(-1, x.shape[-1])[grid.going]
        positions = np.repeat(grid.lengths[:, None] + grid.used, grid.own.shape[4], axis=1)
        states, new = self._model.run(x, grid.going, positions, grid.sees(), grid.shared, grid.own)
        if not last:
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
                grid = grid.choose(parents, more=1)
                found = self.advance(grid, (ids.first(level) + code).ravel(), last=level == ids.levels - 2)
                rows = found.reshape(*code.shape, -1)
        return Sketches(codes, log_probs)

    def begin(self, grid: Grid, codes: Ints) -> tuple[Grid, Floats]:
        """The grid of one empty row continued with given code ids (B, S, levels), and the states (B · S, width)."""
        grid = grid.choose(np.zeros(codes.shape[:2], dtype=np.int64))
        grid.form = self._model.form_vectors(codes)
        states = np.empty(0, dtype=np.float32)
        for level in range(codes.shape[-1]):
            states = self.advance(grid, codes[..., level].ravel())
        return grid, states

    def generate(
        self, grid: Grid, states: Floats, *, limits: Sequence[int], sampling: "Sampling | None" = None
    ) -> list[list[Continuation]]:
        """Finish all rows of a whole grid token by token, greedily but for the last ones, which `sampling` draws.

        `limits` has the most tokens of each input's rows; those that are not finished by then stay as they are.
        """
        inputs, rows = grid.own.shape[2], grid.own.shape[4]
        number, row = np.divmod(np.arange(inputs * rows), rows)  # of the states, (N,)
        most = np.array(limits)
        tokens = np.full((inputs, rows, max(limits) + 1), END)
        log_probs: Floats = np.zeros(tokens.shape, dtype=np.float32)
        lengths = np.repeat(most[:, None] + 1, rows, axis=1)  # without an end, where there is none
        grades: Floats = np.zeros((inputs, rows, 2), dtype=np.float32)
        for step in range(max(limits) + 1):
            best = self._model.next_tokens(states)
            choice = np.zeros_like(row) if sampling is None else sampling.choose(step, best.log_probs, number, row)
            place = np.arange(len(choice)), choice
            tokens[number, row, step] = best.ids[place]
            log_probs[number, row, step] = best.log_probs[place]
            ends = best.ids[place] == END
            lengths[number[ends], row[ends]] = step
            grades[number[ends], row[ends]] = self._model.grade_logits(states[ends])
            going = ~ends & (step < most[number])
            if not going.any():
                break
            grid = grid.keep(going)
            number, row = number[going], row[going]
            states = self.advance(grid, tokens[number, row, step])
        return [
            [
                _continuation(tokens[at].tolist(), log_probs[at].tolist(), int(lengths[at]), limits[at[0]], grades[at])
                for at in ((number, row) for row in range(rows))
            ]
            for number in range(inputs)
        ]


class Sampling:
    """Draws the tokens of each input's last rows with the input's own random numbers, whatever else is in a batch."""

    def __init__(self, seeds: Sequence[int], *, greedy: int, temperature: float, top_p: float) -> None:
        """The first `greedy` rows of each input take the likeliest tokens, those after them are drawn."""
        self._seeds, self._greedy = seeds, greedy
        self._temperature, self._top_p = temperature, top_p

    def choose(self, step: int, log_probs: Floats, number: Ints, row: Ints) -> Ints:
        """Which of the best tokens (N, choices) the rows (N,) of the inputs (N,) take, (N,)."""
        choices = np.arange(log_probs.shape[-1])
        chances = np.zeros(log_probs.shape)
        for place, seed in enumerate(self._seeds):
            chances[number == place] = uniform(random_bits(seed, step, row[number == place][:, None], choices))
        noise = -np.log(-np.log(np.clip(chances, 1e-9, 1 - 1e-7)))
        scores = log_probs / self._temperature
        probabilities = np.exp(scores - scores.max(axis=-1, keepdims=True))
        probabilities /= probabilities.sum(axis=-1, keepdims=True)
        unlikely = probabilities.cumsum(axis=-1) - probabilities >= self._top_p
        drawn = np.where(unlikely, -np.inf, scores + noise).argmax(axis=-1)
        return np.where(row < self._greedy, 0, drawn)


def _continuation(tokens: list[int], log_probs: list[float], length: int, limit: int, grades: Floats) -> Continuation:
    """A row of so many tokens before its end, or without one."""
    finished = length <= limit
    weak, good = grades.tolist()
    return Continuation(tokens[:length], log_probs[: length + finished], finished, (weak, good))
