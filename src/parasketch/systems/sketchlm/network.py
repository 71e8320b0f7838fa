"""Source tokens, then codes, then target tokens, in one causal language model.

    <start> source ... <sketch> q1 q2 q3 target ... <end>

The state at `<sketch>` predicts q1, the state at q1 predicts q2, and so on: the sketch predictor is the model itself. A
code that is not given, by depth dropout in training or by a truncated sketch in use, is the code "none" of its level.
Codes are ids above those of the vocabulary, so that a sequence is one row of ids. As in HRQ-VAE, the form is the sum of
its codes' vectors, and the decoder sees it at every place: it is added to the input from the last code on.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from parasketch.model.language_model import LanguageModel
from parasketch.systems.sketchlm.base import BaseTokenizer, load_base
from parasketch.systems.sketchlm.config import KIND, SketchLMShape
from parasketch.systems.sketchlm.form import FormEncoder

if TYPE_CHECKING:
    from parasketch.model.storage import StoredModel

START, END = 0, 2
"""The ids of <|endoftext|>, which begins a row, and <|im_end|>, which ends a target."""
_FORM_SCALE = 0.1
"""Forms must not outshout the tokens they are added to, and learn slowly: with 1 the base forgot its English."""


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


@dataclass(eq=False)  # not frozen: Fabric looks through what goes into and comes out of a network
class Rows:
    """Sequences of ids, padded on the right, and what each position has to predict."""

    ids: Tensor  # (B, T)
    shown: Tensor  # (B, levels) the ids of the codes
    form_from: Tensor  # (B,) the place of the last code
    target_at: Tensor  # (N,) flat positions whose next token is a target's
    targets: Tensor  # (N,)
    code_at: list[Tensor]  # by level: flat positions that predict its code
    codes: list[Tensor]

    def to(self, device: torch.device) -> "Rows":
        """The same rows on another device."""
        return Rows(
            self.ids.to(device),
            self.shown.to(device),
            self.form_from.to(device),
            self.target_at.to(device),
            self.targets.to(device),
            [each.to(device) for each in self.code_at],
            [each.to(device) for each in self.codes],
        )

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
            torch.tensor([ids.of(example.sketch[: example.depth]) for example in examples]),
            torch.tensor([len(example.source) + 1 + ids.levels for example in examples]),
            torch.tensor(at),
            torch.tensor(targets),
            [torch.tensor(each, dtype=torch.long) for each in code_at],
            [torch.tensor(each, dtype=torch.long) for each in codes],
        )


@dataclass(frozen=True)
class Example:
    """A source and a target with its sketch, of which `depth` codes are shown."""

    source: list[int]
    target: list[int]
    sketch: tuple[int, ...]
    depth: int

    def ids(self, ids: SketchIds) -> list[int]:
        """The whole row."""
        return [START, *self.source, ids.sketch, *ids.of(self.sketch[: self.depth]), *self.target, END]


@dataclass(eq=False)
class Losses:
    """Mean negative log-likelihoods of target tokens and of codes by level (0 where a batch has none)."""

    target: Tensor
    codes: list[Tensor]


class SketchLM(nn.Module):
    """A language model with codes among its tokens, and what gives a sentence its codes.

    The base is not among its weights: what is stored is what was trained.
    """

    kind: ClassVar[str] = KIND

    def __init__(self, config: SketchLMShape) -> None:
        super().__init__()
        self.config = config
        self.ids = SketchIds(config.base.vocabulary, config.levels, config.codes)
        self.language_model = LanguageModel(config.base, rank=config.rank, scale=config.scale)
        width = config.base.width
        self.code_embedding = nn.Parameter(torch.empty(self.ids.count, width).normal_(std=0.1))
        self.form_embedding = nn.Parameter(torch.zeros(self.ids.count, width))
        self.code_output = nn.Parameter(torch.zeros(config.levels, config.codes, width))
        self.form = FormEncoder(width=config.form_width, levels=config.levels, codes=config.codes)

    @classmethod
    def load(cls, stored: "StoredModel") -> tuple[Self, BaseTokenizer]:
        """The network of a model directory on the base of this machine, and its tokeniser."""
        with torch.random.fork_rng(devices=[]):  # random numbers are drawn and overwritten: nobody else may notice
            network = cls(stored.read_config(SketchLMShape))
        tokenizer = load_base(network.language_model)
        return stored.fill(network), tokenizer

    def embed(self, ids: Tensor) -> Tensor:
        """Input vectors (..., width) of ids (...), of tokens and of codes."""
        vocabulary = self.ids.vocabulary
        is_code = ids >= vocabulary
        vectors = F.embedding(ids.masked_fill(is_code, 0), self.language_model.embedding)
        return torch.where(
            is_code[..., None], F.embedding((ids - vocabulary).clamp(min=0), self.code_embedding), vectors
        )

    def form_vectors(self, codes: Tensor) -> Tensor:
        """The sum (..., width) of the vectors of codes given as ids (..., levels)."""
        return _FORM_SCALE * F.embedding(codes - self.ids.vocabulary, self.form_embedding).sum(dim=-2)

    def states(self, rows: Rows) -> Tensor:
        """Final states (B · T, width) of all places."""
        places = torch.arange(rows.ids.shape[1], device=rows.ids.device)
        has_form = (places >= rows.form_from[:, None])[..., None]  # (B, T, 1)
        x = self.embed(rows.ids) + has_form * self.form_vectors(rows.shown)[:, None]
        return cast(Tensor, self.language_model(x)).flatten(0, 1)

    def forward(self, rows: Rows) -> Losses:
        """Losses of a batch."""
        states = self.states(rows)
        target = F.cross_entropy(self.language_model.logits(states[rows.target_at]), rows.targets)
        codes = [
            F.cross_entropy(self.code_logits(states[at], level), wanted) if len(at) else states.new_zeros(())
            for level, (at, wanted) in enumerate(zip(rows.code_at, rows.codes, strict=True))
        ]
        return Losses(target, codes)

    def code_logits(self, states: Tensor, level: int) -> Tensor:
        """Logits (..., K) of a level's codes given states (..., width)."""
        return F.linear(states, self.code_output[level])
