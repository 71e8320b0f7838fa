"""BTmPG as something to train: three losses a step, and what grows and falls in the course of a run."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from parasketch.systems.btmpg.config import BtmpgConfig, BtmpgTrainConfig
from parasketch.systems.btmpg.engine import BtmpgEngine
from parasketch.systems.btmpg.network import BTmPG
from parasketch.systems.corpus import CorpusTask
from parasketch.systems.dev import GREEDY
from parasketch.systems.recurrent.pairs import SequenceExamples, SequencePairs, without_begin
from parasketch.train.task import DevResult, Loss


def kl_weight(share: float, config: BtmpgTrainConfig) -> float:
    """Rises from 0 to 1 around the middle, as a tanh."""
    return 0.5 * (1 + math.tanh((share - config.kl_middle) / config.kl_slope))


def sharpness(share: float, config: BtmpgTrainConfig) -> float:
    """One over the temperature of the samples of round 2: grows exponentially from 1."""
    return float(config.sharpest ** min(1.0, share / config.sharp_at))


def opening_weights(openings: Tensor) -> Tensor:
    """What the first token's loss counts for, log2(2 N / c), (N,): the more, the rarer it is among the N of a batch."""
    _, place, counts = torch.unique(openings, return_inverse=True, return_counts=True)
    return torch.log2(2 * len(openings) / counts[place].float())


class BtmpgTask(CorpusTask[SequencePairs]):
    kind = BTmPG.kind
    config_type = BtmpgConfig
    config: BtmpgConfig
    network: BTmPG

    def make_network(self) -> BTmPG:
        return BTmPG(self.config.model, mask_id=self.tokenizer.mask_id)

    def examples(self) -> SequenceExamples:
        return SequenceExamples(self.prepared, seed=self.config.train.seed)

    def loss(self, forward: Callable[..., Any], batch: SequencePairs, share: float) -> Loss:
        settings, count = self.config.train, len(batch.targets.layout.lengths)
        twice = settings.back_weight > 0 and share >= settings.second_round_at
        sharp = sharpness(share, settings) if twice else None
        output = forward(batch, sharpness=sharp, free_steps=settings.free_steps)
        nll = -output.log_likelihood
        starts = torch.from_numpy(batch.targets.layout.starts).to(nll.device)
        weights = torch.ones_like(nll).index_copy(0, starts, opening_weights(batch.targets.tokens[starts]).to(nll))
        value = (nll * weights).sum() / count
        value = value + kl_weight(share, settings) * output.divergence.mean() - output.back.sum() / count
        terms = {"nll": nll.mean(), "kl": output.divergence.mean(), "back": -output.back.mean()}
        if output.back_again is not None:
            value = value - settings.back_weight * output.back_again.sum() / count
            terms["back_again"] = -output.back_again.mean()
        return Loss(value, {name: term.detach() for name, term in terms.items()})

    def schedule(self, share: float) -> dict[str, float]:
        settings = self.config.train
        return {"kl_weight": kl_weight(share, settings), "sharpness": sharpness(share, settings)}

    def evaluate(self) -> DevResult | None:
        """What the last round says, as it would be used; the first round's iBLEU; the likelihood of the references."""
        if not self.dev:
            return None
        network, dev, device = self.network, self.dev_items, self.network.embedding.weight.device
        engine = BtmpgEngine(network, self.tokenizer, GREEDY, device=device)
        rounds = engine.write(engine.prepare(dev.inputs), rounds=self.config.model.rounds, seed=self.config.train.seed)
        source = network.encode(without_begin(dev.sources).to(device))
        mean = torch.zeros(len(dev.inputs), self.config.model.latent, device=device)
        metrics = dev.scores(rounds[-1]) | {"first_round_ibleu": dev.scores(rounds[0])["ibleu"]}
        metrics["nll"] = dev.nll(network.log_likelihood(source, mean, dev.targets.to(device)))
        return dev.result(rounds[-1], metrics)
