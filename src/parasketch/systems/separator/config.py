"""The settings of Separator beside those that every system has."""

from dataclasses import dataclass, field

from parasketch.config import MOST_WIDTH, at_least, at_most, require, shares
from parasketch.systems.pooled.config import PooledModelConfig
from parasketch.systems.settings import CorpusConfig, CorpusTrainConfig, KlConfig


@dataclass(frozen=True, kw_only=True)
class ModelConfig(PooledModelConfig):
    """The shape of the network."""

    meaning_width: int = 192
    """The first so many dimensions of the vector are the meaning, the rest is the form."""
    code_heads: int = 4
    """Slices of the form, each quantised by itself."""
    codes: int = 256
    """K, the number of codes a head."""
    predictor_hidden: int = 512
    """Inner width of the code predictor, which has two hidden layers."""
    predictor_dropout: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, self, "model", "meaning_width code_heads predictor_hidden")
        at_least(2, self, "model", "codes")
        at_most(MOST_WIDTH, self, "model", "codes predictor_hidden")
        shares(self, "model", "predictor_dropout")
        require(self.meaning_width < self.width, "model.meaning_width", "less than model.width")
        require(self.form_width % self.code_heads == 0, "model.width - model.meaning_width", "a multiple of code_heads")

    @property
    def form_width(self) -> int:
        """Dimensions of the form."""
        return self.width - self.meaning_width


@dataclass(frozen=True, kw_only=True)
class SeparatorTrainConfig(KlConfig, CorpusTrainConfig):
    """How the network learns."""

    predictor_at: float = 0.8
    """From this share of the run on the network stays as it is, and the code predictor learns."""
    predictor_learning_rate: float = 1.5e-3
    predictor_betas: tuple[float, float] = (0.9, 0.999)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_kl()
        at_least(0, self, "train", "predictor_learning_rate")
        require(0 < self.predictor_at < 1, "train.predictor_at", "between 0 and 1")


@dataclass(frozen=True, kw_only=True)
class SeparatorConfig(CorpusConfig):
    """A whole experiment with Separator."""

    model: ModelConfig = field(default_factory=ModelConfig)
    train: SeparatorTrainConfig = field(default_factory=SeparatorTrainConfig)
