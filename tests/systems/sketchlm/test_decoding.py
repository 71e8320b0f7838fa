"""Decoding over the shared cache of a source gives what reading the whole row at once gives."""

import numpy as np
import pytest
import torch
from tiny_language_model import ready, tiny_network

from parasketch.light import sessions
from parasketch.systems.sketchlm.decoding import Decoding, Sampling
from parasketch.systems.sketchlm.ids import END, START
from parasketch.systems.sketchlm.model import NextTokens, SketchModel
from parasketch.systems.sketchlm.network import Example, Rows, SketchLM, Target

SOURCES = [[5, 6, 7, 8], [9, 10], [11, 12, 13, 14, 15, 16, 17]]


def _whole_row(network: SketchLM, ids: list[int]) -> torch.Tensor:
    """States (T, width) of a row read at once, without a form."""
    states: torch.Tensor = network.language_model(network.embed(torch.tensor([ids])))[0]
    return states


def _next_logits(network: SketchLM, source: list[int], sketch: tuple[int, ...], target: list[int]) -> torch.Tensor:
    """What the network predicts after a beginning of a target, as training reads the row."""
    rows = Rows.from_examples([Example(source, [Target(target, sketch, len(sketch))])], network.ids)
    return network.states(rows)[rows.target_at[-1]] @ network.language_model.embedding.T


