"""Source tokens, then codes, then target tokens, in one causal language model.

    <start> source ... <sketch> q1 q2 q3 target ... <end>

The state at `<sketch>` predicts q1, the state at q1 predicts q2, and so on: the sketch predictor is the model itself. A
code that is not given, by depth dropout in training or by a truncated sketch in use, is the code "none" of its level.
Codes are ids above those of the vocabulary, so that a sequence is one row of ids. As in HRQ-VAE, the form is the sum of
its codes' vectors, and the decoder sees it at every place: it is added to the input from the last code on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from parasketch.model.language_model import LanguageModel
from parasketch.model.quantizer import HierarchicalQuantizer
from parasketch.systems.sketchlm.base import BaseTokenizer, base_tokenizer, read_base
from parasketch.systems.sketchlm.config import KIND, SketchLMShape
from parasketch.systems.sketchlm.form import HASHES, FormEncoder, fit_projection, form_vectors
from parasketch.systems.sketchlm.ids import END, FORM_SCALE, START, SketchIds

if TYPE_CHECKING:
    from parasketch.model.storage import StoredModel

GOOD = 2
"""The grade of a target to learn; what has a lower one, 1 for weak and 0 for wrong, is there to be told from it."""
_STEEPNESS, _MARGIN = 4.0, 0.5
"""Of telling good targets from others: what a difference of mean log-probabilities counts, and how large it should be
for each step between their grades."""


@dataclass(frozen=True)
class Target:
    """A target with its sketch, of which `depth` codes are shown."""

    tokens: list[int]
    sketch: tuple[int, ...]
    depth: int
    grade: int = GOOD


@dataclass(frozen=True)
class Example:
    """A source and what it may become: targets that are learnt together, so that their source is read once."""

    source: list[int]
    targets: list[Target]

    def length(self, levels: int) -> int:
        """How many ids its row has; the last token of a target predicts the end, which is not read itself."""
        return len(self.source) + 2 + sum(levels + len(target.tokens) for target in self.targets)


@dataclass(eq=False)  # not frozen: Fabric looks through what goes into and comes out of a network
class Rows:
    """Sequences of ids, padded on the right, and what each position has to predict.

    A row is a tree: its source, then one branch after the other, each of codes and a target. A branch sees its source
    and itself, and counts its positions from the end of the source, as if it were alone.
    """

    ids: Tensor  # (B, T)
    positions: Tensor  # (B, T)
    branches: Tensor  # (B, T) 0 in the source, 1, 2, ... in the branches
    form_of: Tensor  # (B, T) which row of `shown` gives the form, from 1; 0 where there is none
    shown: Tensor  # (targets, levels) the ids of the codes
    source_of: Tensor  # (targets,) the row that each is in
    grades: Tensor  # (targets,)
    target_at: Tensor  # (N,) flat positions whose next token is a target's
    target_of: Tensor  # (N,) which target that is
    end_at: Tensor  # (targets,) flat positions of their last tokens, where their ends are predicted
    targets: Tensor  # (N,) the next tokens
    code_at: list[Tensor]  # by level: flat positions that predict its code
    codes: list[Tensor]

    def to(self, device: torch.device) -> "Rows":
        """The same rows on another device."""
        return Rows(
            self.ids.to(device),
            self.positions.to(device),
            self.branches.to(device),
            self.form_of.to(device),
            self.shown.to(device),
            self.source_of.to(device),
            self.grades.to(device),
            self.target_at.to(device),
            self.target_of.to(device),
            self.end_at.to(device),
            self.targets.to(device),
            [each.to(device) for each in self.code_at],
            [each.to(device) for each in self.codes],
        )

    def sees(self) -> Tensor | None:
        """Which places each place sees, (B, T, T); None where rows have one branch, so that all to the left is seen."""
        if int(self.branches.max()) < 2:
            return None
        causal = torch.ones(2 * self.ids.shape[1:], dtype=torch.bool, device=self.ids.device).tril()
        keys, queries = self.branches[:, None, :], self.branches[:, :, None]
        return causal & ((keys == 0) | (keys == queries))

    @classmethod
    def from_examples(cls, examples: list[Example], ids: SketchIds) -> "Rows":
        """Lay examples out."""
        length = max(example.length(ids.levels) for example in examples)
        row_ids = torch.full((len(examples), length), END)
        positions, branches, form_of = (torch.zeros(len(examples), length, dtype=torch.long) for _ in range(3))
        shown: list[list[int]] = []
        source_of: list[int] = []
        grades: list[int] = []
        at: list[int] = []
        target_of: list[int] = []
        end_at: list[int] = []
        wanted: list[int] = []
        code_at: list[list[int]] = [[] for _ in range(ids.levels)]
        codes: list[list[int]] = [[] for _ in range(ids.levels)]
        for number, example in enumerate(examples):
            start = [START, *example.source, ids.sketch]
            row_ids[number, : len(start)] = torch.tensor(start)
            positions[number, : len(start)] = torch.arange(len(start))
            place = len(start)
            for branch, target in enumerate(example.targets, 1):
                shown.append(ids.of(target.sketch[: target.depth]))
                here = slice(place, place + ids.levels + len(target.tokens))
                row_ids[number, here] = torch.tensor([*shown[-1], *target.tokens])
                positions[number, here] = torch.arange(len(start), len(start) + here.stop - here.start)
                branches[number, here] = branch
                first = place + ids.levels - 1  # the last code predicts the first token
                form_of[number, first : here.stop] = len(shown)
                source_of.append(number)
                grades.append(target.grade)
                at += range(number * length + first, number * length + here.stop)
                target_of += [len(shown) - 1] * (len(target.tokens) + 1)
                end_at.append(at[-1])
                wanted += [*target.tokens, END]
                # A code is predicted from those before it, so the level after the first dropped one is the last.
                for level in range(min(target.depth + 1, ids.levels) if target.grade == GOOD else 0):
                    code_at[level].append(number * length + (place + level - 1 if level else len(start) - 1))
                    codes[level].append(target.sketch[level])
                place = here.stop
            branches[number, place:] = -1
        return cls(
            row_ids,
            positions,
            branches,
            form_of,
            torch.tensor(shown),
            torch.tensor(source_of),
            torch.tensor(grades),
            torch.tensor(at),
            torch.tensor(target_of),
            torch.tensor(end_at),
            torch.tensor(wanted),
            [torch.tensor(each, dtype=torch.long) for each in code_at],
            [torch.tensor(each, dtype=torch.long) for each in codes],
        )


@dataclass(eq=False)
class Losses:
    """Mean negative log-likelihoods of good targets' tokens and of their codes by level, how badly better targets are
    told from worse ones, and that of the targets' grades; 0 where a batch has none."""

    target: Tensor
    codes: list[Tensor]
    contrast: Tensor
    grades: Tensor


