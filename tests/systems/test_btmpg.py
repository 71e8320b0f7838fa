"""BTmPG: schedules and weights by hand, soft tokens, gradients from the second round to the first, rounds, memory."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import tiny_task
from torch import Tensor
from torch.nn import functional as F

from parasketch.data.pairs import Pairs
from parasketch.data.prepared import Prepared, Ragged
from parasketch.errors import UsageError
from parasketch.generate.paraphraser import Paraphraser
from parasketch.generate.settings import GenerateConfig
from parasketch.model.ragged import pad
from parasketch.systems.btmpg.back import SoftSentences
from parasketch.systems.btmpg.config import BtmpgTrainConfig, ModelConfig
from parasketch.systems.btmpg.engine import BtmpgEngine, in_order
from parasketch.systems.btmpg.network import BTmPG
from parasketch.systems.btmpg.task import BtmpgTask, kl_weight, opening_weights, sharpness
from parasketch.systems.recurrent.pairs import SequencePairs

CPU = torch.device("cpu")


def make(corpus: Prepared, *settings: str) -> tuple[BtmpgTask, BTmPG, SequencePairs]:
    torch.manual_seed(0)
    task = tiny_task("btmpg", corpus, *settings)
    assert isinstance(task, BtmpgTask)
    network = task.build()
    assert isinstance(network, BTmPG)
    return task, network, task.examples().batch(0, np.arange(6))


def test_the_kl_rises_as_a_tanh() -> None:
    """The paper's numbers as shares of 100,000 steps: the middle at 8,000, the slope 1,000 steps."""
    config = BtmpgTrainConfig(kl_middle=0.08, kl_slope=0.01)
    assert kl_weight(0.08, config) == pytest.approx(0.5)
    assert kl_weight(0.09, config) == pytest.approx(0.5 * (1 + (math.e - 1 / math.e) / (math.e + 1 / math.e)))
    assert kl_weight(0.0, config) == pytest.approx(1.125e-7, rel=1e-3)
    assert kl_weight(1.0, config) == pytest.approx(1.0)


def test_samples_get_sharper() -> None:
    config = BtmpgTrainConfig(sharp_at=0.5, sharpest=100.0)
    assert [sharpness(share, config) for share in (0.0, 0.25, 0.5, 1.0)] == pytest.approx([1, 10, 100, 100])


def test_rare_openings_count_more() -> None:
    """log2(2 N / c): of four sentences two begin with 7, one each with 5 and 9."""
    assert opening_weights(torch.tensor([7, 5, 7, 9])).tolist() == [2.0, 3.0, 2.0, 3.0]
    assert opening_weights(torch.tensor([3, 3])).tolist() == [1.0, 1.0]


def test_the_loss_is_the_sum_of_its_parts(language_corpus: Prepared) -> None:
    task, network, batch = make(language_corpus)
    network.eval()
    torch.manual_seed(1)
    output = network(batch, sharpness=sharpness(0.7, task.config.train), free_steps=30)
    torch.manual_seed(1)
    loss = task.loss(network, batch, 0.7)
    scores, starts = output.log_likelihood, batch.targets.layout.starts
    first = batch.targets.tokens[torch.from_numpy(starts)]
    expected = -scores.sum() - ((opening_weights(first) - 1) * scores[torch.from_numpy(starts)]).sum()
    expected = expected + kl_weight(0.7, task.config.train) * output.divergence.sum() - output.back.sum()
    torch.testing.assert_close(loss.value, (expected - output.back_again.sum()) / 6)
    assert set(loss.terms) == {"nll", "kl", "back", "back_again"}
    assert set(task.loss(network, batch, 0.4).terms) == {"nll", "kl", "back"}, "before the second round begins"


def test_soft_tokens_that_are_certain_are_tokens(language_corpus: Prepared) -> None:
    _, network, batch = make(language_corpus)
    network.eval()
    sources, size = batch.sources, network.config.vocab_size
    one_hot = F.one_hot(sources.tokens, size).float()
    hard, soft = network.encode(sources), network.encode_soft(one_hot, sources.layout)
    torch.testing.assert_close(soft.states, hard.states)
    latent = torch.randn(6, 4)
    states = [network.start(source, latent) for source in (hard, soft)]
    begin = batch.inputs.tokens[:1].expand(6, 1)
    torch.testing.assert_close(*(network.step(begin, state) for state in states))
    steps = list(pad(one_hot, sources.layout).unbind(1))
    vectors = one_hot @ network.embedding.weight * network.embedding.scale
    read = SoftSentences(vectors, sources.layout, steps)
    both = [network.back(network.embedding, each, batch.inputs, batch.targets.tokens) for each in (sources, read)]
    torch.testing.assert_close(*both)


