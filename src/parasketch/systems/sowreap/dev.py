"""What a look at dev needs: the inputs parsed, and aligned with their first references, once."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from parasketch.data.prepared import Ints, Ragged
from parasketch.generate.torch_backend import TransformerDecoding
from parasketch.model.inputs import Sentences
from parasketch.systems.dev import DevItems
from parasketch.systems.sowreap.annotate import Collector, add_pairs
from parasketch.systems.sowreap.examples import OrderedCorpus, OrderedPairs
from parasketch.systems.sowreap.network import Ordered, SowReap
from parasketch.systems.sowreap.orders import token_ranks
from parasketch.systems.sowreap.reading import Reader
from parasketch.systems.sowreap.sow import OrderFinder
from parasketch.systems.sowreap.tags import Tags
from parasketch.systems.sowreap.vectors import WordVectors
from parasketch.text.tokenizer import Tokenizer

_PAIRS = 64  # scored at a time


class OrderedDev:
    """Dev items as REAP and SOW see them."""

    def __init__(
        self,
        dev: DevItems,
        reader: Reader,
        vectors: WordVectors,
        weights: NDArray[np.float32],
        tags: Sequence[str],
    ) -> None:
        self._dev, self._tokenizer = dev, reader.tokenizer
        references = [each[0] for each in dev.references]
        texts = [*dev.inputs, *references]
        tokens = [row.tolist() for sentences in (dev.sources, dev.targets) for row in _inner(sentences)]
        readings = reader(texts, tokens)
        count, size = len(dev.inputs), self._tokenizer.vocab_size
        self._readings = readings[:count]
        collector = Collector(weights, Tags(tags), (size, size + 1))
        pairs = [(item, count + item) for item in range(count)]
        add_pairs(collector, vectors, dict(enumerate(readings)), pairs)
        self._corpus = OrderedCorpus(_Texts(tokens, self._tokenizer), collector.arrays())

    def best_orders(self, network: SowReap) -> list[list[int]]:
        """The ranks of the tokens of each input in SOW's best order."""
        found = OrderFinder(network, self._tokenizer)(self._readings)
        return [
            token_ranks(proposals[0].order, reading.owners) if reading is not None else own
            for proposals, reading, own in zip(found, self._readings, self.own_orders, strict=True)
        ]

    @cached_property
    def own_orders(self) -> list[list[int]]:
        """The ranks of the tokens of each input in its own order."""
        lengths = self._dev.sources.layout.lengths.tolist()
        return [
            token_ranks(range(len(reading.parse)), reading.owners) if reading is not None else list(range(length))
            for reading, length in zip(self._readings, lengths, strict=True)
        ]

    def write(self, network: SowReap, orders: Sequence[Sequence[int]]) -> list[str]:
        """The outputs in these orders, greedily."""
        device = network.embedding.weight.device
        ranks = torch.tensor([rank for order in orders for rank in order], device=device)
        memory = network.add_order(network.encode(self._dev.sources.to(device)), ranks)
        state = network.start(memory, self._dev.sources.layout)
        return self._dev.write(TransformerDecoding(network, state))

    def losses(self, network: SowReap) -> dict[str, float]:
        """The mean over tokens of -log p, of references in their own order, and of what they say for phrases."""
        arrays = self._corpus.arrays
        pairs, rules = np.arange(len(arrays.pairs)), np.arange(len(arrays.rule_lengths))
        reap = [self._corpus.reap(part, np.zeros_like(part)) for part in _parts(pairs)]
        return {
            "nll": _mean_nll(network, reap),
            "sow_nll": _mean_nll(network.sow, [self._corpus.sow(part) for part in _parts(rules)]),
        }


class _Texts:
    """The subwords of some texts as a store of sentences."""

    def __init__(self, tokens: list[list[int]], tokenizer: Tokenizer) -> None:
        self._tokens, self.tokenizer = tokens, tokenizer

    def sentences(self, sentences: Ints) -> Ragged:
        chosen = [self._tokens[place] for place in sentences.tolist()]
        lengths = np.array([len(each) for each in chosen], dtype=np.int32)
        return Ragged(np.array([token for each in chosen for token in each], dtype=np.int32), lengths)


def _inner(sentences: Sentences) -> list[NDArray[np.int64]]:
    """The tokens of each sentence without begin and end."""
    rows = np.split(sentences.tokens.numpy(), np.cumsum(sentences.layout.lengths)[:-1])
    return [row[1:-1] for row in rows]


def _parts(places: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [places[start : start + _PAIRS] for start in range(0, len(places), _PAIRS)]


def _mean_nll(network: Ordered, batches: Sequence[OrderedPairs]) -> float:
    """Not a number where there is nothing to say."""
    device = network.embedding.weight.device
    found = [network.log_likelihood(batch.to(device)) for batch in batches]
    return -float(torch.cat(found).mean()) if found else float("nan")