class SketchLM(nn.Module):
    """A language model with codes among its tokens, and what gives a sentence its codes.

    The base is not among its weights: what is stored is what was trained.
    """

    kind: ClassVar[str] = KIND
    newer_weights: ClassVar[tuple[str, ...]] = ("grade_output",)

    def __init__(self, config: SketchLMShape) -> None:
        super().__init__()
        self.config = config
        self.ids = SketchIds(config.base.vocabulary, config.levels, config.codes)
        self.language_model = LanguageModel(config.base, rank=config.rank, scale=config.scale)
        width = config.base.width
        self.code_embedding = nn.Parameter(torch.empty(self.ids.count, width).normal_(std=0.1))
        self.form_embedding = nn.Parameter(torch.zeros(self.ids.count, width))
        self.code_output = nn.Parameter(torch.zeros(config.levels, config.codes, width))
        self.grade_output = nn.Parameter(torch.zeros(GOOD, width + 1))
        self.form = TrainedForm(width=config.form_width, levels=config.levels, codes=config.codes)

    @classmethod
    def load(cls, stored: "StoredModel") -> tuple[Self, BaseTokenizer]:
        """The network of a model directory on the base of this machine, and its tokeniser."""
        config = stored.read_config(SketchLMShape)
        network = stored.build(lambda: cls(config), newer=cls.newer_weights)
        return network, load_base(network.language_model)

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
        return FORM_SCALE * F.embedding(codes - self.ids.vocabulary, self.form_embedding).sum(dim=-2)

    def states(self, rows: Rows) -> Tensor:
        """Final states (B · T, width) of all places."""
        forms = F.pad(self.form_vectors(rows.shown), (0, 0, 1, 0))  # the first is none
        x = self.embed(rows.ids) + F.embedding(rows.form_of, forms)
        return cast(Tensor, self.language_model(x, rows.positions, rows.sees())).flatten(0, 1)

    def forward(self, rows: Rows) -> Losses:
        """Losses of a batch."""
        states = self.states(rows)
        logits = self.language_model.logits(states[rows.target_at])
        nll = F.cross_entropy(logits, rows.targets, reduction="none")
        good = rows.grades[rows.target_of] == GOOD
        target = (nll * good).sum() / good.sum().clamp(min=1)
        codes = [
            F.cross_entropy(self.code_logits(states[at], level), wanted) if len(at) else states.new_zeros(())
            for level, (at, wanted) in enumerate(zip(rows.code_at, rows.codes, strict=True))
        ]
        reached = rows.grades[:, None] > torch.arange(GOOD, device=rows.grades.device)
        grades = F.binary_cross_entropy_with_logits(self.grade_logits(states[rows.end_at]), reached.float())
        return Losses(target, codes, _contrast(-nll, rows), grades)

    def code_logits(self, states: Tensor, level: int) -> Tensor:
        """Logits (..., K) of a level's codes given states (..., width)."""
        return F.linear(states, self.code_output[level])

    def grade_logits(self, states: Tensor) -> Tensor:
        """Log-odds (..., 2) that a reader grades a target as weak or better, and as good, given its last state."""
        return F.linear(states, self.grade_output[:, :-1], self.grade_output[:, -1])


