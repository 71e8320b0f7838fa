"""SOW/REAP as something to train: both networks in one run, on the orders and the rules of one corpus."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from parasketch.data.prepared import Prepared
from parasketch.data.records import EvalItem
from parasketch.model.likelihood import mean_by_sentence
from parasketch.systems.corpus import CorpusTask
from parasketch.systems.sowreap.annotate import token_weights
from parasketch.systems.sowreap.config import SowReapConfig
from parasketch.systems.sowreap.corpus import orders_of_corpus
from parasketch.systems.sowreap.dev import OrderedDev
from parasketch.systems.sowreap.examples import OrderedCorpus, SowReapBatch, SowReapExamples
from parasketch.systems.sowreap.network import SowReap
from parasketch.systems.sowreap.parser import load_parser
from parasketch.systems.sowreap.reading import Reader
from parasketch.systems.sowreap.vectors import load_vectors
from parasketch.train.task import DevResult, Loss


class SowReapTask(CorpusTask[SowReapBatch]):
    kind = SowReap.kind
    config_type = SowReapConfig
    config: SowReapConfig
    network: SowReap

    def __init__(self, config: SowReapConfig, prepared: Prepared, dev: Sequence[EvalItem] = ()) -> None:
        super().__init__(config, prepared, dev)
        self.parser, self.vectors = load_parser(self.config.model.parser), load_vectors()
        arrays = orders_of_corpus(prepared, self.parser, self.vectors, max_pairs=self.config.data.max_pairs)
        self.corpus = OrderedCorpus(prepared, arrays)
        self.config = replace(self.config, model=replace(self.config.model, tags=" ".join(arrays.tags.tolist())))

    def make_network(self) -> SowReap:
        return SowReap(self.config.model, mask_id=self.tokenizer.mask_id)

    def examples(self) -> SowReapExamples:
        settings = self.config.train
        return SowReapExamples(self.corpus, moved_pairs=settings.moved_pairs, seed=settings.seed)

    def loss(self, forward: Callable[..., Any], batch: SowReapBatch, share: float) -> Loss:
        """The networks share nothing, so that the sum of their losses trains each on its own."""
        del share
        output = forward(batch)
        nll = -mean_by_sentence(output.reap, batch.reap.decoder_input.layout)
        sow_nll = -mean_by_sentence(output.sow, batch.sow.decoder_input.layout)
        return Loss(nll + sow_nll, {"nll": nll.detach(), "sow_nll": sow_nll.detach()})

    @cached_property
    def ordered_dev(self) -> OrderedDev:
        """The dev items that are looked at, parsed and aligned."""
        reader, weights = Reader(self.tokenizer, self.parser), token_weights(self.prepared)
        return OrderedDev(self.dev_items, reader, self.vectors, weights, self.config.model.tag_names)

    def evaluate(self) -> DevResult | None:
        """In the best order by SOW, and in the order of the input; and how likely references are in their own order."""
        if not self.dev:
            return None
        dev, ordered = self.dev_items, self.ordered_dev
        outputs = ordered.write(self.network, ordered.best_orders(self.network))
        kept = ordered.write(self.network, ordered.own_orders)
        metrics = {**dev.scores(outputs), "kept_ibleu": dev.scores(kept)["ibleu"], **ordered.losses(self.network)}
        return dev.result(outputs, metrics)
