"""The VQ-VAE as something to train: token likelihood, commitment, and codebooks that follow by a moving average."""

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from parasketch.systems.pooled.config import PooledConfig
from parasketch.systems.pooled.task import PooledTask, add_up, code_health
from parasketch.systems.vqvae.network import VQVAE, ModelConfig

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@dataclass(frozen=True, kw_only=True)
class VqVaeConfig(PooledConfig):
    """A whole experiment with the VQ-VAE."""

    model: ModelConfig = field(default_factory=ModelConfig)


class VqVaeTask(PooledTask):
    kind = VQVAE.kind
    config_type = VqVaeConfig
    config: VqVaeConfig
    network: VQVAE

    def make_network(self) -> VQVAE:
        return VQVAE(self.config.model, mask_id=self.tokenizer.mask_id)

    def after_step(self, step: int, fabric: "Fabric") -> None:
        del step
        self.network.quantizer.update(partial(add_up, fabric))

    def health(self) -> dict[str, float]:
        return code_health(self.network.quantizer)
