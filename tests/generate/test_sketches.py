import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch

from parasketch.generate import sketches
from parasketch.generate.sketches import best_sketches
from parasketch.generate.torch_backend import TorchPredictions
from parasketch.model.outputs import Encoding
from parasketch.systems.hrqvae.network import HRQVAE

TEXTS = ["how heavy is a moose?", "where do parrots live?", "a horse."]

Encode = Callable[[HRQVAE, list[str]], Encoding]
Scored = dict[tuple[int, ...], float]


def log_prob_of(model: HRQVAE, pooled: torch.Tensor, path: Sequence[int]) -> float:
    """By one call of the predictor for each code of the path; pooled is (1, width)."""
    total = 0.0
    for level, code in enumerate(path):
        logits = model.predictor.logits(pooled, torch.tensor([path[:level]]).long(), model.quantizer.codebooks)
        total += float(torch.log_softmax(logits, dim=-1)[0, code])
    return total


def brute_force(model: HRQVAE, pooled: torch.Tensor, depth: int, own: list[int], penalty: float) -> Scored:
    """The log-probability of every path, less the penalty for codes of the input's own."""
    scores = {}
    for path in itertools.product(range(model.config.codes), repeat=depth):
        repeated = sum(code == mine for code, mine in zip(path, own, strict=False))
        scores[path] = log_prob_of(model, pooled, path) + repeated * math.log(1 - penalty)
    return scores


def best(scores: Scored, k: int) -> list[tuple[tuple[int, ...], float]]:
    return sorted(scores.items(), key=lambda pair: -pair[1])[:k]


@pytest.mark.parametrize("conditioning", ["previous", "cumulative"])
@pytest.mark.parametrize("penalty", [0.0, 0.6])
@pytest.mark.parametrize("k", [1, 5, 64])
def test_the_k_best_are_those_of_a_brute_force_search(
    make_model: Callable[..., HRQVAE], encode: Encode, conditioning: str, penalty: float, k: int
) -> None:
    model = make_model(predictor_conditioning=conditioning)
    with torch.inference_mode():
        encoding = encode(model, TEXTS)
        pooled, own = model.pooled_meaning(encoding), model.quantizer.encode(encoding.form).numpy()
        found = best_sketches(TorchPredictions(model, pooled), k=k, depth=3, own=own, own_penalty=penalty)
        for place in range(len(TEXTS)):
            expected = best(brute_force(model, pooled[place : place + 1], 3, own[place].tolist(), penalty), k)
            assert [tuple(path) for path in found.codes[place].tolist()] == [path for path, _ in expected]
            np.testing.assert_allclose(found.log_probs[place], [score for _, score in expected], atol=1e-4)


def test_every_depth_has_its_own_best_sketches(model: HRQVAE, encode: Encode) -> None:
    with torch.inference_mode():
        encoding = encode(model, TEXTS[:1])
        pooled, own = model.pooled_meaning(encoding), model.quantizer.encode(encoding.form).numpy()
        for depth in (1, 2):
            found = best_sketches(TorchPredictions(model, pooled), k=3, depth=depth, own=own)
            expected = best(brute_force(model, pooled, depth, own[0].tolist(), 0.0), 3)
            assert [tuple(path) for path in found.codes[0].tolist()] == [path for path, _ in expected]
        nothing = best_sketches(TorchPredictions(model, pooled), k=3, depth=0, own=own)
    assert nothing.codes.shape == (1, 1, 0)
    assert nothing.log_probs.tolist() == [[0.0]]


def test_prefixes_can_differ_from_input_to_input(model: HRQVAE, encode: Encode) -> None:
    prefixes = [(2,), (), (1, 3)]
    with torch.inference_mode():
        encoding = encode(model, TEXTS)
        pooled, own = model.pooled_meaning(encoding), model.quantizer.encode(encoding.form).numpy()
        found = best_sketches(TorchPredictions(model, pooled), k=6, depth=3, own=own, prefixes=prefixes)
        for place, prefix in enumerate(prefixes):
            scores = brute_force(model, pooled[place : place + 1], 3, own[place].tolist(), 0.0)
            allowed = {path: score for path, score in scores.items() if path[: len(prefix)] == prefix}
            real = np.isfinite(found.log_probs[place])
            paths = [tuple(path) for path in found.codes[place][real].tolist()]
            assert paths == [path for path, _ in best(allowed, 6)]
    assert np.isfinite(found.log_probs).sum(axis=1).tolist() == [6, 6, 4]  # (1, 3) has four continuations
    assert (found.codes[2, 4:] == sketches.NO_CODE).all()


def test_sketches_do_not_depend_on_the_batch(model: HRQVAE, encode: Encode) -> None:
    with torch.inference_mode():
        encoding = encode(model, TEXTS)
        pooled, own = model.pooled_meaning(encoding), model.quantizer.encode(encoding.form).numpy()
        together = best_sketches(TorchPredictions(model, pooled), k=7, depth=3, own=own, own_penalty=0.2)
        for place in range(len(TEXTS)):
            one = slice(place, place + 1)
            alone = best_sketches(TorchPredictions(model, pooled[one]), k=7, depth=3, own=own[one], own_penalty=0.2)
            assert (alone.codes[0] == together.codes[place]).all()


def test_a_large_tree_is_searched_by_a_beam(
    make_model: Callable[..., HRQVAE], encode: Encode, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_model(levels=7, codes=8)  # two million sketches
    with torch.inference_mode():
        encoding = encode(model, TEXTS)
        pooled, own = model.pooled_meaning(encoding), model.quantizer.encode(encoding.form).numpy()
        found = best_sketches(TorchPredictions(model, pooled), k=4, depth=7, own=own)
        monkeypatch.setattr(sketches, "LARGEST_TREE", 8**7)
        exact = best_sketches(TorchPredictions(model, pooled), k=4, depth=7, own=own)
        assert found.codes.shape == (3, 4, 7)
        assert len({tuple(path) for path in found.codes[0].tolist()}) == 4
        for place in range(len(TEXTS)):
            for path, log_prob in zip(found.codes[place].tolist(), found.log_probs[place].tolist(), strict=True):
                assert log_prob == pytest.approx(log_prob_of(model, pooled[place : place + 1], path), abs=1e-4)
    np.testing.assert_allclose(found.log_probs[:, 0], exact.log_probs[:, 0], atol=1e-4)  # a beam of 64 finds the best


def test_the_penalty_moves_away_from_the_inputs_own_codes(model: HRQVAE, encode: Encode) -> None:
    with torch.inference_mode():
        encoding = encode(model, TEXTS)
        pooled = model.pooled_meaning(encoding)
        free = best_sketches(TorchPredictions(model, pooled), k=1, depth=3, own=np.zeros((3, 3), np.int64))
        likely = free.codes[:, 0]
        away = best_sketches(TorchPredictions(model, pooled), k=1, depth=3, own=likely, own_penalty=0.999)
    assert (away.codes[:, 0] != free.codes[:, 0]).any(axis=1).all()
