"""Settings that several systems share, apart from their shapes: training on a prepared corpus, and a KL term."""

from dataclasses import dataclass, field
from typing import Literal

from parasketch.config import Config, DataConfig, NetworkConfig, TrainConfig, at_least, require, shares


@dataclass(frozen=True, kw_only=True)
class CorpusTrainConfig(TrainConfig):
    """The training settings of these systems."""

    embeddings: str | None = None
    """A safetensors file with one matrix (vocabulary, width) to start the token embeddings from, such as BERT's."""
    evaluation_items: int = 400
    """How many dev items are looked at each time."""
    select_by: Literal["ibleu", "loss"] = "ibleu"
    """The best checkpoint has the highest dev iBLEU as it would be used, or the lowest dev loss."""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, self, "train", "evaluation_items")


@dataclass(frozen=True, kw_only=True)
class CorpusConfig(Config):
    """The sections of these systems; each narrows `model` and `train` to its own."""

    data: DataConfig = field(default_factory=DataConfig)
    model: NetworkConfig = field(default_factory=NetworkConfig)
    train: CorpusTrainConfig = field(default_factory=CorpusTrainConfig)


@dataclass(frozen=True, kw_only=True)
class KlConfig:
    """How strongly a Gaussian is drawn to the standard normal, and from when on."""

    kl_weight: float = 0.1
    kl_start: float = 0.05
    kl_end: float = 0.10
    """The weight of the KL rises from 0 to `kl_weight` between these shares of the run."""

    def check_kl(self) -> None:
        """Require values that make sense."""
        at_least(0, self, "train", "kl_weight")
        shares(self, "train", "kl_start kl_end")
        require(self.kl_start <= self.kl_end, "train.kl_start, train.kl_end", "0 <= start <= end <= 1")


def kl_weight(share: float, config: KlConfig) -> float:
    """0 until `kl_start`, then a straight line to the full weight at `kl_end`."""
    if share < config.kl_start:
        return 0.0
    if share >= config.kl_end:
        return config.kl_weight
    return config.kl_weight * (share - config.kl_start) / (config.kl_end - config.kl_start)
