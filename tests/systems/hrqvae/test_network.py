"""The whole model: pads and company change nothing, training and generation agree, gradients go where they should."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from tiny import BOS, EOS, MODEL, POST_NORM, make_batch, make_model, make_triples

from parasketch.model.inputs import Sentences, reorder
from parasketch.model.quantizer import HierarchicalQuantizer
from parasketch.systems.hrqvae.config import ModelConfig
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.systems.triples import TrainingBatch

KINDS = pytest.mark.parametrize("config", [MODEL, POST_NORM], ids=["small", "paper"])
SENTENCES = [[BOS, 5, EOS], [BOS, 6, 7, 8, 9, 10, 11, EOS], [BOS, 4, 12, EOS], [BOS, 5, 6, EOS]]


@KINDS
def test_company_changes_nothing(config: ModelConfig) -> None:
    """A sentence alone and among others of other lengths: the same codes, form, meaning and likelihood."""
    model = make_model(config)
    sources, targets = Sentences.from_lists(SENTENCES), Sentences.from_lists(SENTENCES[::-1])
    with torch.no_grad():
        together = model.encode(sources)
        pooled, codes = model.pooled_meaning(together), model.quantizer.encode(together.form)
        form = model.quantizer.decode(codes)
        likelihood = model.log_likelihood(together, torch.arange(4), form, targets)
        for number, sentence in enumerate(SENTENCES):
            alone = model.encode(Sentences.from_lists([sentence]))
            torch.testing.assert_close(alone.form[0], together.form[number], rtol=0, atol=1e-5)
            assert torch.equal(model.quantizer.encode(alone.form)[0], codes[number])
            own = sources.layout.owners == number
            torch.testing.assert_close(alone.meaning, together.meaning[own], rtol=0, atol=1e-5)
            torch.testing.assert_close(model.pooled_meaning(alone)[0], pooled[number], rtol=0, atol=1e-5)
            target = Sentences.from_lists([SENTENCES[::-1][number]])
            score = model.log_likelihood(alone, torch.tensor([0]), form[[number]], target)
            assert score.item() == pytest.approx(likelihood[number].item(), abs=1e-5)


@KINDS
def test_a_training_batch_gives_each_triple_what_it_gets_alone(config: ModelConfig) -> None:
    model, triples = make_model(config), make_triples(5)
    with torch.no_grad():
        together = model(TrainingBatch.from_triples(triples, bos=BOS, eos=EOS))
        order = np.argsort(triples.target.lengths, kind="stable")
        layout = TrainingBatch.from_triples(triples, bos=BOS, eos=EOS).decoder_input.layout
        for place, original in enumerate(order):
            parts = {
                name: reorder(getattr(triples, name), np.array([original])) for name in ("source", "exemplar", "target")
            }
            alone = model(TrainingBatch.from_triples(replace(triples, **parts), bos=BOS, eos=EOS))
            own = layout.owners == place
            torch.testing.assert_close(alone.log_likelihood, together.log_likelihood[own], rtol=0, atol=1e-5)
            torch.testing.assert_close(alone.divergence[0], together.divergence[place], rtol=0, atol=1e-5)
            torch.testing.assert_close(alone.sketch_logits[0], together.sketch_logits[place], rtol=0, atol=1e-5)
            assert torch.equal(alone.codes[0], together.codes[place])


@KINDS
def test_decoding_step_by_step_equals_the_teacher_forced_pass(config: ModelConfig) -> None:
    model = make_model(config)
    targets = [[BOS, 9, 8, 4, EOS], [BOS, 5, EOS], [BOS, 11, 12, EOS]]
    with torch.no_grad():
        encoding = model.encode(Sentences.from_lists(SENTENCES))
        sources = torch.tensor([2, 0, 2])
        form = model.quantizer.decode(torch.tensor([[0, 1, 2], [3, 2, 1], [1, 1, 1]]))
        whole = model.log_likelihood(encoding, sources, form, Sentences.from_lists(targets))
        for group, target in enumerate(targets):
            state, score = model.start(encoding, sources[[group]], form[[group]]), 0.0
            for token, following in itertools.pairwise(target):
                log_probs = model.step(torch.tensor([[token]]), state)
                assert log_probs.exp().sum().item() == pytest.approx(1, abs=1e-4)
                score += log_probs[0, 0, following].item()
            assert score == pytest.approx(whole[group].item(), abs=1e-4)


@KINDS
def test_training_forward_in_evaluation_mode_equals_scoring(config: ModelConfig) -> None:
    """The two ways through the model, `forward` and `encode` + `log_likelihood`, are one model."""
    model, triples = make_model(config), make_triples(5)
    batch = TrainingBatch.from_triples(triples, bos=BOS, eos=EOS)
    source, exemplar = (Sentences.from_ragged(part, first=BOS, last=EOS) for part in (triples.source, triples.exemplar))
    target = Sentences.from_ragged(triples.target, first=BOS, last=EOS)
    with torch.no_grad():
        output = model(batch)
        form = model.quantizer.decode(model.quantizer.encode(model.encode(exemplar).form))
        scores = model.log_likelihood(model.encode(source), torch.arange(5), form, target)
    order = np.argsort(triples.target.lengths, kind="stable")
    summed = torch.zeros(5).index_add(0, batch.decoder_input.layout.owners, output.log_likelihood)
    torch.testing.assert_close(summed, scores[torch.from_numpy(order)], rtol=0, atol=1e-4)


@KINDS
def test_the_predictor_trains_nothing_but_itself(config: ModelConfig) -> None:
    model = make_model(config).train()
    output = model(make_batch())
    torch.nn.functional.cross_entropy(output.sketch_logits.flatten(0, 1), output.codes.flatten()).backward()
    touched = {name for name, value in model.named_parameters() if value.grad is not None and value.grad.any()}
    assert touched
    assert all(name.startswith("predictor.") for name in touched)


@KINDS
def test_every_level_and_every_part_gets_a_gradient(config: ModelConfig) -> None:
    model = make_model(replace(config, depth_dropout=0.0)).train()
    output = model(make_batch(32))
    loss = -output.log_likelihood.mean() + output.divergence.mean() + output.sketch_logits.square().mean()
    loss.backward()
    assert [name for name, value in model.named_parameters() if value.grad is None or not value.grad.any()] == []
    gradient = model.quantizer.codebooks.grad
    assert gradient is not None
    assert (gradient.flatten(1).norm(dim=1) > 0).all()


def test_before_quantisation_the_decoder_reads_the_form_itself() -> None:
    model, batch = make_model(), make_batch(5)
    with torch.no_grad():
        forms, codes = model(batch, quantise=False).log_likelihood, model(batch).log_likelihood
        model.quantizer.codebooks.mul_(0.5)
        assert torch.equal(model(batch, quantise=False).log_likelihood, forms)
        assert not torch.allclose(model(batch).log_likelihood, codes)


def test_a_causal_encoder_looks_only_back() -> None:
    sentences = [Sentences.from_lists([[BOS, 5, 6, last, EOS]]) for last in (7, 8)]
    for config, same in ((POST_NORM, True), (replace(POST_NORM, causal_encoder=False), False)):
        model = make_model(config)
        with torch.no_grad():
            first, second = (model.encode(part).states[:3] for part in sentences)
        assert torch.allclose(first, second, atol=1e-6) == same


def test_token_dropout_masks_at_its_rate_in_training_only(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_model(replace(MODEL, token_dropout=0.2))
    seen: list[torch.Tensor] = []
    monkeypatch.setattr(model.decoder, "forward", lambda x, *_: seen.append(x) or x)
    inputs = Sentences.from_lists([[BOS] * 20] * 200)
    blank = torch.zeros(0)
    for training in (True, False):
        model.train(training)
        model._decode(inputs, blank, inputs.layout, blank)
    masked = model.embedding(torch.full_like(inputs.tokens, model.mask_id), inputs.layout.positions)
    share = [(part == masked).all(dim=1).float().mean().item() for part in seen]
    assert share[0] == pytest.approx(0.2, abs=0.03)
    assert share[1] == 0


def test_evaluation_leaves_the_model_as_it_is() -> None:
    model = make_model()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.no_grad():
        model(make_batch())
        model.encode(Sentences.from_lists(SENTENCES))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_mixed_precision_trains_and_keeps_distances_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    model, seen = make_model().train(), []
    whole = HierarchicalQuantizer.forward

    def watch(self: HierarchicalQuantizer, x: torch.Tensor, *rest: object, **more: object) -> object:
        seen.append((x.dtype, torch.is_autocast_enabled("cpu")))
        return whole(self, x, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(HierarchicalQuantizer, "forward", watch)
    with torch.backends.mkldnn.flags(enabled=False):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            output = model(make_batch())
            loss = -output.log_likelihood.mean() + output.divergence.mean() + output.sketch_logits.square().mean()
        loss.backward()
    assert seen == [(torch.float32, False)]
    assert all(value.grad is not None and value.grad.isfinite().all() for value in model.parameters())


def test_frozen_embeddings_are_no_parameters_to_train() -> None:
    model = HRQVAE(replace(MODEL, frozen_embeddings=True), mask_id=3).train()
    (-model(make_batch()).log_likelihood.mean()).backward()
    assert model.embedding.weight.grad is None
