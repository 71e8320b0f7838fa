"""Settings that the systems with one vector a sentence have in common."""

from dataclasses import dataclass, field

from parasketch.config import TransformerConfig, at_least, require
from parasketch.systems.settings import CorpusConfig


@dataclass(frozen=True, kw_only=True)
class PooledModelConfig(TransformerConfig):
    """The shape of the network."""

    pool_heads: int = 4
    """Heads of the attention pooling that makes one vector of a sentence."""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, self, "model", "pool_heads")
        require(self.width % self.pool_heads == 0, "model.width", "a multiple of model.pool_heads")


@dataclass(frozen=True, kw_only=True)
class PooledConfig(CorpusConfig):
    """The sections; each system narrows them to its own."""

    model: PooledModelConfig = field(default_factory=PooledModelConfig)
