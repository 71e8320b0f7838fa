"""The settings of HRQ-VAE beside those that every system has."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from parasketch.config import (
    MOST_LAYERS,
    MOST_RATE,
    MOST_WIDTH,
    TransformerConfig,
    above_zero,
    at_least,
    at_most,
    load_config,
    require,
    shares,
)
from parasketch.systems.settings import CorpusConfig, CorpusTrainConfig, KlConfig

KIND = "hrqvae"


@dataclass(frozen=True, kw_only=True)
class ModelConfig(TransformerConfig):
    """The shape of the network."""

    split_encoding: bool = False
    """Meaning reads the first `meaning_width` dimensions of the encoder, form the rest (paper); else both read all."""
    meaning_width: int = 256
    form_width: int = 192
    form_heads: int = 4
    levels: int = 3
    """D, the number of codes in a sketch."""
    codes: int = 16
    """K, the number of codes a level."""
    depth_dropout: float = 0.3
    init_gain: float = 6.0
    init_decay: float = 0.5
    """Initialisation decay: scale of each level's codes relative to the level above."""
    gaussian_form: bool = False
    """While the form is not quantised it is a sample of a Gaussian, with a KL of its own (an ablation of the paper)."""
    predictor_width: int = 256
    predictor_heads: int = 4
    predictor_hidden: int = 512
    predictor_dropout: float = 0.1
    predictor_conditioning: Literal["previous", "cumulative"] = "cumulative"
    """What a level of the sketch predictor sees of the path: the last code only (reference) or all of it (paper)."""
    copy_head: bool = True
    """A pointer over the source tokens, for names and numbers."""
    copy_width: int = 128

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, self, "model", "meaning_width form_width form_heads levels")
        at_least(1, self, "model", "predictor_width predictor_heads predictor_hidden copy_width")
        at_least(2, self, "model", "codes")
        at_most(MOST_LAYERS, self, "model", "levels")
        at_most(MOST_WIDTH, self, "model", "codes meaning_width form_width predictor_width predictor_hidden copy_width")
        shares(self, "model", "depth_dropout predictor_dropout")
        require(self.form_width % self.form_heads == 0, "model.form_width", "a multiple of model.form_heads")
        require(
            self.predictor_width % self.predictor_heads == 0,
            "model.predictor_width",
            "a multiple of model.predictor_heads",
        )
        require(
            not self.split_encoding or self.meaning_width + self.form_width == self.width,
            "model.meaning_width + model.form_width",
            "model.width, with split_encoding",
        )


@dataclass(frozen=True, kw_only=True)
class HrqVaeTrainConfig(KlConfig, CorpusTrainConfig):
    """How the network learns."""

    predictor_learning_rate: float = 1.5e-3
    predictor_betas: tuple[float, float] = (0.9, 0.999)
    temperature: float = 2.0
    temperature_floor: float = 1.0
    temperature_scale: float = 0.05
    """Gumbel temperature: max(2 - 2 / (1 + exp(-t / scale)), floor / start) times the start, t the share of the run."""
    kmeans_at: float | None = 0.06
    """Until this share of the run the decoder reads the form itself; then k-means on real forms sets the codebooks."""
    posthoc: bool = False
    """At `kmeans_at` the network is frozen, and only the sketch predictor learns from then on (an ablation)."""
    form_length: float = 8.0
    """Typical length that forms get when k-means sets the codebooks; the Gumbel noise has length about 1."""
    revive_below: float = 0.1
    """Codes used less than this times their fair share are re-seeded now and then; 0 switches it off."""
    imbalance_weight: float = 0.2
    """Weight of the KL between the mean choice of codes in a batch and the uniform one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_kl()
        at_least(0, self, "train", "predictor_learning_rate revive_below imbalance_weight")
        at_most(MOST_RATE, self, "train", "predictor_learning_rate")
        shares(self, "train", "kmeans_at")
        require(not self.posthoc or self.kmeans_at is not None, "train.kmeans_at", "a share, for train.posthoc")
        above_zero(self, "train", "temperature temperature_floor temperature_scale form_length")


@dataclass(frozen=True, kw_only=True)
class HrqVaeConfig(CorpusConfig):
    """A whole experiment with HRQ-VAE."""

    model: ModelConfig = field(default_factory=ModelConfig)
    train: HrqVaeTrainConfig = field(default_factory=HrqVaeTrainConfig)


def load_preset(name_or_path: str, overrides: Sequence[str] | None = None) -> HrqVaeConfig:
    """A preset of HRQ-VAE, or a YAML file, with `section.key=value` overrides on top."""
    return load_config(HrqVaeConfig, KIND, name_or_path, overrides)
