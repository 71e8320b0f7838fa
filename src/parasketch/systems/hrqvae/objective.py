"""The objective: token likelihood, KL of the meaning, and the sketch predictor's cross-entropy.

    L = mean_b [ -1/U sum_u log p(y_u) + w_KL (KL_source + KL_exemplar) + 1/D sum_d CE(q_d) ]

plus, if wanted, a term that keeps all codes in use. The last term of L has detached inputs: it trains the predictor
only.
"""

from torch.nn import functional as F

from parasketch.model.likelihood import mean_by_sentence
from parasketch.model.outputs import TrainingOutput
from parasketch.systems.hrqvae.config import HrqVaeTrainConfig
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.systems.settings import kl_weight
from parasketch.systems.triples import TrainingBatch
from parasketch.train.task import Loss


def objective(
    output: TrainingOutput, batch: TrainingBatch, model: HRQVAE, config: HrqVaeTrainConfig, share: float
) -> Loss:
    """The loss of one batch at a point of the run."""
    nll = -mean_by_sentence(output.log_likelihood, batch.decoder_input.layout)
    divergence = output.divergence.mean()
    sketch = F.cross_entropy(output.sketch_logits.flatten(0, 1), output.codes.flatten(), reduction="none")
    by_level = sketch.view_as(output.codes).mean(dim=0)
    terms = {"nll": nll, "kl": divergence} | {f"sketch_{d + 1}": value for d, value in enumerate(by_level)}
    loss = nll + kl_weight(share, config) * divergence + by_level.mean()
    if config.imbalance_weight:
        terms["imbalance"] = model.quantizer.imbalance(output.form_scores)
        loss = loss + config.imbalance_weight * terms["imbalance"]
    return Loss(loss, {name: term.detach() for name, term in terms.items()})
