"""The objective: token likelihood, KL of the meaning, and the sketch predictor's cross-entropy.

    L = mean_b [ -1/U sum_u log p(y_u) + w_KL (KL_source + KL_exemplar) + 1/D sum_d CE(q_d) ]

plus two optional terms that keep the codes healthy. The last term of L has detached inputs: it trains the predictor
only.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from parasketch.config import TrainConfig
from parasketch.model.hrqvae import HRQVAE
from parasketch.model.inputs import TrainingBatch
from parasketch.model.outputs import TrainingOutput
from parasketch.model.ragged import Layout
from parasketch.train.schedules import kl_weight


@dataclass(frozen=True)
class Objective:
    """The loss to minimise, and each of its terms for the log."""

    loss: Tensor
    terms: dict[str, Tensor]


def objective(
    output: TrainingOutput, batch: TrainingBatch, model: HRQVAE, config: TrainConfig, progress: float
) -> Objective:
    """The loss of one batch at a point of the run."""
    nll = -mean_by_sentence(output.log_likelihood, batch.decoder_input.layout)
    divergence = output.divergence.mean()
    sketch = F.cross_entropy(output.sketch_logits.flatten(0, 1), output.codes.flatten(), reduction="none")
    by_level = sketch.view_as(output.codes).mean(dim=0)
    terms = {"nll": nll, "kl": divergence} | {f"sketch_{d + 1}": value for d, value in enumerate(by_level)}
    loss = nll + kl_weight(progress, config) * divergence + by_level.mean()
    if config.imbalance_weight:
        terms["imbalance"] = model.quantizer.imbalance(output.form_scores)
        loss = loss + config.imbalance_weight * terms["imbalance"]
    if config.uniform_kl_weight:
        terms["uniform_kl"] = model.quantizer.uniform_kl(output.form_scores)
        loss = loss + config.uniform_kl_weight * terms["uniform_kl"]
    if config.norm_loss_weight:
        terms["norm_loss"] = model.quantizer.norm_loss()
        loss = loss + config.norm_loss_weight * terms["norm_loss"]
    return Objective(loss=loss, terms={name: term.detach() for name, term in terms.items()})


def mean_by_sentence(values: Tensor, layout: Layout) -> Tensor:
    """Mean over each sentence's tokens (N,), then over the sentences; a scalar."""
    weights = torch.from_numpy(1.0 / layout.lengths).to(values)[layout.owners.to(values.device)]
    return (values * weights).sum() / layout.batch_size
