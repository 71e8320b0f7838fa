"""The settings of SOW/REAP beside those that every system has."""

from dataclasses import dataclass, field

from parasketch.config import MOST_LAYERS, TransformerConfig, at_least, at_most, require
from parasketch.systems.settings import CorpusConfig, CorpusTrainConfig


@dataclass(frozen=True, kw_only=True)
class ModelConfig(TransformerConfig):
    """The shape of REAP; SOW has the same, but for its layers."""

    sow_layers: int = 2
    """Layers of SOW's encoder, and of its decoder."""
    tags: str = ""
    """Filled in from the parses: the tags of words and the labels of phrases, with spaces between."""
    parser: str = "en_core_web_md"
    """The spaCy model that parses, in training and in use."""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, self, "model", "sow_layers")
        at_most(MOST_LAYERS, self, "model", "sow_layers")
        require(bool(self.parser.strip()), "model.parser", "the name of a spaCy model")

    @property
    def tag_names(self) -> list[str]:
        """The tags, in the order of their numbers; number 0 is for those that are not among them."""
        return self.tags.split()


@dataclass(frozen=True, kw_only=True)
class SowReapTrainConfig(CorpusTrainConfig):
    """How both networks learn, side by side."""

    moved_pairs: int = 2
    """How often a pair whose words move far counts in an epoch."""
    evaluations: int = 10
    evaluation_items: int = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, self, "train", "moved_pairs")


@dataclass(frozen=True, kw_only=True)
class SowReapConfig(CorpusConfig):
    """A whole experiment with SOW/REAP."""

    model: ModelConfig = field(default_factory=ModelConfig)
    train: SowReapTrainConfig = field(default_factory=SowReapTrainConfig)
