"""What a quick look at dev needs, whatever the system: some items, greedy decoding, scores.

Greedy decoding of a few hundred items, with no reranking: what it measures is the network.
"""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from parasketch.data.records import EvalItem
from parasketch.errors import UsageError
from parasketch.evaluate.metrics import bleu_measures, count
from parasketch.generate.decoding import Decoding
from parasketch.generate.settings import GenerateConfig
from parasketch.generate.tokens import SpecialTokens, TokenSearch, output_limits
from parasketch.model.inputs import Sentences
from parasketch.text.tokenizer import Tokenizer
from parasketch.train.task import DevResult

GREEDY = GenerateConfig(beam=1)
_SAMPLES = 4


class DevItems:
    """Evaluation items, encoded once."""

    def __init__(
        self, items: Sequence[EvalItem], tokenizer: Tokenizer, *, max_length: int, select_by: str = "ibleu"
    ) -> None:
        if not items:
            raise UsageError("there are no evaluation items to select the best model by")
        self.tokenizer, self.max_length, self.select_by = tokenizer, max_length, select_by
        self.inputs = [item.input for item in items]
        self.references = [item.references for item in items]
        self.sources = self._sentences(self.inputs)
        self.targets = self._sentences([references[0] for references in self.references])
        """The first reference of each item."""

    def write(self, decoding: Decoding) -> list[str]:
        """The output for every item, greedily, from a decoding that was started for all of them."""
        limits = output_limits(self.sources.layout.lengths, GREEDY, max_length=self.max_length)
        found = TokenSearch(SpecialTokens.of(self.tokenizer), GREEDY)(decoding, limits, width=1)
        return self.tokenizer.decode_batch([list(group[0].tokens) for group in found])

    def scores(self, outputs: Sequence[str]) -> dict[str, float]:
        """BLEU, Self-BLEU and iBLEU of one output an item."""
        counts = count(self.inputs, self.references, [[output] for output in outputs])
        values = {measure.name: measure.value() for measure in bleu_measures(counts)}
        return {name: values[name] for name in ("bleu", "self_bleu", "ibleu")}

    def nll(self, log_likelihood: Tensor) -> float:
        """The mean over all tokens of the targets, from log p of each target (B,); begin is no token of theirs."""
        return -float(log_likelihood.sum()) / (self.targets.layout.num_tokens - len(self.inputs))

    def result(self, outputs: Sequence[str], metrics: dict[str, float]) -> DevResult:
        """The metrics with the score that selects a model, and some samples; higher is better."""
        score = metrics["ibleu"] if self.select_by == "ibleu" else -metrics["nll"]
        samples = list(zip(self.inputs, outputs, strict=True))[:_SAMPLES]
        return DevResult(score=score, metrics=metrics, samples=samples)

    def _sentences(self, texts: Sequence[str]) -> Sentences:
        begin, end = self.tokenizer.bos_id, self.tokenizer.eos_id
        encoded = self.tokenizer.encode_batch(texts)
        return Sentences.from_lists([[begin, *ids[: self.max_length - 2], end] for ids in encoded])


def sample_items(items: Sequence[EvalItem], count: int, *, seed: int = 0) -> list[EvalItem]:
    """At most `count` items, spread over the file by a seeded choice."""
    if len(items) <= count:
        return list(items)
    chosen = np.sort(np.random.default_rng(seed).choice(len(items), count, replace=False))
    return [items[index] for index in chosen]
