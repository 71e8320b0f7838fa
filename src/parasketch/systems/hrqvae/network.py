"""HRQ-VAE: meaning from the source, form from the exemplar, and a decoder that says the one in the other.

    training:    source -> meaning,  exemplar -> form -> sketch,  (meaning, sketch) -> target
    generation:  source -> meaning -> sketches (predicted, or given) -> text

Source and exemplar go through one encoder in a single pass. `encode`, `start` and `step` are what generation uses.
"""

import numpy as np
import torch
from torch import Tensor

from parasketch.model.bottlenecks import GaussianMeaning, PooledForm, divergence
from parasketch.model.copying import CopyHead
from parasketch.model.inputs import Sentences
from parasketch.model.likelihood import token_log_likelihood
from parasketch.model.outputs import DecodingState, Encoding, TrainingOutput
from parasketch.model.pooling import AttentionPooling
from parasketch.model.predictor import SketchPredictor
from parasketch.model.quantizer import HierarchicalQuantizer
from parasketch.model.ragged import Layout, pad, select_rows
from parasketch.model.shared import SharedTransformer
from parasketch.model.transformer import Decoder
from parasketch.systems.hrqvae.config import KIND, ModelConfig
from parasketch.systems.triples import TrainingBatch


class HRQVAE(SharedTransformer):
    kind = KIND
    config_type = ModelConfig
    config: ModelConfig
    newer_weights = (".form_offset",)

    def __init__(self, config: ModelConfig, *, mask_id: int) -> None:
        super().__init__(config, mask_id=mask_id)
        meaning_input = config.meaning_width if config.split_encoding else config.width
        form_input = config.form_width if config.split_encoding else config.width
        self.meaning = GaussianMeaning(input_width=meaning_input, width=config.meaning_width)
        self.form = PooledForm(
            input_width=form_input,
            width=config.form_width,
            heads=config.form_heads,
            dropout=config.dropout,
        )
        self.form_spread = (  # the log-variance of a Gaussian form
            AttentionPooling(
                input_width=form_input, width=config.form_width, heads=config.form_heads, dropout=config.dropout
            )
            if config.gaussian_form
            else None
        )
        self.quantizer = HierarchicalQuantizer(
            width=config.form_width,
            levels=config.levels,
            codes=config.codes,
            depth_dropout=config.depth_dropout,
            init_gain=config.init_gain,
            init_decay=config.init_decay,
        )
        self.decoder = Decoder(
            self.layer,
            layers=config.decoder_layers,
            meaning_width=config.meaning_width,
            form_width=config.form_width,
        )
        self.predictor = SketchPredictor(
            input_width=meaning_input,
            width=config.predictor_width,
            heads=config.predictor_heads,
            hidden=config.predictor_hidden,
            form_width=config.form_width,
            levels=config.levels,
            codes=config.codes,
            dropout=config.predictor_dropout,
            conditioning=config.predictor_conditioning,
        )
        self.copying = (
            CopyHead(width=config.width, state_width=config.width, pointer_width=config.copy_width)
            if config.copy_head
            else None
        )

    def forward(self, batch: TrainingBatch, temperature: float = 1.0, *, quantise: bool = True) -> TrainingOutput:
        """One pass over B triples; the decoder sees the sketch of the form, or the form itself (`quantise=False`)."""
        states = self.states(batch.encoded)
        source_layout, source_rows = batch.encoded.layout.select(batch.source_places)
        exemplar_layout, exemplar_rows = batch.encoded.layout.select(batch.exemplar_places)
        meaning = self.meaning(self._meaning_input(states))
        source_states = select_rows(states, source_rows)
        source_meaning = select_rows(meaning.sample, source_rows)
        form_states = select_rows(self._form_input(states), exemplar_rows)
        form = self.form(form_states, exemplar_layout)
        with torch.autocast(form.device.type, enabled=False):  # half precision would drown small distances
            quantised = self.quantizer(form.float() if quantise else form.float().detach(), temperature)
        spread, form_divergence = self._spread(form, form_states, exemplar_layout)
        # What is not used still gets a gradient, of zeros: several processes expect one of every parameter.
        vector = quantised.vector + 0 * spread if quantise else form + spread + 0 * quantised.vector
        hidden = self._decode(batch.decoder_input, source_meaning, source_layout, vector)
        log_likelihood = token_log_likelihood(hidden, self.embedding.weight, batch.targets)
        if self.copying is not None:
            log_likelihood = self.copying.log_likelihood(
                hidden,
                batch.decoder_input.layout,
                source_states,
                batch.encoded.tokens[source_rows.to(states.device)],
                source_layout,
                batch.targets,
                log_likelihood,
            )
        pooled = self.predictor.pool(self._meaning_input(source_states), source_layout)
        sketch_logits = self.predictor(pooled, quantised.codes, self.quantizer.codebooks)
        lengths = torch.from_numpy(batch.encoded.layout.lengths).to(states.device)
        per_sentence = torch.zeros_like(lengths, dtype=states.dtype).index_add(
            0, batch.encoded.layout.owners.to(states.device), meaning.divergence
        )
        by_token = per_sentence / lengths
        places = torch.from_numpy(np.stack([batch.source_places, batch.exemplar_places])).to(states.device)
        return TrainingOutput(
            log_likelihood=log_likelihood,
            divergence=by_token[places].sum(0) + (0 if quantise else 1) * form_divergence,
            sketch_logits=sketch_logits,
            codes=quantised.codes,
            form=form,
            form_scores=quantised.scores,
        )

    def encode(self, sentences: Sentences) -> Encoding:
        """Meaning, states and form of sentences that begin and end with their special tokens."""
        ordered, places = sentences.sorted_by_length()
        states = self.states(ordered)
        _, rows = ordered.layout.select(places)
        states = select_rows(states, rows)
        return Encoding(
            sentences=sentences,
            meaning=self.meaning(self._meaning_input(states)).sample,
            states=states,
            form=self.form(self._form_input(states), sentences.layout),
        )

    def pooled_meaning(self, encoding: Encoding) -> Tensor:
        """What the sketch predictor reads, (B, predictor_width)."""
        return self.predictor.pool(self._meaning_input(encoding.states), encoding.sentences.layout)

    def start(self, encoding: Encoding, sources: Tensor, form: Tensor) -> DecodingState:
        """Begin decoding G groups: group g says source sources[g] in the form (G, form_width) given."""
        layout = encoding.sentences.layout
        mask = layout.mask.to(form.device)
        cache = self.decoder.start(pad(encoding.meaning, layout), mask, sources, form)
        keys = None if self.copying is None else pad(self.copying.key(encoding.states), layout)[sources]
        tokens = pad(encoding.sentences.tokens, layout)[sources]
        return DecodingState(cache=cache, pointer_keys=keys, source_tokens=tokens)

    def step(self, tokens: Tensor, state: DecodingState) -> Tensor:
        """Log-probabilities of the next token given the last ones: (G, W) -> (G, W, vocab_size)."""
        positions = torch.full_like(tokens, state.cache.length)
        hidden = self.decoder.step(self.embedding(tokens, positions), state.cache)
        log_probs = torch.log_softmax(hidden @ self.embedding.weight.T, dim=-1)
        if self.copying is None or state.pointer_keys is None:
            return log_probs
        blocked = state.cache.blocked.squeeze(1)
        return self.copying.mix(log_probs, hidden, state.pointer_keys, state.source_tokens, blocked)

    def log_likelihood(self, encoding: Encoding, sources: Tensor, form: Tensor, targets: Sentences) -> Tensor:
        """log p of G target sentences (begin and end included), sentence g for source sources[g], (G,).

        Used for scoring; evaluation only.
        """
        order = np.argsort(targets.layout.lengths, kind="stable")
        ordered, places = targets.sorted_by_length()
        source_layout, source_rows = encoding.sentences.layout.select(sources.cpu().numpy()[order])
        device, (inputs, wanted) = form.device, ordered.shifted()
        rows = source_rows.to(device)
        meaning, states = encoding.meaning[rows], encoding.states[rows]
        hidden = self._decode(inputs, meaning, source_layout, form[torch.from_numpy(order).to(device)])
        scores = token_log_likelihood(hidden, self.embedding.weight, wanted)
        if self.copying is not None:
            source_tokens = encoding.sentences.tokens[rows]
            scores = self.copying.log_likelihood(
                hidden, inputs.layout, states, source_tokens, source_layout, wanted, scores
            )
        summed = scores.new_zeros(len(order)).index_add(0, inputs.layout.owners.to(device), scores)
        return summed[torch.from_numpy(places).to(device)]

    def _spread(self, form: Tensor, states: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        """What a sample of a Gaussian form adds to its mean (B, form_width), and its KL (B,); zeros if it is none."""
        if self.form_spread is None:
            return torch.zeros_like(form), form.new_zeros(len(form))
        log_variance = self.form_spread(states, layout).float()
        noise = torch.randn_like(log_variance) if self.training else torch.zeros_like(log_variance)
        return noise * (0.5 * log_variance).exp(), divergence(form.float(), log_variance)

    def _decode(self, inputs: Sentences, meaning: Tensor, source: Layout, form: Tensor) -> Tensor:
        hidden: Tensor = self.decoder(self.embed_inputs(inputs), inputs.layout, meaning, source, form)
        return hidden

    def _meaning_input(self, states: Tensor) -> Tensor:
        return states[:, : self.config.meaning_width] if self.config.split_encoding else states

    def _form_input(self, states: Tensor) -> Tensor:
        return states[:, self.config.meaning_width :] if self.config.split_encoding else states