@torch.no_grad()
def test_states_of_a_grid_equal_those_of_whole_rows() -> None:
    network = tiny_network()
    decoding = Decoding(ready(network))
    grid, first = decoding.read(SOURCES)
    for number, source in enumerate(SOURCES):
        whole = _whole_row(network, [START, *source, network.ids.sketch])
        np.testing.assert_allclose(first[number], whole[-1], atol=1e-5, rtol=1e-4)
    grid = grid.choose(np.zeros((3, 2), dtype=np.int64))
    steps = np.random.default_rng(1).integers(0, 300, (12, 3, 2))  # more than rows have room for at first
    for ids in steps:
        states = decoding.advance(grid, ids.ravel()).reshape(3, 2, -1)
    for number, source in enumerate(SOURCES):
        for row in range(2):
            whole = _whole_row(network, [START, *source, network.ids.sketch, *steps[:, number, row].tolist()])
            np.testing.assert_allclose(states[number, row], whole[-1], atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_best_sketches_are_those_of_brute_force() -> None:
    network = tiny_network(codes=3)
    decoding = Decoding(ready(network))
    grid, states = decoding.read(SOURCES)
    found = decoding.sketches(grid, states, [(), (2,), ()], count=5)
    for number, source in enumerate(SOURCES):
        scores = {}
        for a in range(3):
            for b in range(3):
                for c in range(3):
                    ids = [START, *source, network.ids.sketch, *network.ids.of((a, b, c))]
                    whole = _whole_row(network, ids)[len(source) + 1 :]
                    parts = [network.code_logits(whole[level], level).log_softmax(-1) for level in range(3)]
                    first = parts[0][a] if number != 1 else torch.tensor(0.0 if a == 2 else -torch.inf)
                    scores[a, b, c] = float(first + parts[1][b] + parts[2][c])
        expected = sorted(scores, key=scores.__getitem__, reverse=True)[:5]
        assert [tuple(codes) for codes in found.codes[number].tolist()] == expected
        np.testing.assert_allclose(found.log_probs[number], [scores[each] for each in expected], atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_greedy_rows_take_the_most_probable_tokens_and_do_not_depend_on_neighbours() -> None:
    network = tiny_network(seed=3)
    decoding = Decoding(ready(network))

    def run(sources: list[list[int]]) -> tuple[list[list[tuple[tuple[int, ...], bool]]], list[list[list[int]]]]:
        grid, states = decoding.read(sources)
        found = decoding.sketches(grid, states, [()] * len(sources), count=2)
        ids = np.array([[network.ids.of(tuple(path)) for path in paths] for paths in found.codes.tolist()])
        rows = decoding.generate(*decoding.begin(grid, ids), limits=[6] * len(sources))
        return [[(tuple(row.tokens), row.finished) for row in each] for each in rows], found.codes.tolist()

    together, codes = run(SOURCES)
    for number, source in enumerate(SOURCES):
        assert run([source])[0][0] == together[number]
        said: list[int] = []
        for token in together[number][0][0]:
            assert int(_next_logits(network, source, tuple(codes[number][0]), said).argmax()) == token
            said.append(token)


@torch.no_grad()
def test_the_grade_of_a_row_is_read_off_the_state_that_ends_it() -> None:
    network = tiny_network(seed=5)
    network.language_model.embedding[END] *= 3  # or few rows would end
    network.grade_output.copy_(torch.randn(2, network.config.base.width + 1, generator=torch.manual_seed(1)))
    decoding = Decoding(ready(network))
    grid, _ = decoding.read(SOURCES)
    sketches = [(a, b) for a in range(4) for b in range(4)]
    ids = np.array([[network.ids.of(sketch) for sketch in sketches]] * len(SOURCES))
    finished = 0
    for source, rows in zip(SOURCES, decoding.generate(*decoding.begin(grid, ids), limits=[30] * 3), strict=True):
        for sketch, row in zip(sketches, rows, strict=True):
            if row.finished:
                finished += 1
                whole = Rows.from_examples([Example(source, [Target(row.tokens, (*sketch, 0), 2)])], network.ids)
                expected = network.grade_logits(network.states(whole)[whole.end_at[0]])
                torch.testing.assert_close(torch.tensor(row.grades), expected, atol=1e-4, rtol=1e-3)
            else:
                assert row.grades == (0.0, 0.0)
    assert finished > 3


@torch.no_grad()
def test_sampling_depends_on_the_seed_of_the_input_alone() -> None:
    network = tiny_network(seed=4)
    decoding = Decoding(ready(network))

    def run(sources: list[list[int]], seeds: list[int]) -> list[list[tuple[int, ...]]]:
        grid, states = decoding.read(sources)
        del states
        ids = np.array([[network.ids.of(())] * 3] * len(sources))
        sampling = Sampling(seeds, greedy=1, temperature=1.0, top_p=0.95)
        rows = decoding.generate(*decoding.begin(grid, ids), limits=[6] * len(sources), sampling=sampling)
        return [[tuple(row.tokens) for row in each] for each in rows]

    assert run(SOURCES, [1, 2, 3])[1:] == run(SOURCES[1:], [2, 3])
    assert run(SOURCES, [1, 2, 3]) != run(SOURCES, [4, 5, 6])


def test_a_row_has_the_ids_of_source_codes_and_target() -> None:
    rows = Rows.from_examples([Example(SOURCES[0], [Target([20, 21], (1, 2, 3), 2)])], tiny_network().ids)
    assert rows.ids[0].tolist() == [START, 5, 6, 7, 8, 300, 302, 308, 315, 20, 21]


def _best(model: SketchModel, sources: list[list[int]]) -> NextTokens:
    """The best next tokens after two beginnings for each source."""
    decoding = Decoding(model)
    grid, _ = decoding.read(sources)
    grid, states = decoding.begin(grid, np.array([[model.ids.of((1, 2)), model.ids.of(())]] * len(sources)))
    for token in (7, 20, 33):
        states = decoding.advance(grid, np.full(2 * len(sources), token))
    return model.next_tokens(states)


def test_cpus_that_add_bytes_up_in_16_bits_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    network = tiny_network(seed=2)
    known = _best(ready(network, exact=False), SOURCES)
    monkeypatch.setattr(sessions, "multiplies_bytes", lambda: False)
    found = _best(ready(network, exact=False), SOURCES)
    assert (found.ids == known.ids).all()
    np.testing.assert_allclose(found.log_probs, known.log_probs, atol=1e-5, rtol=1e-4)


def test_a_model_in_8_bits_is_close_and_a_row_does_not_depend_on_its_neighbours() -> None:
    network = tiny_network(seed=2)
    small = ready(network, exact=False)
    exact, rounded = _best(ready(network), SOURCES), _best(small, SOURCES)
    for at in range(2 * len(SOURCES)):
        known = dict(zip(rounded.ids[at], rounded.log_probs[at], strict=True))
        pairs = [(p, known[id]) for id, p in zip(exact.ids[at], exact.log_probs[at], strict=True) if id in known]
        assert len(pairs) > 35  # of 40
        assert abs(sum(np.exp(p) * (p - q) for p, q in pairs)) < 0.02
    alone = _best(small, SOURCES[:1])
    assert (alone.ids == rounded.ids[:2]).all()
    np.testing.assert_allclose(alone.log_probs, rounded.log_probs[:2], atol=1e-5, rtol=1e-4)