class TrainedForm(nn.Module):
    """What was learnt of forms, stored with the network; `FormEncoder` is what uses it."""

    projection: Tensor  # (HASHES, width)

    def __init__(self, *, width: int, levels: int, codes: int) -> None:
        super().__init__()
        self.register_buffer("projection", torch.zeros(HASHES, width))
        self.quantizer = HierarchicalQuantizer(width=width, levels=levels, codes=codes)
        self.quantizer.requires_grad_(False)

    def encoder(self) -> FormEncoder:
        """From sentences to sketches."""
        return FormEncoder(self.projection.cpu().numpy(), self.quantizer.codebooks.detach().cpu().numpy())

    def fit(self, sentences: Sequence[str], *, seed: int = 0) -> None:
        """Learn projection and codebooks from sentences."""
        projection, rows = fit_projection(sentences, self.projection.shape[1], seed=seed)
        self.projection.copy_(torch.from_numpy(projection))
        self.quantizer.fit(torch.from_numpy(form_vectors(rows, projection)), seed=seed)


def load_base(model: LanguageModel) -> BaseTokenizer:
    """Fill the frozen weights of a model, and return the base's tokeniser."""
    weights = read_base({name: tuple(buffer.shape) for name, buffer in model.named_buffers()})
    with torch.no_grad():
        for name, buffer in model.named_buffers():
            buffer.copy_(torch.from_numpy(weights[name]))
    return base_tokenizer()


def _contrast(log_probs: Tensor, rows: Rows) -> Tensor:
    """How far the targets of a source, given the log-probabilities (N,) of their tokens, are from their grades' order.

    As in SimPO (Meng et al., 2024), the mean log-probability of the better one should be larger by a margin. Pairs that
    are further apart count more.
    """
    means = log_probs.new_zeros(len(rows.grades)).index_add(0, rows.target_of, log_probs)
    means = means / rows.target_of.bincount(minlength=len(rows.grades))
    steps = rows.grades[:, None] - rows.grades  # (targets, targets)
    better, worse = ((steps > 0) & (rows.source_of[:, None] == rows.source_of)).nonzero(as_tuple=True)
    apart = steps[better, worse]
    missing = F.softplus(_MARGIN * apart - _STEEPNESS * (means[better] - means[worse]))
    return (missing * apart).sum() / apart.sum().clamp(min=1)
