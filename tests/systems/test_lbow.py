"""LBoW: its mixture and loss by hand, whose words are in a bag, gradients through slots, and bags that are shown."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import tiny_task
from typer.testing import CliRunner

from parasketch.cli import app
from parasketch.data.prepared import Prepared
from parasketch.errors import UsageError
from parasketch.generate.paraphraser import Paraphraser
from parasketch.generate.paraphrases import Sketch
from parasketch.generate.requests import Options, Request
from parasketch.generate.settings import GenerateConfig
from parasketch.model.inputs import Sentences
from parasketch.model.ragged import Layout
from parasketch.systems.lbow import bag as bag_module
from parasketch.systems.lbow.bag import bag_loss, mix_neighbours
from parasketch.systems.lbow.engine import LbowEngine
from parasketch.systems.lbow.network import LBoW
from parasketch.systems.lbow.task import LbowTask
from parasketch.systems.lbow.words import BagWords
from parasketch.systems.recurrent.pairs import SequencePairs
from parasketch.text.templates import STOP_WORDS

CPU = torch.device("cpu")


def make(corpus: Prepared, *settings: str) -> tuple[LbowTask, LBoW, SequencePairs]:
    torch.manual_seed(0)
    task = tiny_task("lbow", corpus, *settings)
    assert isinstance(task, LbowTask)
    network = task.build()
    assert isinstance(network, LBoW)
    return task, network, task.examples().batch(0, np.arange(6))


def test_mixture_and_loss_of_three_words_by_hand() -> None:
    """Two positions with two predictors each, whose scores are logs of probabilities of the words 0, 1, 2."""
    neighbours = torch.tensor([[[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]], [[0.4, 0.4, 0.2], [0.1, 0.3, 0.6]]])
    found = mix_neighbours(neighbours.log(), torch.eye(3), Layout(np.array([2])), torch.tensor([[0, 2]]), slots=2)
    # b = (0.5 + 0.25 + 0.4 + 0.1, 0.25 + 0.5 + 0.4 + 0.3, 0.25 + 0.25 + 0.2 + 0.6) = (1.25, 1.45, 1.3)
    assert found.words.tolist() == [[1, 2]]
    torch.testing.assert_close(found.weights, torch.tensor([[1.45, 1.3]]))
    torch.testing.assert_close(found.wanted, torch.tensor([[1.25, 1.3]]))
    by_hand = -(math.log(1.25 + 1e-6) + math.log(1.3 + 1e-6)) / 3
    assert float(bag_loss(found.wanted, torch.tensor([[True, True]]))) == pytest.approx(by_hand)
    one_word = -math.log(1.25 + 1e-6) / 2
    assert float(bag_loss(found.wanted, torch.tensor([[True, False]]))) == pytest.approx(one_word)


@pytest.mark.parametrize("block", [1 << 20, 60])
def test_the_gradient_of_the_mixture(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of the mixture written out, whatever the size of its blocks; words may be asked for twice."""
    monkeypatch.setattr(bag_module, "BLOCK_ELEMENTS", block)
    torch.manual_seed(0)
    layout, wanted = Layout(np.array([3, 1, 2])), torch.tensor([[1, 5, 5], [0, 2, 3], [19, 4, 1]])
    hidden, table = torch.randn(6, 2, 4, requires_grad=True), torch.randn(20, 4, requires_grad=True)
    found = mix_neighbours(hidden, table, layout, wanted, slots=4)
    plain = torch.zeros(3, 20).index_add(0, layout.owners, torch.softmax(hidden @ table.T, dim=-1).sum(dim=1))
    top = plain.topk(4)
    assert torch.equal(found.words, top.indices)
    torch.testing.assert_close(found.weights, top.values)
    scales = torch.randn(3, 7)
    ours = (torch.cat([found.weights, found.wanted], dim=1) * scales).sum()
    theirs = (torch.cat([top.values, plain.gather(1, wanted)], dim=1) * scales).sum()
    for mine, other in zip(
        torch.autograd.grad(ours, [hidden, table]), torch.autograd.grad(theirs, [hidden, table]), strict=True
    ):
        torch.testing.assert_close(mine, other)


def test_the_slots_pass_gradients_to_the_predictors(language_corpus: Prepared) -> None:
    _, network, batch = make(language_corpus)
    network(batch).log_likelihood.sum().backward()
    assert network.predictors.weight.grad is not None
    assert float(network.predictors.weight.grad.abs().sum()) > 0, "through the weights of the slots alone"
    _, blind, batch = make(language_corpus, "model.slots=0")
    blind(batch).log_likelihood.sum().backward()
    assert blind.predictors.weight.grad is None or not blind.predictors.weight.grad.any()


