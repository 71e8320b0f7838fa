"""The network of the VAE: mean and log-variance of the vector, each by a pooling of its own."""

import torch
from torch import Tensor

from parasketch.model.bottlenecks import divergence
from parasketch.model.pooling import AttentionPooling
from parasketch.model.ragged import Layout
from parasketch.systems.pooled.config import PooledModelConfig
from parasketch.systems.pooled.network import Latent, PooledNetwork


class VAE(PooledNetwork):
    kind = "vae"

    def __init__(self, config: PooledModelConfig, *, mask_id: int) -> None:
        super().__init__(config, mask_id=mask_id)
        sizes = {"input_width": config.width, "width": config.width, "heads": config.pool_heads}
        self.mean = AttentionPooling(**sizes, dropout=config.dropout)
        self.log_variance = AttentionPooling(**sizes, dropout=config.dropout)

    def squeeze(self, states: Tensor, layout: Layout) -> Latent:
        mean, log_variance = self.mean(states, layout).float(), self.log_variance(states, layout).float()
        deviation = (0.5 * log_variance).exp()
        vector = mean + torch.randn_like(mean) * deviation if self.training else mean
        return Latent(vector, {"kl": divergence(mean, log_variance)}, deviation)
