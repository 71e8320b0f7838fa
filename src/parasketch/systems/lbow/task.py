"""LBoW as something to train: the target's likelihood, and the words of all other paraphrases in the bag."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from parasketch.data.pairs import Pairs
from parasketch.data.prepared import Prepared
from parasketch.generate.recurrent import RecurrentDecoding
from parasketch.model.likelihood import mean_by_sentence
from parasketch.systems.corpus import CorpusTask
from parasketch.systems.lbow.config import LbowConfig
from parasketch.systems.lbow.network import LBoW
from parasketch.systems.lbow.words import BagWords
from parasketch.systems.recurrent.pairs import SequenceExamples, SequencePairs, without_begin
from parasketch.train.task import DevResult, Loss


class BagExamples(SequenceExamples):
    """Pairs with the bags of their sources."""

    def __init__(self, prepared: Prepared, *, seed: int, most: int) -> None:
        super().__init__(prepared, seed=seed)
        self.words = BagWords(prepared, most=most)

    def bags(self, pairs: Pairs) -> NDArray[np.int64]:
        return self.words.of(pairs.source_sentence)


class LbowTask(CorpusTask[SequencePairs]):
    kind = LBoW.kind
    config_type = LbowConfig
    config: LbowConfig
    network: LBoW

    def make_network(self) -> LBoW:
        return LBoW(self.config.model, mask_id=self.tokenizer.mask_id)

    def examples(self) -> BagExamples:
        settings = self.config.train
        return BagExamples(self.prepared, seed=settings.seed, most=settings.bag_words)

    def loss(self, forward: Callable[..., Any], batch: SequencePairs, share: float) -> Loss:
        del share
        output = forward(batch)
        nll = -mean_by_sentence(output.log_likelihood, batch.targets.layout)
        bag = output.bag_loss.mean()
        return Loss(nll + self.config.train.bag_weight * bag, {"nll": nll.detach(), "bag": bag.detach()})

    def evaluate(self) -> DevResult | None:
        """Greedy outputs, the likelihood of the references, and how much of them the bag has."""
        if not self.dev:
            return None
        network, dev, device = self.network, self.dev_items, self.network.embedding.weight.device
        sources = without_begin(dev.sources).to(device)
        encoded = network.encode(sources)
        outputs = dev.write(RecurrentDecoding(network, network.start(encoded)))
        nll = dev.nll(network.log_likelihood(encoded, dev.targets.to(device)))
        found = {"bag_recall": self._recall(encoded.bag.words)} if self.config.model.slots else {}
        return dev.result(outputs, {**dev.scores(outputs), "nll": nll, **found})

    def _recall(self, words: torch.Tensor) -> float:
        """The share of the references' different tokens that are in the bags' slots, (B, k)."""
        targets = self.dev_items.targets
        rows = zip(torch.split(targets.tokens, targets.layout.lengths.tolist()), words.cpu(), strict=True)
        shares = [float(torch.isin(torch.unique(tokens[1:-1]), bag).float().mean()) for tokens, bag in rows]
        return float(np.nanmean(shares))