def test_a_bag_has_the_content_words_of_all_other_sentences(language_corpus: Prepared) -> None:
    """Stop words count as such when a piece is the whole word; the words of the source itself do not count."""
    tokenizer, sentence = language_corpus.tokenizer, 5
    others = [other for other in language_corpus.cluster_sentences(1) if other != sentence]
    assert sentence in language_corpus.cluster_sentences(1)
    expected: dict[int, int] = {}
    for other in others:
        for word in language_corpus.text(other).split():
            pieces = tokenizer.encode(word)
            if word.isalnum() and not (len(pieces) == 1 and word in STOP_WORDS):
                for piece in (piece for piece in pieces if tokenizer.decode([piece])):  # not a space alone
                    expected[piece] = expected.get(piece, 0) + 1
    [found] = BagWords(language_corpus, most=1000).of(np.array([sentence]))
    assert sorted(found) == sorted(expected)
    assert [expected[word] for word in found] == sorted(expected.values(), reverse=True), (
        "those of most sentences first"
    )
    short = BagWords(language_corpus, most=3).of(np.array([sentence, 0]))
    assert short.shape == (2, 3)
    assert short[0].tolist() == found[:3].tolist()


def test_no_result_depends_on_company(language_corpus: Prepared) -> None:
    _, network, batch = make(language_corpus)
    network.eval()
    with torch.no_grad():
        together = network(batch)
        ends = np.cumsum(batch.targets.layout.lengths)
        for row in range(3):
            parts = []
            for sentences in (batch.sources, batch.targets, batch.inputs):
                layout, rows = sentences.layout.select(np.array([row]))
                parts.append(Sentences(sentences.tokens[rows], layout))
            assert batch.bags is not None
            alone = network(SequencePairs(*parts, bags=batch.bags[row : row + 1]))
            mine = together.log_likelihood[ends[row] - len(alone.log_likelihood) : ends[row]]
            torch.testing.assert_close(alone.log_likelihood, mine, rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(alone.bag_loss, together.bag_loss[row : row + 1], rtol=1e-4, atol=1e-5)


def test_steps_say_what_whole_sentences_say(language_corpus: Prepared) -> None:
    _, network, batch = make(language_corpus)
    network.eval()
    with torch.no_grad():
        whole, state = network(batch).log_likelihood, network.start(network.encode(batch.sources))
        layout = batch.targets.layout
        for step in range(int(layout.lengths.min())):
            rows = torch.from_numpy(layout.starts + step)
            scores = network.step(batch.inputs.tokens[rows][:, None], state)
            wanted = scores[:, 0].gather(1, batch.targets.tokens[rows][:, None]).squeeze(1)
            torch.testing.assert_close(wanted, whole[rows], rtol=1e-4, atol=1e-5)


def test_several_bags_are_drawn_by_text_and_seed(language_corpus: Prepared) -> None:
    task, network, batch = make(language_corpus, "model.choice=gumbel")
    loss = task.loss(network, batch, 0.0)
    loss.value.backward()
    assert all(value.grad is not None and value.grad.isfinite().all() for value in network.parameters())
    engine = LbowEngine(network.eval(), task.tokenizer, GenerateConfig(), device=CPU)

    @torch.inference_mode()
    def bags(texts: list[str], seed: int = 0) -> list[list[int]]:
        groups = [(Request(text=text, prefix=Sketch()), number) for text in engine.prepare(texts) for number in (0, 1)]
        return engine._encode(groups, Options(n=2, seed=seed)).bag.words.tolist()

    texts = ["anna sees the dogs", "ben hears the cats now"]
    both = bags(texts)
    assert len({tuple(sorted(bag)) for bag in both}) > 2
    assert bags(texts[1:]) == both[2:]
    assert bags(texts, seed=1) != both
    found = engine.find([Request(text=text, prefix=Sketch()) for text in engine.prepare(texts)], Options(n=3))
    assert all(len(each) >= 3 for each in found)


@pytest.fixture(scope="module")
def model(language_corpus: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Path:
    task, _, _ = make(language_corpus)
    path = tmp_path_factory.mktemp("lbow") / "model"
    task.save(path, {})
    return path


def test_the_bag_is_part_of_the_output(model: Path) -> None:
    paraphraser = Paraphraser.from_pretrained(model, device="cpu")
    plain, shown = paraphraser("anna sees the dogs"), paraphraser("anna sees the dogs", show_bow=True)
    assert [one.text for one in plain] == [one.text for one in shown]
    assert plain[0].bow == ()
    assert "bow" not in plain[0].to_dict()
    assert len(shown[0].bow) == 4
    weights = [one.weight for one in shown[0].bow]
    assert weights == sorted(weights, reverse=True)
    assert shown[0].to_dict()["bow"][0] == {"word": shown[0].bow[0].word, "weight": round(weights[0], 4)}


def test_the_bag_on_the_command_line(model: Path) -> None:
    command = ["paraphrase", "anna sees the dogs", "--model", str(model), "--show-bow"]
    text = CliRunner().invoke(app, command, catch_exceptions=False)
    assert text.stdout.splitlines()[1].startswith("bag of words: ")
    as_json = CliRunner().invoke(app, [*command, "--json"], catch_exceptions=False)
    assert len(json.loads(as_json.stdout)["bow"]) == 4


def test_other_models_have_none(model: Path) -> None:
    with pytest.raises(UsageError, match="rounds cannot be used with this model: the kind lbow does not paraphrase in"):
        Paraphraser.from_pretrained(model, device="cpu")("anna sees the dogs", rounds=2)
    with pytest.raises(UsageError, match="show_bow cannot be used with this model: the kind hrqvae predicts no bag"):
        Paraphraser.from_pretrained("questions", device="cpu")("How are you?", show_bow=True)
