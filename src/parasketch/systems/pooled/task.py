"""Training of the systems with one vector a sentence: pairs, token likelihood, and what the bottleneck asks for."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from parasketch.generate.torch_backend import TransformerDecoding
from parasketch.model.ema_quantizer import EmaQuantizer
from parasketch.model.likelihood import mean_by_sentence
from parasketch.systems.corpus import CorpusTask
from parasketch.systems.pooled.config import PooledConfig
from parasketch.systems.pooled.network import PooledNetwork
from parasketch.systems.pooled.pairs import PairBatch, PairExamples
from parasketch.train.task import DevResult, Loss

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class PooledTask(CorpusTask[PairBatch]):
    """Learns to say the target from the source's vector."""

    config: PooledConfig
    network: PooledNetwork

    def examples(self) -> PairExamples:
        return PairExamples(self.prepared, seed=self.config.train.seed)

    def loss(self, forward: Callable[..., Any], batch: PairBatch, share: float) -> Loss:
        output = forward(batch)
        nll = -mean_by_sentence(output.log_likelihood, batch.decoder_input.layout)
        return add_penalties(nll, output.penalties, self.penalty_weights(share))

    def penalty_weights(self, share: float) -> dict[str, float]:
        """What each penalty of the bottleneck counts for when this share of the run is done; 1 if not told."""
        del share
        return {}

    def evaluate(self) -> DevResult | None:
        """Greedy outputs, and the likelihood of the references."""
        if not self.dev:
            return None
        dev, device = self.dev_items, self.network.embedding.weight.device
        vectors = self.network.encode(dev.sources.to(device)).vector
        outputs = dev.write(TransformerDecoding(self.network, self.network.start(vectors)))
        nll = dev.nll(self.network.log_likelihood(vectors, dev.targets.to(device)))
        return dev.result(outputs, {**dev.scores(outputs), "nll": nll})


def add_penalties(nll: Tensor, penalties: dict[str, Tensor], weights: dict[str, float]) -> Loss:
    """The loss of a batch: the likelihood, and the mean of each penalty (B,) times its weight."""
    terms = {"nll": nll} | {name: penalty.mean() for name, penalty in penalties.items()}
    value = nll + sum(weights.get(name, 1.0) * terms[name] for name in penalties)
    return Loss(value, {name: term.detach() for name, term in terms.items()})


def touch(parameters: Iterable[nn.Parameter]) -> Tensor:
    """0, with a gradient of zeros for parameters that a loss leaves out: several processes expect one of all."""
    return 0 * torch.stack([parameter.sum() for parameter in parameters if parameter.requires_grad]).sum()


def add_up(fabric: "Fabric", part: Tensor) -> Tensor:
    """The sum of a tensor over all processes."""
    return cast(Tensor, fabric.all_reduce(part, reduce_op="sum"))


def code_health(quantizer: EmaQuantizer) -> dict[str, float]:
    """How many codes are in use: the mean over the heads, the least, and the share of codes hardly ever chosen."""
    found = quantizer.perplexity()
    return {
        "perplexity": sum(found) / len(found),
        "least_perplexity": min(found),
        "dead_codes": quantizer.dead_share(),
    }
