"""The network of Separator: one vector a sentence, of which the first part is the meaning and the rest the form.

training:    [meaning of the source ; quantised form of the exemplar] -> target
afterwards:  pooled vector of a sentence -> the codes that other members of its cluster have (the predictor)
generation:  meaning of the source, with predicted codes or an exemplar's
"""

import contextlib
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from parasketch.model.bottlenecks import divergence
from parasketch.model.ema_quantizer import EmaQuantizer
from parasketch.model.inputs import Sentences
from parasketch.model.likelihood import token_log_likelihood
from parasketch.model.pooling import AttentionPooling
from parasketch.model.ragged import Layout
from parasketch.systems.pooled.network import Latent, PooledNetwork, PooledOutput
from parasketch.systems.separator.config import ModelConfig
from parasketch.systems.triples import TrainingBatch


class Separator(PooledNetwork):
    kind = "separator"
    config_type = ModelConfig
    config: ModelConfig

    def __init__(self, config: ModelConfig, *, mask_id: int) -> None:
        super().__init__(config, mask_id=mask_id)
        sizes = {"input_width": config.width, "width": config.width, "heads": config.pool_heads}
        self.pooling = AttentionPooling(**sizes, dropout=config.dropout)
        self.log_variance = AttentionPooling(**sizes, dropout=config.dropout)  # only the meaning's part is used
        self.quantizer = EmaQuantizer(width=config.form_width, heads=config.code_heads, codes=config.codes)
        hidden, dropout = config.predictor_hidden, config.predictor_dropout
        self.predictor = nn.Sequential(
            *(nn.Linear(config.width, hidden), nn.ReLU(), nn.Dropout(dropout)),
            *(nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(dropout)),
            nn.Linear(hidden, config.code_heads * config.codes),
        )

    def forward(self, batch: TrainingBatch, *, predict: bool = False) -> PooledOutput | Tensor:  # type: ignore[override]
        """One pass over B triples; or, to train the predictor, the scores (B, heads, codes) of the sources' codes."""
        return self._predict(batch) if predict else self._reconstruct(batch)

    def squeeze(self, states: Tensor, layout: Layout) -> Latent:
        """Meaning (its mean) and pooled form, before quantisation: what the predictor reads, (B, width)."""
        pooled: Tensor = self.pooling(states, layout)
        return Latent(pooled)

    def predict_codes(self, pooled: Tensor) -> Tensor:
        """log p of the codes of each head, (B, width) -> (B, heads, codes); the heads are independent."""
        scores = self.predictor(pooled).view(len(pooled), self.config.code_heads, self.config.codes)
        return torch.log_softmax(scores, dim=-1)

    def codes_of(self, pooled: Tensor) -> Tensor:
        """The codes of the form that sentences have themselves, (B, width) -> (B, heads)."""
        return self.quantizer.encode(pooled[:, self.config.meaning_width :].float())

    def splice(self, pooled: Tensor, codes: Tensor) -> Tensor:
        """The memory for meanings (B, width) in the forms of codes (B, heads), (B, width)."""
        return torch.cat([pooled[:, : self.config.meaning_width], self.quantizer.decode(codes)], dim=-1)

    def _reconstruct(self, batch: TrainingBatch) -> PooledOutput:
        states, layout = self.states(batch.encoded), batch.encoded.layout
        pooled, width = self.pooling(states, layout).float(), self.config.meaning_width
        mean, log_variance = pooled[:, :width], self.log_variance(states, layout).float()[:, :width]
        meaning = mean
        if self.training:
            meaning = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        form = self.quantizer(pooled[:, width:])
        sources, exemplars = (
            torch.from_numpy(p).to(pooled.device) for p in (batch.source_places, batch.exemplar_places)
        )
        hidden = self.decode(batch.decoder_input, torch.cat([meaning[sources], form.vector[exemplars]], dim=-1))
        # Both passes count: the source's form and the exemplar's meaning are kept in shape too.
        penalties = {"kl": divergence(mean, log_variance), "commitment": form.loss}
        return PooledOutput(
            token_log_likelihood(hidden, self.embedding.weight, batch.targets),
            {name: value[sources] + value[exemplars] for name, value in penalties.items()},
        )

    def _predict(self, batch: TrainingBatch) -> Tensor:
        order = np.argsort(batch.source_places)  # the sources alone, still sorted by length
        layout, rows = batch.encoded.layout.select(batch.source_places[order])
        sources = Sentences(batch.encoded.tokens[rows.to(batch.encoded.tokens.device)], layout)
        with torch.no_grad(), _evaluating(self.embedding, self.encoder, self.pooling):
            pooled = self.squeeze(self.states(sources), layout).vector
        return self.predict_codes(pooled[torch.from_numpy(np.argsort(order)).to(pooled.device)])


@contextlib.contextmanager
def _evaluating(*modules: nn.Module) -> Iterator[None]:
    """Without dropout inside the block."""
    modes = [module.training for module in modules]
    for module in modules:
        module.eval()
    try:
        yield
    finally:
        for module, mode in zip(modules, modes, strict=True):
            module.train(mode)
