"""Separator: which codes its predictor learns, the search over heads, and the two parts of a run."""

import itertools

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from tiny import tiny_task

from parasketch.data.prepared import Prepared
from parasketch.systems.separator.codes import best_codes, code_targets, codes_of_corpus
from parasketch.systems.separator.network import Separator
from parasketch.systems.separator.task import SeparatorTask
from parasketch.train.optimizer import make_optimizer, set_learning_rates


def make(corpus: Prepared) -> SeparatorTask:
    torch.manual_seed(0)
    task = tiny_task("separator", corpus)
    assert isinstance(task, SeparatorTask)
    task.build()
    return task


def test_targets_are_the_codes_of_the_others(language_corpus: Prepared) -> None:
    members = list(language_corpus.cluster_sentences(2))
    codes = torch.zeros(language_corpus.num_sentences, 2, dtype=torch.int64)
    codes[members] = torch.tensor([[0, 1], [2, 1], [2, 3], [4, 1]])
    found = code_targets(language_corpus, codes, np.array(members[:2]), 5)
    assert found[0].tolist() == [[0, 0, 0.5, 0, 0.5], [0, 0.5, 0, 0.5, 0]], "each code once, however often it occurs"
    torch.testing.assert_close(found[1], torch.tensor([[1, 0, 1, 0, 1], [0, 1.5, 0, 1.5, 0]]) / 3)


@pytest.mark.parametrize("n", [1, 3])
def test_the_best_codes(n: int) -> None:
    """Heads are independent: with as many expansions as outputs the beam is exact."""
    torch.manual_seed(1)
    log_probs = torch.randn(2, 3, 5).log_softmax(-1)
    found = best_codes(log_probs, n=n)
    for row in range(2):
        scores = {
            path: sum(float(log_probs[row, head, code]) for head, code in enumerate(path))
            for path in itertools.product(range(5), repeat=3)
        }
        best = sorted(scores, key=lambda path: -scores[path])[:n]
        assert [tuple(path) for path in found.codes[row].tolist()] == best
        assert found.log_probs[row].tolist() == pytest.approx([scores[path] for path in best])


def test_given_codes_are_kept() -> None:
    log_probs = torch.randn(2, 3, 5).log_softmax(-1)
    found = best_codes(log_probs, n=2, prefixes=[(4, 0), ()])
    assert found.codes[0, :, :2].tolist() == [[4, 0], [4, 0]]
    assert found.codes[1, 0].tolist() == log_probs[1].argmax(dim=-1).tolist()


def test_the_memory_is_the_sources_meaning_in_the_exemplars_form(language_corpus: Prepared) -> None:
    network = make(language_corpus).network.eval()
    assert isinstance(network, Separator)
    pooled = torch.randn(3, 16)
    spliced = network.splice(pooled, network.codes_of(pooled))
    assert torch.equal(spliced[:, :8], pooled[:, :8])
    assert torch.equal(network.codes_of(spliced), network.codes_of(pooled))


def test_the_network_and_the_predictor_learn_one_after_the_other(language_corpus: Prepared) -> None:
    task, fabric = make(language_corpus), Fabric(accelerator="cpu", devices=1)
    network, settings = task.network, task.config.train
    optimizer, examples = make_optimizer(task.parameter_groups(), settings), task.examples()

    def step(share: float) -> set[str]:
        before = {name: value.clone() for name, value in network.state_dict().items()}
        set_learning_rates(optimizer, share, settings)
        task.before_step(share, fabric)
        network.train()
        task.loss(network, examples.batch(0, np.arange(8)), share).value.backward()
        assert all(value.grad is not None for value in network.parameters()), "several processes expect a gradient"
        optimizer.step()
        optimizer.zero_grad()
        task.after_step(1, fabric)
        return {
            name.split(".")[0] for name, value in network.state_dict().items() if not torch.equal(value, before[name])
        }

    assert step(0.2) == {"embedding", "encoder", "pooling", "log_variance", "decoder", "quantizer"}
    for share in (0.5, 0.6, 0.7):
        assert step(share) <= {"predictor"}, "Adam's momentum does not go on either"
    codes = codes_of_corpus(network, language_corpus, torch.device("cpu"))
    assert torch.equal(codes, task._codes)
    assert codes.shape == (language_corpus.num_sentences, 4)
