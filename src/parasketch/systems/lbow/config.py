"""Settings of LBoW; `configs/lbow/small.yaml` explains their values."""

from dataclasses import dataclass, field
from typing import Literal

from parasketch.config import MOST_LAYERS, MOST_WIDTH, NetworkConfig, above_zero, at_least, at_most
from parasketch.systems.settings import CorpusConfig, CorpusTrainConfig


@dataclass(frozen=True, kw_only=True)
class ModelConfig(NetworkConfig):
    """The shape of the network."""

    layers: int = 2
    """Residual LSTM layers of the encoder, and of the decoder."""
    dropout: float = 0.1
    """Of what every LSTM layer says."""
    neighbours: int = 3
    """Predictors, each of which names a neighbour of every word of the source."""
    slots: int = 12
    """k, how many words of the bag the decoder sees; 0: none, a plain model with attention."""
    choice: Literal["topk", "gumbel"] = "topk"
    """`topk`: the k words with the largest weights; `gumbel`: of noisy weights, so that several bags can be drawn."""
    gumbel_temperature: float = 0.5
    """Of the noisy weights in training, for choice: gumbel."""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, self, "model", "layers neighbours")
        at_least(0, self, "model", "slots")
        at_most(MOST_LAYERS, self, "model", "layers neighbours")
        at_most(MOST_WIDTH, self, "model", "slots")
        above_zero(self, "model", "gumbel_temperature")


@dataclass(frozen=True, kw_only=True)
class LbowTrainConfig(CorpusTrainConfig):
    """How the network learns."""

    batch_size: int = 64
    bag_weight: float = 1.0
    """Of the bag's loss; 0: the bag has to find its words by itself."""
    bag_words: int = 30
    """At most so many words of the other paraphrases are a source's bag, those of most paraphrases first."""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(0, self, "train", "bag_weight")
        at_least(1, self, "train", "bag_words")


@dataclass(frozen=True, kw_only=True)
class LbowConfig(CorpusConfig):
    """A whole experiment with LBoW."""

    model: ModelConfig = field(default_factory=ModelConfig)
    train: LbowTrainConfig = field(default_factory=LbowTrainConfig)
