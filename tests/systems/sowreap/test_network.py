"""REAP and SOW as networks: the order matters, company does not, training and decoding agree, nothing is shared."""

import numpy as np
import pytest
import torch
from tiny import BOS, EOS, MASK, VOCABULARY, make_triples

from parasketch.model.inputs import Sentences
from parasketch.systems.sowreap.config import ModelConfig
from parasketch.systems.sowreap.examples import OrderedPairs, SowReapBatch, gap_ranks, tag_numbers
from parasketch.systems.sowreap.network import SowReap

CONFIG = ModelConfig(
    vocab_size=VOCABULARY, max_length=24, width=16, heads=2, ff=32, encoder_layers=1, decoder_layers=2, sow_layers=1,
    tags="NN VB phrase:nsubj",
)  # fmt: skip


def make() -> SowReap:
    torch.manual_seed(0)
    return SowReap(CONFIG, mask_id=MASK)


def make_batch(size: int = 6) -> SowReapBatch:
    triples, rng = make_triples(size), np.random.default_rng(0)
    source = Sentences.from_ragged(triples.source, first=BOS, last=EOS)
    ranks = np.concatenate([rng.permutation(length) for length in source.layout.lengths])
    reap = OrderedPairs.of(source, ranks, triples.target, bos=BOS, eos=EOS)
    tags = rng.integers(-1, 3, len(triples.source.tokens)).astype(np.int32)
    gaps = gap_ranks(source, np.arange(size) % 2 == 0, (5, 6))
    sow = OrderedPairs.of(source, gaps, triples.target, bos=BOS, eos=EOS, tags=tag_numbers(source, tags))
    return SowReapBatch(reap, sow)


def test_the_gap_that_comes_first_has_rank_1() -> None:
    phrases = Sentences.from_lists([[BOS, 4, 8, 9, EOS], [BOS, 8, 4, 9, EOS]])
    assert gap_ranks(phrases, np.array([False, True]), (8, 9)).tolist() == [0, 0, 1, 2, 0, 0, 2, 0, 1, 0]
    assert tag_numbers(phrases, np.array([0, 1, -1, 2, 0, 0], dtype=np.int32)).tolist() == [
        0,
        1,
        2,
        0,
        0,
        0,
        3,
        1,
        1,
        0,
    ]


@torch.inference_mode()
def test_training_and_decoding_agree_and_the_order_matters() -> None:
    network, pairs = make().eval(), make_batch().reap
    layout = pairs.decoder_input.layout
    summed = torch.zeros(layout.batch_size).index_add(0, layout.owners, network.log_likelihood(pairs))
    memory = network.add_order(network.encode(pairs.encoded), pairs.ranks)
    source, rows = pairs.encoded.layout.select(pairs.source_places[:1])
    tokens = np.split(pairs.decoder_input.tokens.numpy(), np.cumsum(layout.lengths)[:-1])[0].tolist()

    def score(ranks: torch.Tensor) -> float:
        state = network.start(network.add_order(network.encode(pairs.encoded), ranks)[rows], source)
        steps = zip(tokens, [*tokens[1:], EOS], strict=True)
        return sum(float(network.step(torch.tensor([[last]]), state)[0, 0, token]) for last, token in steps)

    assert memory.shape == (pairs.encoded.layout.num_tokens, 16)
    assert score(pairs.ranks) == pytest.approx(float(summed[0]), abs=1e-4)
    assert score(pairs.ranks.flip(0)) != pytest.approx(float(summed[0]), abs=1e-4)


@torch.inference_mode()
def test_company_changes_nothing() -> None:
    sow, texts = make().eval().sow, [[BOS, 5, 6, EOS], [BOS, 7, 8, 9, 10, EOS], [BOS, 4, EOS]]
    tags = [torch.arange(len(text)) % 4 for text in texts]
    together = sow.encode(Sentences.from_lists(texts), torch.cat(tags))
    alone = [sow.encode(Sentences.from_lists([text]), tag) for text, tag in zip(texts, tags, strict=True)]
    torch.testing.assert_close(together, torch.cat(alone), rtol=0, atol=1e-5)


def test_every_parameter_learns_and_each_network_from_its_own_loss() -> None:
    network, batch = make().train(), make_batch()
    output = network(batch)
    output.reap.mean().backward(retain_graph=True)
    learnt = {name for name, value in network.named_parameters() if value.grad is not None}
    assert learnt == {name for name, _ in network.named_parameters() if not name.startswith("sow.")}
    output.sow.mean().backward()
    assert all(value.grad is not None for value in network.parameters())
