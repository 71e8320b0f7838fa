"""The same network as one would first write it: torch.nn layers on padded batches, and logits for every position.

The yardstick of benchmarks/train.py. It has the architecture and the objective of a preset, without any of the means
that make training in the package fast: source and exemplar are encoded one after the other, pads go through all
layers, the form is repeated at every position of the memory, and the softmax is over all positions and the whole
vocabulary.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from parasketch.model.quantizer import HierarchicalQuantizer
from parasketch.model.transformer import sinusoids
from parasketch.systems.hrqvae.config import ModelConfig

PAD = 0


class PlainPooling(nn.Module):
    def __init__(self, *, input_width: int, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.scores, self.values = nn.Linear(input_width, heads), nn.Linear(input_width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        weights = self.scores(x).masked_fill(~real[:, :, None], -math.inf).softmax(dim=1)
        values = self.values(x).unflatten(-1, (self.heads, -1))
        return (self.dropout(weights)[..., None] * values).sum(dim=1).flatten(1)


class PlainModel(nn.Module):
    def __init__(self, config: ModelConfig, *, mask_id: int) -> None:
        super().__init__()
        c, self.config, self.mask_id = config, config, mask_id
        shape = {"dropout": c.dropout, "batch_first": True, "norm_first": c.pre_norm, "bias": c.bias}
        meaning_input = c.meaning_width if c.split_encoding else c.width
        form_input = c.form_width if c.split_encoding else c.width
        self.embedding = nn.Embedding(c.vocab_size, c.width)
        self.embedding.weight.requires_grad_(not c.frozen_embeddings)
        self.register_buffer("positions", sinusoids(c.max_length, c.width), persistent=False)
        self.dropout = nn.Dropout(c.dropout)
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(c.width, c.heads, c.ff, **shape),
            c.encoder_layers,
            nn.LayerNorm(c.width),
            enable_nested_tensor=False,
        )
        layers = []
        for _ in range(c.decoder_layers):
            layer = nn.TransformerDecoderLayer(c.width, c.heads, c.ff, **shape)
            memory = c.meaning_width + c.form_width
            layer.multihead_attn = nn.MultiheadAttention(
                c.width, c.heads, dropout=c.dropout, bias=c.bias, kdim=memory, vdim=memory, batch_first=True
            )
            layers.append(layer)
        self.decoder, self.decoder_norm = nn.ModuleList(layers), nn.LayerNorm(c.width)
        self.mean = nn.Linear(meaning_input, c.meaning_width, bias=False)
        self.log_variance = nn.Linear(meaning_input, c.meaning_width, bias=False)
        self.form = PlainPooling(input_width=form_input, width=c.form_width, heads=c.form_heads, dropout=c.dropout)
        self.quantizer = HierarchicalQuantizer(
            width=c.form_width, levels=c.levels, codes=c.codes, depth_dropout=c.depth_dropout
        )
        self.project = nn.Linear(meaning_input, c.predictor_width, bias=False)
        self.pooling = PlainPooling(
            input_width=c.predictor_width, width=c.predictor_width, heads=c.predictor_heads, dropout=c.predictor_dropout
        )
        self.mlps = nn.ModuleList(
            nn.Sequential(
                nn.Linear(c.predictor_width + c.form_width, c.predictor_hidden),
                nn.ReLU(),
                nn.Dropout(c.predictor_dropout),
                nn.Linear(c.predictor_hidden, c.predictor_hidden),
                nn.ReLU(),
                nn.Dropout(c.predictor_dropout),
                nn.Linear(c.predictor_hidden, c.codes),
            )
            for _ in range(c.levels)
        )
        if c.copy_head:
            self.copy_query = nn.Linear(c.width, c.copy_width, bias=False)
            self.copy_key = nn.Linear(c.width, c.copy_width, bias=False)
            self.copy_gate = nn.Linear(c.width, 1)

    def forward(self, source: Tensor, exemplar: Tensor, target: Tensor) -> Tensor:
        """The loss of B triples of padded tokens, each (B, T) with begin and end."""
        c = self.config
        source_states, exemplar_states = self._encode(source), self._encode(exemplar)
        source_meaning, source_kl = self._meaning(source_states, source != PAD)
        _, exemplar_kl = self._meaning(exemplar_states, exemplar != PAD)
        form_input = exemplar_states[..., c.meaning_width :] if c.split_encoding else exemplar_states
        quantised = self.quantizer(self.form(form_input, exemplar != PAD), 1.0)
        memory = torch.cat([source_meaning, quantised.vector[:, None].expand(-1, source.shape[1], -1)], dim=-1)
        inputs, wanted = target[:, :-1], target[:, 1:]
        if c.token_dropout:
            dropped = torch.rand(inputs.shape) < c.token_dropout
            inputs = inputs.masked_fill(dropped & (inputs != PAD), self.mask_id)
        hidden = self._decode(inputs, target[:, :-1] == PAD, memory, source == PAD)
        tokens = self._token_loss(hidden, source_states, source, wanted)  # (B, U), 0 at pads
        nll = (tokens.sum(dim=1) / (wanted != PAD).sum(dim=1)).mean()
        return nll + (source_kl + exemplar_kl).mean() + self._sketch_loss(source_states, source != PAD, quantised.codes)

    def _embed(self, tokens: Tensor) -> Tensor:
        scaled = self.embedding(tokens) * math.sqrt(self.config.width)
        embedded: Tensor = self.dropout(scaled + self.positions[: tokens.shape[1]])
        return embedded

    def _encode(self, tokens: Tensor) -> Tensor:
        causal = _future(tokens.shape[1]) if self.config.causal_encoder else None
        states: Tensor = self.encoder(self._embed(tokens), mask=causal, src_key_padding_mask=tokens == PAD)
        return states

    def _meaning(self, states: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        inputs = states[..., : self.config.meaning_width] if self.config.split_encoding else states
        mean, log_variance = self.mean(inputs), self.log_variance(inputs)
        divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).mean(dim=-1) * real
        sample = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return sample, divergence.sum(dim=1) / real.sum(dim=1)

    def _decode(self, tokens: Tensor, pads: Tensor, memory: Tensor, memory_pads: Tensor) -> Tensor:
        x = self._embed(tokens)
        for layer in self.decoder:
            x = layer(
                x,
                memory,
                tgt_mask=_future(tokens.shape[1]),
                tgt_key_padding_mask=pads,
                memory_key_padding_mask=memory_pads,
            )
        normed: Tensor = self.decoder_norm(x)
        return normed

    def _token_loss(self, hidden: Tensor, states: Tensor, source: Tensor, wanted: Tensor) -> Tensor:
        logits = F.linear(hidden, self.embedding.weight)
        if not self.config.copy_head:
            loss = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=PAD, reduction="none")
            return loss.view_as(wanted)
        scores = self.copy_query(hidden) @ self.copy_key(states).transpose(1, 2) / math.sqrt(self.config.copy_width)
        attention = scores.masked_fill((source == PAD)[:, None], -math.inf).softmax(dim=-1)  # (B, U, S)
        gate = torch.sigmoid(self.copy_gate(hidden))
        index = source[:, None].expand_as(attention)
        mixed = ((1 - gate) * logits.softmax(dim=-1)).scatter_add(-1, index, gate * attention)
        loss = F.nll_loss(
            mixed.clamp_min(1e-9).log().flatten(0, 1), wanted.flatten(), ignore_index=PAD, reduction="none"
        )
        return loss.view_as(wanted)

    def _sketch_loss(self, states: Tensor, real: Tensor, codes: Tensor) -> Tensor:
        inputs = states[..., : self.config.meaning_width] if self.config.split_encoding else states
        pooled = self.pooling(self.project(inputs.detach()), real)
        codebooks, path, losses = (
            self.quantizer.codebooks.detach(),
            torch.zeros(len(pooled), self.config.form_width),
            [],
        )
        for level, mlp in enumerate(self.mlps):
            losses.append(F.cross_entropy(mlp(torch.cat([pooled, path], dim=-1)), codes[:, level]))
            chosen = codebooks[level][codes[:, level]]
            path = path + chosen if self.config.predictor_conditioning == "cumulative" else chosen
        return torch.stack(losses).mean()


def _future(length: int) -> Tensor:
    return torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
