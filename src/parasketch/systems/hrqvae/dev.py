"""A quick look at a model while it learns: dev iBLEU with predicted sketches, and what better sketches would give.

Greedy decoding of a few hundred items, with no reranking: what it measures is the model. The oracle takes the sketch of
the first reference; `oracle_d` keeps only its first d codes, so the four numbers tell what each level is worth.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from parasketch.data.records import EvalItem
from parasketch.errors import UsageError
from parasketch.evaluate.metrics import bleu_measures, count
from parasketch.generate.next_tokens import TransformerDecoding
from parasketch.generate.settings import GenerateConfig
from parasketch.generate.sketches import best_sketches
from parasketch.generate.tokens import SpecialTokens, TokenSearch, output_limits
from parasketch.model.inputs import Sentences
from parasketch.model.outputs import Encoding
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.text.tokenizer import Tokenizer
from parasketch.train.task import DevResult

_SAMPLES = 4


class DevEvaluator:
    """Scores a model on some evaluation items; the items are encoded once."""

    def __init__(
        self, items: Sequence[EvalItem], tokenizer: Tokenizer, *, max_length: int, select_by: str = "ibleu"
    ) -> None:
        if not items:
            raise UsageError("there are no evaluation items to select the best model by")
        self.tokenizer, self.select_by = tokenizer, select_by
        self.inputs = [item.input for item in items]
        self.references = [item.references for item in items]
        self.sources = self._sentences(self.inputs, max_length)
        self.exemplars = self._sentences([references[0] for references in self.references], max_length)

    def __call__(self, model: HRQVAE) -> DevResult:
        """Predicted, oracle and truncated sketches, the likelihood of the references, and some samples."""
        device = model.embedding.weight.device
        sources, exemplars = self.sources.to(device), self.exemplars.to(device)
        encoding = model.encode(sources)
        own = model.quantizer.encode(encoding.form)
        oracle = model.quantizer.encode(model.encode(exemplars).form)
        settings = GenerateConfig(beam=1)
        ranked = best_sketches(
            model,
            model.pooled_meaning(encoding),
            k=1,
            depth=model.config.levels,
            own=own,
            own_penalty=settings.own_code_penalty,
        )
        predicted = torch.from_numpy(ranked.codes[:, 0]).to(device)
        paraphrases = self._generate(model, encoding, model.quantizer.decode(predicted), settings)
        metrics = self._scores(paraphrases)
        for depth in range(model.config.levels, -1, -1):
            outputs = self._generate(model, encoding, model.quantizer.decode(oracle, depth), settings)
            metrics[f"oracle_{depth}"] = self._scores(outputs)["ibleu"]
        metrics["own_sketch"] = 100 * float((predicted == own).all(dim=1).float().mean())
        likelihood = model.log_likelihood(
            encoding, torch.arange(len(self.inputs)), model.quantizer.decode(oracle), exemplars
        )
        metrics["nll"] = -float(likelihood.sum()) / (self.exemplars.layout.num_tokens - len(self.inputs))
        score = metrics["ibleu"] if self.select_by == "ibleu" else -metrics["nll"]
        samples = list(zip(self.inputs, paraphrases, strict=True))[:_SAMPLES]
        return DevResult(score=score, metrics=metrics, samples=samples)

    def _generate(self, model: HRQVAE, encoding: Encoding, form: Tensor, settings: GenerateConfig) -> list[str]:
        sources = torch.arange(len(form), device=form.device)
        lengths = encoding.sentences.layout.lengths
        limits = output_limits(lengths, settings, max_length=model.config.max_length).to(form.device)
        decoding = TransformerDecoding(model, model.start(encoding, sources, form))
        found = TokenSearch(SpecialTokens.of(self.tokenizer), settings)(decoding, limits, width=1)
        return self.tokenizer.decode_batch([list(group[0].tokens) for group in found])

    def _scores(self, outputs: Sequence[str]) -> dict[str, float]:
        counts = count(self.inputs, self.references, [[output] for output in outputs])
        values = {measure.name: measure.value() for measure in bleu_measures(counts)}
        return {"bleu": values["bleu"], "self_bleu": values["self_bleu"], "ibleu": values["ibleu"]}

    def _sentences(self, texts: Sequence[str], max_length: int) -> Sentences:
        begin, end = self.tokenizer.bos_id, self.tokenizer.eos_id
        encoded = self.tokenizer.encode_batch(texts)
        return Sentences.from_lists([[begin, *ids[: max_length - 2], end] for ids in encoded])


def sample_items(items: Sequence[EvalItem], count: int, *, seed: int = 0) -> list[EvalItem]:
    """At most `count` items, spread over the file by a seeded choice."""
    if len(items) <= count:
        return list(items)
    chosen = np.sort(np.random.default_rng(seed).choice(len(items), count, replace=False))
    return [items[index] for index in chosen]
