"""HRQ-VAE as something to train: triples, the objective, and the care of its codebooks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from parasketch.config import DataConfig, from_dict
from parasketch.data.prepared import Prepared
from parasketch.data.records import EvalItem
from parasketch.errors import ConfigError, ModelError
from parasketch.model.storage import open_model
from parasketch.systems.corpus import CorpusTask
from parasketch.systems.hrqvae.codebooks import revive_codes, start_codebooks
from parasketch.systems.hrqvae.config import KIND, HrqVaeConfig, HrqVaeTrainConfig, ModelConfig
from parasketch.systems.hrqvae.dev import look_at_dev
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.systems.hrqvae.objective import objective
from parasketch.systems.hrqvae.schedules import is_quantised, temperature
from parasketch.systems.settings import kl_weight
from parasketch.systems.triples import TrainingBatch, TripleExamples
from parasketch.train.task import DevResult, Loss, ParameterGroup

if TYPE_CHECKING:
    from lightning_fabric import Fabric

REVIVE_EVERY = 50
_PREDICTOR = "predictor.mlps."


class HrqVaeTask(CorpusTask[TrainingBatch]):
    """The form is continuous at first; then k-means sets the codebooks, and codes that nobody chooses move."""

    kind = KIND
    config_type = HrqVaeConfig
    config: HrqVaeConfig
    network: HRQVAE

    def __init__(self, config: HrqVaeConfig, prepared: Prepared, dev: Sequence[EvalItem] = ()) -> None:
        super().__init__(config, prepared, dev)
        self._form_started = False  # whether the codebooks have been set
        self._forms: list[Tensor] = []  # of the step's batch, (B, form_width) each

    @classmethod
    def going_on(cls, config: HrqVaeConfig, directory: Path) -> HrqVaeConfig:
        stored = open_model(directory)
        try:
            data = from_dict(DataConfig, stored.sections.get("data", {}), "data.")
        except ConfigError as error:
            raise ModelError(f"{directory}: {error}") from error
        train = replace(config.train, embeddings=None)
        return replace(config, model=stored.read_config(ModelConfig), data=data, train=train)

    def make_network(self) -> HRQVAE:
        return HRQVAE(self.config.model, mask_id=self.tokenizer.mask_id)

    def examples(self) -> TripleExamples:
        return TripleExamples(self.prepared, self.config.data, seed=self.config.train.seed)

    def parameter_groups(self) -> list[ParameterGroup]:
        return parameter_groups(self.network, self.config.train)

    def before_step(self, share: float, fabric: "Fabric") -> None:
        settings = self.config.train
        if self._form_started or not is_quantised(share, settings):
            return
        if settings.kmeans_at is not None:
            start_codebooks(self.network, self.prepared, length=settings.form_length, seed=settings.seed, fabric=fabric)
        self._form_started = True

    def loss(self, forward: Callable[..., Any], batch: TrainingBatch, share: float) -> Loss:
        if self._form_started and self.config.train.posthoc:
            self.network.quantizer.eval()  # nothing but the predictor learns: it learns the codes, not samples of them
        output = forward(batch, temperature(share, self.config.train), quantise=self._form_started)
        self._forms.append(output.form.detach())
        return objective(output, batch, self.network, self.config.train, share)

    def after_step(self, step: int, fabric: "Fabric") -> None:
        forms, self._forms = self._forms, []
        settings = self.config.train
        if settings.revive_below and self._form_started and step % REVIVE_EVERY == 0:
            seed = settings.seed * 1_000_003 + step
            revive_codes(self.network, torch.cat(forms), threshold=settings.revive_below, seed=seed, fabric=fabric)

    def schedule(self, share: float) -> dict[str, float]:
        settings = self.config.train
        return {"temperature": temperature(share, settings), "kl_weight": kl_weight(share, settings)}

    def health(self) -> dict[str, float]:
        return {f"perplexity_{d + 1}": value for d, value in enumerate(self.network.quantizer.perplexity())}

    def evaluate(self) -> DevResult | None:
        """Until a predictor that learns afterwards has begun, no model is the best one."""
        if not self.dev:
            return None
        result = look_at_dev(self.network, self.dev_items)
        waits = self.config.train.posthoc and not self._form_started
        return replace(result, score=float("nan")) if waits else result

    def state(self) -> dict[str, Any]:
        return {"form_started": self._form_started}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self._form_started = bool(state["form_started"])


def parameter_groups(network: HRQVAE, config: HrqVaeTrainConfig) -> list[ParameterGroup]:
    """A group of its own for the predictor's MLPs, as in the paper; one that learns afterwards is whole in it."""
    trained = [(name, value) for name, value in network.named_parameters() if value.requires_grad]
    prefix, begin = ("predictor.", config.kmeans_at) if config.posthoc else (_PREDICTOR, None)
    main = [value for name, value in trained if not name.startswith(prefix)]
    predictor = [value for name, value in trained if name.startswith(prefix)]
    return [
        ParameterGroup(
            parameters=main,
            learning_rate=config.learning_rate,
            betas=config.betas,
            last=1.0 if begin is None else begin,
        ),
        ParameterGroup(
            parameters=predictor,
            learning_rate=config.predictor_learning_rate,
            betas=config.predictor_betas,
            first=begin or 0.0,
        ),
    ]
