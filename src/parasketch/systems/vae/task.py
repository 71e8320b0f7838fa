"""The VAE as something to train: token likelihood, and a KL whose weight rises."""

from dataclasses import dataclass, field

from parasketch.systems.pooled.config import PooledConfig
from parasketch.systems.pooled.task import PooledTask
from parasketch.systems.settings import CorpusTrainConfig, KlConfig, kl_weight
from parasketch.systems.vae.network import VAE


@dataclass(frozen=True, kw_only=True)
class VaeTrainConfig(KlConfig, CorpusTrainConfig):
    """How the network learns."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_kl()


@dataclass(frozen=True, kw_only=True)
class VaeConfig(PooledConfig):
    """A whole experiment with the VAE."""

    train: VaeTrainConfig = field(default_factory=VaeTrainConfig)


class VaeTask(PooledTask):
    kind = VAE.kind
    config_type = VaeConfig
    config: VaeConfig
    network: VAE

    def make_network(self) -> VAE:
        return VAE(self.config.model, mask_id=self.tokenizer.mask_id)

    def penalty_weights(self, share: float) -> dict[str, float]:
        return {"kl": kl_weight(share, self.config.train)}

    def schedule(self, share: float) -> dict[str, float]:
        return {"kl_weight": kl_weight(share, self.config.train)}
