"""Separator as something to train: the network first, then, with the network frozen, the predictor of its codes."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from torch import Tensor

from parasketch.generate.torch_backend import TransformerDecoding
from parasketch.model.likelihood import mean_by_sentence
from parasketch.systems.corpus import CorpusTask
from parasketch.systems.pooled.task import add_penalties, add_up, code_health, touch
from parasketch.systems.separator.codes import code_targets, codes_of_corpus
from parasketch.systems.separator.config import SeparatorConfig
from parasketch.systems.separator.network import Separator
from parasketch.systems.settings import kl_weight
from parasketch.systems.triples import TrainingBatch, TripleExamples
from parasketch.train.task import DevResult, Loss, ParameterGroup

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class SeparatorTask(CorpusTask[TrainingBatch]):
    kind = Separator.kind
    config_type = SeparatorConfig
    config: SeparatorConfig
    network: Separator

    _codes: Tensor | None = None  # of all sentences, once the network is frozen; a run that resumes finds them again

    def make_network(self) -> Separator:
        return Separator(self.config.model, mask_id=self.tokenizer.mask_id)

    def examples(self) -> TripleExamples:
        return TripleExamples(self.prepared, self.config.data, seed=self.config.train.seed)

    def parameter_groups(self) -> list[ParameterGroup]:
        """The predictor begins where the rest ends."""
        settings, predictor = self.config.train, list(self.network.predictor.parameters())
        known = {id(parameter) for parameter in predictor}
        rest = [p for p in self.network.parameters() if p.requires_grad and id(p) not in known]
        return [
            ParameterGroup(
                parameters=rest, learning_rate=settings.learning_rate, betas=settings.betas, last=settings.predictor_at
            ),
            ParameterGroup(
                parameters=predictor,
                learning_rate=settings.predictor_learning_rate,
                betas=settings.predictor_betas,
                first=settings.predictor_at,
            ),
        ]

    def before_step(self, share: float, fabric: "Fabric") -> None:
        if self._codes is None and share >= self.config.train.predictor_at:
            self._codes = codes_of_corpus(self.network, self.prepared, fabric.device)

    def loss(self, forward: Callable[..., Any], batch: TrainingBatch, share: float) -> Loss:
        if self._codes is not None:
            return self._predictor_loss(forward, batch, self._codes)
        output = forward(batch)
        nll = -mean_by_sentence(output.log_likelihood, batch.decoder_input.layout)
        loss = add_penalties(nll, output.penalties, {"kl": kl_weight(share, self.config.train)})
        return Loss(loss.value + touch(self.network.predictor.parameters()), loss.terms)

    def after_step(self, step: int, fabric: "Fabric") -> None:
        del step
        self.network.quantizer.update(partial(add_up, fabric))  # nothing was seen once it is frozen

    def schedule(self, share: float) -> dict[str, float]:
        return {"kl_weight": kl_weight(share, self.config.train)}

    def health(self) -> dict[str, float]:
        return code_health(self.network.quantizer)

    def evaluate(self) -> DevResult | None:
        """With predicted codes, with those of the first reference (the oracle) and with the input's own.

        Until the predictor learns there is nothing to predict: no model of that time is the best one. The loss that may
        select a model is then the predictor's, on the codes of the first reference: nothing else changes any more.
        """
        if not self.dev:
            return None
        network, dev, device = self.network, self.dev_items, self.network.embedding.weight.device
        targets = dev.targets.to(device)
        pooled = network.encode(dev.sources.to(device)).vector
        wanted, log_probs = network.codes_of(network.encode(targets).vector), network.predict_codes(pooled)
        oracle = network.splice(pooled, wanted)
        ways = {"oracle": oracle, "own": network.splice(pooled, network.codes_of(pooled))}
        if self._codes is not None:
            ways["predicted"] = network.splice(pooled, log_probs.argmax(dim=-1))
        outputs = {
            way: dev.write(TransformerDecoding(network, network.start(vectors))) for way, vectors in ways.items()
        }
        shown = outputs.get("predicted", outputs["own"])
        metrics = dev.scores(shown)
        metrics |= {f"{way}_ibleu": dev.scores(outputs[way])["ibleu"] for way in ("oracle", "own")}
        metrics["nll"] = dev.nll(network.log_likelihood(oracle, targets))
        metrics["code_loss"] = -float(log_probs.gather(-1, wanted[..., None]).mean())
        result = dev.result(shown, metrics)
        if self._codes is None:
            return replace(result, score=float("nan"))
        return result if dev.select_by == "ibleu" else replace(result, score=-metrics["code_loss"])

    def _predictor_loss(self, forward: Callable[..., Any], batch: TrainingBatch, codes: Tensor) -> Loss:
        log_probs = forward(batch, predict=True)
        targets = code_targets(self.prepared, codes, batch.source_sentences, self.config.model.codes)
        loss = -(targets * log_probs).sum(dim=-1).mean()
        frozen = (value for name, value in self.network.named_parameters() if not name.startswith("predictor."))
        return Loss(loss + touch(frozen), {"code_loss": loss.detach()})