def test_the_second_round_passes_gradients_to_the_first(language_corpus: Prepared) -> None:
    _, network, batch = make(language_corpus)
    source = network.encode(batch.sources)
    said = network._teach(source, torch.randn(6, 4), batch.inputs)
    said.retain_grad()
    heard = network.encode_soft(said, batch.targets.layout)
    begin, end = batch.inputs.tokens[0], int(batch.targets.tokens[-1])
    soft = network.run_free(heard, torch.randn(6, 4), begin=begin, end=end, steps=8, sharpness=2.0)
    network.back(network.embedding, soft, batch.inputs, batch.targets.tokens).sum().backward()
    assert said.grad is not None
    assert bool(said.grad.isfinite().all())
    assert bool((said.grad.abs().sum(dim=1) > 0).all()), "every token of the first round can be blamed"


def test_steps_say_what_whole_sentences_say(language_corpus: Prepared) -> None:
    _, network, batch = make(language_corpus)
    network.eval()
    latent, layout = torch.randn(6, 4), batch.targets.layout
    with torch.no_grad():
        source = network.encode(batch.sources)
        whole, state = network._teach(source, latent, batch.inputs), network.start(source, latent)
        for step in range(int(layout.lengths.min())):
            rows = torch.from_numpy(layout.starts + step)
            scores = network.step(batch.inputs.tokens[rows][:, None], state)
            torch.testing.assert_close(scores[:, 0].exp(), whole[rows], rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(whole.sum(dim=1), torch.ones(len(whole)))


def test_which_rounds_are_shown() -> None:
    assert in_order(10, 1) == [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
    assert in_order(10, 3)[:3] == [10, 6, 3], "as the paper's top 3"
    assert in_order(3, 5) == [3, 2, 1], "other noise gives the rest"


def test_rounds_depend_on_text_and_seed_alone(language_corpus: Prepared) -> None:
    task, network, _ = make(language_corpus)
    engine = BtmpgEngine(network.eval(), task.tokenizer, GenerateConfig(max_tokens=12), device=CPU)
    texts = engine.prepare(["anna sees the dogs", "ben hears the cats now"])
    three = engine.write(texts, rounds=3, seed=0)
    assert engine.write(texts, rounds=2, seed=0) == three[:2]
    assert [said[0] for said in engine.write(texts[1:], rounds=3, seed=0)] == [said[1] for said in three]
    first, tenth = engine._noise(texts[0], 0, 10)[[0, 9]].abs().mean(dim=1)
    noise = torch.stack([engine._noise(texts[0], seed, 10) for seed in range(200)])
    torch.testing.assert_close(noise.std(dim=(0, 2)), torch.exp(-torch.arange(10) / 10), rtol=0.1, atol=0)
    assert not torch.equal(first, tenth)


def test_rounds_of_a_call(language_corpus: Prepared, tmp_path: Path) -> None:
    task, network, _ = make(language_corpus)
    task.save(tmp_path / "model", {})
    paraphraser = Paraphraser.from_pretrained(tmp_path / "model", device="cpu")
    engine = BtmpgEngine(network.eval(), task.tokenizer, GenerateConfig(), device=CPU)
    [wanted] = engine.write(engine.prepare(["anna sees the dogs"]), rounds=2, seed=0)[1]
    [found] = paraphraser("anna sees the dogs", rounds=2, rerank=False)
    assert found.text.lower() == wanted
    assert len(paraphraser("anna sees the dogs", n=5, rounds=2)) == 5
    with pytest.raises(UsageError, match=r"rounds is 11 \(expected a whole number, 1 to 10\)"):
        paraphraser("anna sees the dogs", rounds=11)


def test_the_memory_of_soft_tokens_is_bounded() -> None:
    """At most 3 GB at batch 32, length 30 and BERT's vocabulary: what backward keeps, scaled, twice for gradients."""
    batch_size, length, vocabulary = 4, 30, 2000
    config = replace(
        ModelConfig(vocab_size=vocabulary, max_length=32, width=16, lstm_width=16, latent=4, back_ff=16),
        back_heads=2,
        back_layers=1,
    )
    network, rng = BTmPG(config, mask_id=3), np.random.default_rng(0)
    part = Ragged(
        rng.integers(4, vocabulary, batch_size * (length - 1)).astype(np.int32),
        np.full(batch_size, length - 1, dtype=np.int32),
    )
    numbers = np.arange(batch_size)
    batch = SequencePairs.from_pairs(Pairs(part, part, numbers, numbers), bos=1, eos=2)
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = network(batch, sharpness=1.0, free_steps=length)
    assert output.back_again is not None
    large = sum(size for size in kept.values() if size >= 4 * batch_size * vocabulary)
    scale = (32 / batch_size) * (30522 / vocabulary)
    assert 2 * large * scale <= 3e9
