"""The network of the AE: the pooled vector as it is."""

from torch import Tensor

from parasketch.model.pooling import AttentionPooling
from parasketch.model.ragged import Layout
from parasketch.systems.pooled.config import PooledModelConfig
from parasketch.systems.pooled.network import Latent, PooledNetwork


class AE(PooledNetwork):
    kind = "ae"

    def __init__(self, config: PooledModelConfig, *, mask_id: int) -> None:
        super().__init__(config, mask_id=mask_id)
        self.pooling = AttentionPooling(
            input_width=config.width, width=config.width, heads=config.pool_heads, dropout=config.dropout
        )

    def squeeze(self, states: Tensor, layout: Layout) -> Latent:
        return Latent(self.pooling(states, layout))
