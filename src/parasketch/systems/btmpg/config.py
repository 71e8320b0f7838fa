"""Settings of BTmPG; `configs/btmpg/small.yaml` explains their values."""

from dataclasses import dataclass, field

from parasketch.config import MOST_LAYERS, MOST_WIDTH, NetworkConfig, above_zero, at_least, at_most, require, shares
from parasketch.generate.requests import MOST_ROUNDS
from parasketch.systems.settings import CorpusConfig, CorpusTrainConfig


@dataclass(frozen=True, kw_only=True)
class ModelConfig(NetworkConfig):
    """The shape of the network."""

    width: int = 192
    """Of the token embeddings, and of the back model."""
    lstm_width: int = 192
    """Of every LSTM; encoders have one in each direction."""
    layers: int = 2
    """Of LSTMs."""
    latent: int = 64
    """Dimensions of z."""
    dropout: float = 0.1
    back_heads: int = 4
    back_ff: int = 768
    back_layers: int = 2
    """Layers of the back model's encoder, and of its decoder."""
    copy_width: int = 64
    """Width of the back model's pointer."""
    rounds: int = 10
    """How often a paraphrase is paraphrased again, unless a call says so."""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, self, "model", "lstm_width layers latent back_heads back_ff back_layers copy_width rounds")
        at_most(MOST_LAYERS, self, "model", "layers back_layers")
        at_most(MOST_WIDTH, self, "model", "lstm_width latent back_heads back_ff copy_width")
        at_most(MOST_ROUNDS, self, "model", "rounds")
        require(self.width % 2 == 0, "model.width", "an even number")
        require(self.width % self.back_heads == 0, "model.width", "a multiple of model.back_heads")


@dataclass(frozen=True, kw_only=True)
class BtmpgTrainConfig(CorpusTrainConfig):
    """How the network learns."""

    batch_size: int = 64
    clip: float = 5.0
    kl_middle: float = 0.1
    kl_slope: float = 0.0125
    """The weight of the KL is (1 + tanh((share - kl_middle) / kl_slope)) / 2."""
    sharpest: float = 10.0
    """One over the temperature that Gumbel samples end with; they begin with 1."""
    sharp_at: float = 0.5
    """The share of the run at which they are as sharp as that."""
    second_round_at: float = 0.2
    """The share of the run from which on the second round is trained too."""
    back_weight: float = 1.0
    """Of getting the source back from the second round's output; 0: there is no second round."""
    free_steps: int = 30
    """Longest output of the second round in tokens: what bounds the memory."""

    def __post_init__(self) -> None:
        super().__post_init__()
        shares(self, "train", "kl_middle second_round_at")
        above_zero(self, "train", "kl_slope sharp_at sharpest")
        at_least(0, self, "train", "back_weight")
        at_least(1, self, "train", "free_steps")


@dataclass(frozen=True, kw_only=True)
class BtmpgConfig(CorpusConfig):
    """A whole experiment with BTmPG."""

    model: ModelConfig = field(default_factory=ModelConfig)
    train: BtmpgTrainConfig = field(default_factory=BtmpgTrainConfig)
