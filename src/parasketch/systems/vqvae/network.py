"""The network of the VQ-VAE: product quantisation of the pooled vector."""

from dataclasses import dataclass

from torch import Tensor

from parasketch.config import at_least, require
from parasketch.model.ema_quantizer import EmaQuantizer
from parasketch.model.pooling import AttentionPooling
from parasketch.model.ragged import Layout
from parasketch.systems.pooled.config import PooledModelConfig
from parasketch.systems.pooled.network import Latent, PooledNetwork


@dataclass(frozen=True, kw_only=True)
class ModelConfig(PooledModelConfig):
    """The shape of the network."""

    code_heads: int = 16
    """Slices of the vector, each quantised by itself."""
    codes: int = 256
    """K, the number of codes a head."""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, self, "model", "code_heads")
        at_least(2, self, "model", "codes")
        require(self.width % self.code_heads == 0, "model.width", "a multiple of model.code_heads")


class VQVAE(PooledNetwork):
    kind = "vqvae"
    config_type = ModelConfig
    config: ModelConfig

    def __init__(self, config: ModelConfig, *, mask_id: int) -> None:
        super().__init__(config, mask_id=mask_id)
        self.pooling = AttentionPooling(
            input_width=config.width, width=config.width, heads=config.pool_heads, dropout=config.dropout
        )
        self.quantizer = EmaQuantizer(width=config.width, heads=config.code_heads, codes=config.codes)

    def squeeze(self, states: Tensor, layout: Layout) -> Latent:
        quantised = self.quantizer(self.pooling(states, layout).float())
        return Latent(quantised.vector, {"commitment": quantised.loss})
