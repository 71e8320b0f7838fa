"""The AE as something to train: token likelihood and nothing else."""

from parasketch.systems.ae.network import AE
from parasketch.systems.pooled.config import PooledConfig
from parasketch.systems.pooled.task import PooledTask


class AeTask(PooledTask):
    kind = AE.kind
    config_type = PooledConfig
    network: AE

    def make_network(self) -> AE:
        return AE(self.config.model, mask_id=self.tokenizer.mask_id)
