"""The configuration of the language-model kind: the shape of what is added to the base, and how it is trained."""

from dataclasses import dataclass, field

from parasketch.config import Config, TrainConfig, at_least, require, shares
from parasketch.model.language_model_shape import LanguageModelShape

KIND = "sketchlm"


@dataclass(frozen=True, kw_only=True)
class SketchLMShape:
    """What is trained, and the base that it stands on."""

    base: LanguageModelShape = field(default_factory=LanguageModelShape)
    """The sizes of the pretrained language model."""
    rank: int = 32
    """Of the adapters."""
    scale: float = 2.0
    """What the adapters' output is multiplied by."""
    form_width: int = 24
    """Dimensions of the form before it is quantised."""
    levels: int = 3
    """D, the number of codes of a sketch."""
    codes: int = 16
    """K, the number of codes of a level."""

    def __post_init__(self) -> None:
        at_least(1, self, "model", "rank form_width levels codes")
        require(self.rank <= 256, "model.rank", "at most 256")
        require(self.levels <= 16 and self.codes <= 1024, "model.levels, model.codes", "at most 16 and 1024")


@dataclass(frozen=True, kw_only=True)
class SketchLMTrainConfig(TrainConfig):
    """The training settings of this kind."""

    steps: int = 4_000
    batch_size: int = 12
    """Sources a step on each process, each with its targets: some 12 billion operations a target, so small batches
    fill a CPU."""
    targets_together: int = 3
    """Targets of one source that are learnt in one row, at most: their source is read once."""
    learning_rate: float = 1e-3
    warmup: float = 0.03
    evaluations: int = 8
    start: str | None = None
    """The directory of a model to go on from, with its form and its codes."""
    code_learning_rate: float = 1e-3
    """Peak rate of the codes' own vectors, which start from nothing."""
    code_weight: float = 0.1
    """Of the loss of the codes, beside 1 for that of the target's tokens."""
    contrast_weight: float = 0.5
    """Of telling good targets from weak and wrong ones of the same source, where targets have grades."""
    grade_weight: float = 0.3
    """Of foretelling the grade of a target from its last state."""
    depth_dropout: float = 0.2
    """Each further code of a sketch is dropped with this probability, and with it those after it."""
    form_sentences: int = 40_000
    """How many targets the form is learnt from."""
    max_tokens: int = 100
    """Pairs with more tokens, source and target together, are left out and counted."""
    evaluation_items: int = 200
    """How many dev items are looked at each time."""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(0, self, "train", "code_weight code_learning_rate contrast_weight grade_weight")
        at_least(1, self, "train", "form_sentences max_tokens evaluation_items targets_together")
        shares(self, "train", "depth_dropout")


@dataclass(frozen=True, kw_only=True)
class SketchLMConfig(Config):
    """The sections of this kind."""

    model: SketchLMShape = field(default_factory=SketchLMShape)
    train: SketchLMTrainConfig = field(default_factory=SketchLMTrainConfig)
