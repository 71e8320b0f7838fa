"""One vector a sentence: the same results alone and in company, in training and step by step, for every bottleneck."""

import numpy as np
import pytest
import torch
from tiny import BOS, EOS, MASK, VOCABULARY, make_triples

from parasketch.data.pairs import Pairs
from parasketch.model.inputs import Sentences
from parasketch.systems.ae.network import AE
from parasketch.systems.pooled.config import PooledModelConfig
from parasketch.systems.pooled.network import PooledNetwork
from parasketch.systems.pooled.pairs import PairBatch
from parasketch.systems.vae.network import VAE
from parasketch.systems.vqvae.network import VQVAE
from parasketch.systems.vqvae.network import ModelConfig as VqConfig

SHAPE = {
    **{"vocab_size": VOCABULARY, "max_length": 24, "width": 16, "heads": 2, "ff": 32},
    **{"encoder_layers": 1, "decoder_layers": 2, "pool_heads": 2},
}
NETWORKS = ("ae", "vae", "vqvae")


def make(kind: str) -> PooledNetwork:
    torch.manual_seed(0)
    if kind == "vqvae":
        return VQVAE(VqConfig(**SHAPE, code_heads=4, codes=8), mask_id=MASK)  # type: ignore[arg-type]
    return {"ae": AE, "vae": VAE}[kind](PooledModelConfig(**SHAPE), mask_id=MASK)  # type: ignore[arg-type]


def make_batch(size: int = 6) -> PairBatch:
    triples, places = make_triples(size), np.arange(size)
    return PairBatch.from_pairs(Pairs(triples.source, triples.target, places, places), bos=BOS, eos=EOS)


def sentences(*lengths: int) -> Sentences:
    rng = np.random.default_rng(0)
    return Sentences.from_lists([[BOS, *rng.integers(4, 14, length).tolist(), EOS] for length in lengths])


@pytest.mark.parametrize("kind", NETWORKS)
@torch.inference_mode()
def test_company_changes_nothing(kind: str) -> None:
    network, texts = make(kind).eval(), [[BOS, 5, 6, EOS], [BOS, 7, 8, 9, 10, 11, EOS], [BOS, 4, EOS]]
    together = network.encode(Sentences.from_lists(texts)).vector
    alone = torch.cat([network.encode(Sentences.from_lists([text])).vector for text in texts])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", NETWORKS)
@torch.inference_mode()
def test_training_scoring_and_decoding_agree(kind: str) -> None:
    network, batch = make(kind).eval(), make_batch()
    trained = network(batch).log_likelihood
    layout = batch.decoder_input.layout
    summed = torch.zeros(layout.batch_size).index_add(0, layout.owners, trained)

    sources, rows = batch.encoded.layout.select(batch.source_places)
    vectors = network.encode(Sentences(batch.encoded.tokens[rows], sources)).vector
    inputs = np.split(batch.decoder_input.tokens.numpy(), np.cumsum(layout.lengths)[:-1])
    targets = Sentences.from_lists([[*tokens.tolist(), EOS] for tokens in inputs])
    torch.testing.assert_close(network.log_likelihood(vectors, targets), summed, rtol=0, atol=1e-4)

    state, scores = network.start(vectors[:1]), 0.0
    for last, token in zip(inputs[0].tolist(), [*inputs[0].tolist()[1:], EOS], strict=True):
        scores += float(network.step(torch.tensor([[last]]), state)[0, 0, token])
    assert scores == pytest.approx(float(summed[0]), abs=1e-4)


@pytest.mark.parametrize("kind", NETWORKS)
def test_every_parameter_learns(kind: str) -> None:
    network, batch = make(kind).train(), make_batch()
    output = network(batch)
    (-output.log_likelihood.mean() + sum(penalty.mean() for penalty in output.penalties.values())).backward()
    without = [name for name, value in network.named_parameters() if value.grad is None]
    assert without == []
    assert network.embedding.weight.grad is not None
    assert network.embedding.weight.grad.abs().sum() > 0


def test_the_vae_is_noisy_in_training_only() -> None:
    network, texts = make("vae"), sentences(3, 5)
    with torch.no_grad():
        states, layout = network.states(texts), texts.layout
        noisy = [network.train().squeeze(states, layout) for _ in range(2)]
        quiet = [network.eval().squeeze(states, layout) for _ in range(2)]
    assert not torch.equal(noisy[0].vector, noisy[1].vector)
    assert torch.equal(quiet[0].vector, quiet[1].vector)
    mean, deviation = quiet[0].vector, quiet[0].deviation
    assert deviation is not None
    by_hand = -0.5 * (1 + 2 * deviation.log() - mean**2 - deviation**2).mean(dim=1)
    torch.testing.assert_close(noisy[0].penalties["kl"], by_hand)
