"""Typed results of the model."""

from dataclasses import dataclass

import torch
from torch import Tensor

from parasketch.model.inputs import Sentences
from parasketch.model.transformer import DecoderCache


@dataclass(frozen=True)
class Encoding:
    """Sentences as the model sees them, in the order they were given."""

    sentences: Sentences
    meaning: Tensor
    """(N, meaning_width), the mean of each token's Gaussian in evaluation."""
    states: Tensor
    """(N, width), the encoder's states."""
    form: Tensor
    """(B, form_width), before quantisation."""


@dataclass  # not frozen: Fabric hooks into the tensors of what a forward returns
class TrainingOutput:
    """What one training forward gives; B triples with N target tokens."""

    log_likelihood: Tensor
    """Of every target token, (N,)."""
    divergence: Tensor
    """KL of the meaning, mean over the source's and over the exemplar's tokens and added up, (B,)."""
    sketch_logits: Tensor
    """The sketch predictor's scores, (B, levels, codes)."""
    codes: Tensor
    """The exemplars' codes, (B, levels)."""
    form: Tensor
    """The exemplars' forms before quantisation, (B, form_width)."""
    form_scores: Tensor
    """Negative squared distances to the codes, (B, levels, codes)."""


@dataclass
class DecodingState:
    """Where the decoding of G groups of W rows stands; a group is one sketch of one source."""

    cache: DecoderCache
    pointer_keys: Tensor | None
    """(G, S, copy_width), with a copy head."""
    source_tokens: Tensor
    """(G, S)"""

    def keep_groups(self, groups: Tensor) -> None:
        """Drop every group but these, (G',)."""
        self.cache.keep_groups(groups)
        self.source_tokens = self.source_tokens[groups]
        if self.pointer_keys is not None:
            self.pointer_keys = self.pointer_keys[groups]

    def reorder_rows(self, rows: Tensor) -> None:
        """Row w of group g continues what row rows[g, w] was, (G, W)."""
        self.cache.reorder_rows(rows)


@dataclass
class RecurrentState:
    """Where the decoding of G groups of W rows by a recurrent network stands."""

    rows: list[Tensor]
    """(G, W, ...) each: what the layers remember"""
    memory: list[Tensor]
    """(G, ...) each: what the rows of a group look at"""

    def keep_groups(self, groups: Tensor) -> None:
        """Drop every group but these, (G',)."""
        self.rows, self.memory = [part[groups] for part in self.rows], [part[groups] for part in self.memory]

    def reorder_rows(self, rows: Tensor) -> None:
        """Row w of group g continues what row rows[g, w] was, (G, W')."""
        groups = torch.arange(len(rows), device=rows.device)[:, None]
        self.rows = [part[groups, rows] for part in self.rows]
