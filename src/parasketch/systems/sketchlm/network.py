"""Source tokens, then codes, then target tokens, in one causal language model.

    <start> source ... <sketch> q1 q2 q3 target ... <end>

The state at `<sketch>` predicts q1, the state at q1 predicts q2, and so on: the sketch predictor is the model itself. A
code that is not given, by depth dropout in training or by a truncated sketch in use, is the code "none" of its level.
Codes are ids above those of the vocabulary, so that a sequence is one row of ids.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from parasketch.model.language_model import LanguageModel, LanguageModelShape

START, END = 0, 2
"""The ids of <|endoftext|>, which begins a row, and <|im_end|>, which ends a target."""


@dataclass(frozen=True)
class SketchIds:
    """Which ids the codes have: `<sketch>` first, then the codes of each level with "none" as the last of its level."""

    vocabulary: int
    levels: int
    codes: int

    @property
    def sketch(self) -> int:
        """The id that asks for a sketch."""
        return self.vocabulary

    @property
    def count(self) -> int:
        """How many ids there are above the vocabulary."""
        return 1 + self.levels * (self.codes + 1)

    def of(self, sketch: tuple[int, ...]) -> list[int]:
        """The ids of a sketch; a short one is filled up with "none"."""
        filled = [*sketch, *[self.codes] * (self.levels - len(sketch))]
        return [self.first(level) + code for level, code in enumerate(filled)]

    def first(self, level: int) -> int:
        """The id of code 0 of a level (from 0)."""
        return self.vocabulary + 1 + level * (self.codes + 1)


@dataclass(frozen=True)
class Rows:
    """Sequences of ids, padded on the right, and what each position has to predict."""

    ids: Tensor  # (B, T)
    target_at: Tensor  # (N,) flat positions whose next token is a target's
    targets: Tensor  # (N,)
    code_at: list[Tensor]  # by level: flat positions that predict its code
    codes: list[Tensor]

    @classmethod
    def from_examples(cls, examples: list["Example"], ids: SketchIds) -> "Rows":
        """Lay examples out."""
        rows = [example.ids(ids) for example in examples]
        length = max(map(len, rows))
        at: list[int] = []
        targets: list[int] = []
        code_at: list[list[int]] = [[] for _ in range(ids.levels)]
        codes: list[list[int]] = [[] for _ in range(ids.levels)]
        for number, (example, row) in enumerate(zip(examples, rows, strict=True)):
            start = number * length + len(example.source) + 1  # the place of <sketch>
            if example.sketch is not None:
                # A code is predicted from those before it, so the level after the first dropped one is the last.
                for level in range(min(example.depth + 1, ids.levels)):
                    code_at[level].append(start + level)
                    codes[level].append(example.sketch[level])
            first = start + ids.levels
            at += range(first, first + len(example.target) + 1)
            targets += [*example.target, END]
            rows[number] = row + [END] * (length - len(row))
        return cls(
            torch.tensor(rows),
            torch.tensor(at),
            torch.tensor(targets),
            [torch.tensor(each, dtype=torch.long) for each in code_at],
            [torch.tensor(each, dtype=torch.long) for each in codes],
        )


@dataclass(frozen=True)
class Example:
    """A source and a target with its sketch, if known, of which `depth` codes are shown."""

    source: list[int]
    target: list[int]
    sketch: tuple[int, ...] | None
    depth: int

    def ids(self, ids: SketchIds) -> list[int]:
        """The whole row."""
        shown = () if self.sketch is None else self.sketch[: self.depth]
        return [START, *self.source, ids.sketch, *ids.of(shown), *self.target, END]


@dataclass(frozen=True)
class Losses:
    """Mean negative log-likelihoods of target tokens and of codes by level (0 where a batch has none)."""

    target: Tensor
    codes: list[Tensor]


class SketchLM(nn.Module):
    """A language model with codes among its tokens."""

    def __init__(
        self, shape: LanguageModelShape, *, levels: int = 3, codes: int = 16, rank: int = 32, scale: float = 2.0
    ) -> None:
        super().__init__()
        self.ids = SketchIds(shape.vocabulary, levels, codes)
        self.language_model = LanguageModel(shape, rank=rank, scale=scale)
        self.code_embedding = nn.Parameter(torch.empty(self.ids.count, shape.width).normal_(std=0.1))
        self.code_output = nn.Parameter(torch.zeros(levels, codes, shape.width))

    def embed(self, ids: Tensor) -> Tensor:
        """Input vectors (..., width) of ids (...), of tokens and of codes."""
        vocabulary = self.ids.vocabulary
        is_code = ids >= vocabulary
        vectors = F.embedding(ids.masked_fill(is_code, 0), self.language_model.embedding)
        return torch.where(
            is_code[..., None], F.embedding((ids - vocabulary).clamp(min=0), self.code_embedding), vectors
        )

    def forward(self, rows: Rows) -> Losses:
        """Losses of a batch."""
        states = self.language_model(self.embed(rows.ids)).flatten(0, 1)  # (B · T, width)
        target = F.cross_entropy(F.linear(states[rows.target_at], self.language_model.embedding), rows.targets)
        codes = [
            F.cross_entropy(self.code_logits(states[at], level), wanted) if len(at) else states.new_zeros(())
            for level, (at, wanted) in enumerate(zip(rows.code_at, rows.codes, strict=True))
        ]
        return Losses(target, codes)

    def code_logits(self, states: Tensor, level: int) -> Tensor:
        """Logits (..., K) of a level's codes given states (..., width)."""
        return F.linear(states, self.code_output[level])

    def trained(self) -> dict[str, Tensor]:
        """What training changes, by name: adapters and codes; the base is not among it."""
        return {name: value for name, value in self.named_parameters() if value.requires_grad}
