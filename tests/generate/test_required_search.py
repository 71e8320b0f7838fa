"""Sentences that must contain something: the search with required tokens."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch

from parasketch.generate.decoding import Rules
from parasketch.generate.required import Required
from parasketch.generate.settings import GenerateConfig
from parasketch.generate.tokens import Hypothesis, Sampling, SpecialTokens, TokenSearch, output_limits
from parasketch.generate.torch_backend import TransformerDecoding
from parasketch.model.outputs import Encoding
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.text.tokenizer import Tokenizer

from .slow_search import log_likelihoods, slow_required_beam

TEXTS = ["how heavy is a moose?", "parrots", "where do where do whales live?"]
SOURCES = torch.tensor([0, 0, 1, 2, 2, 0])
SKETCHES = torch.tensor([[0, 1, 2], [3, 3, 3], [1, 1, 0], [2, 0, 1], [0, 0, 0], [1, 2, 1]])
WORDS = [["moose"], ["heavy is", "spider"], [], ["whales", "camel", "live"], [], ["zq"]]

Runs = list[list[int]]
Search = Callable[..., list[list[Hypothesis]]]


@pytest.fixture
def runs(tokenizer: Tokenizer) -> list[Runs]:
    return [[tokenizer.encode(word) for word in words] for words in WORDS]


def as_required(runs: Runs) -> Required:
    inside = [place > 0 for run in runs for place in range(len(run))]
    return Required(tuple(itertools.chain(*runs)), tuple(inside))


def contains(tokens: Sequence[int], runs: Runs) -> bool:
    """Whether the runs follow each other somewhere in the tokens, each in one piece."""
    start = 0
    for run in runs:
        places = [place for place in range(start, len(tokens)) if list(tokens[place : place + len(run)]) == run]
        if not places:
            return False
        start = places[0] + len(run)
    return True


@pytest.fixture
def search(tokenizer: Tokenizer, encode: Callable[[HRQVAE, list[str]], Encoding], runs: list[Runs]) -> Search:
    def run(
        model: HRQVAE, *, groups: Sequence[int] = range(6), required: list[Required] | None = None, width: int = 10,
        config: GenerateConfig | None = None, sampling: Sampling | None = None,
    ) -> list[list[Hypothesis]]:  # fmt: skip
        chosen = list(groups)
        wanted = [as_required(runs[group]) for group in chosen] if required is None else required
        with torch.inference_mode():
            form = model.quantizer.decode(SKETCHES[chosen])
            settings, encoding = config or GenerateConfig(max_tokens=12), encode(model, TEXTS)
            lengths = encoding.sentences.layout.lengths[SOURCES[chosen].numpy()]
            limits = output_limits(lengths, settings, max_length=model.config.max_length)
            decoding = TransformerDecoding(model, model.start(encoding, SOURCES[chosen], form))
            tokens = TokenSearch(SpecialTokens.of(tokenizer), settings)
            return tokens(decoding, limits, width=width, sampling=sampling, required=wanted)

    return run


def assert_equal(found: list[Hypothesis], expected: list[Hypothesis]) -> None:
    assert [one.tokens for one in found] == [one.tokens for one in expected]
    np.testing.assert_allclose([one.log_prob for one in found], [one.log_prob for one in expected], atol=2e-4)


@pytest.mark.parametrize(
    ("width", "config", "copy_head"),
    [
        (9, GenerateConfig(max_tokens=10), True),
        (8, GenerateConfig(max_tokens=10), False),
        (7, GenerateConfig(max_tokens=9, expansion=3, length_penalty=0.3), True),
    ],
    ids=["copying", "no copying", "expansion"],
)
def test_the_beam_is_that_of_a_slow_search(
    make_model: Callable[..., HRQVAE], tokenizer: Tokenizer, search: Search, runs: list[Runs],
    width: int, config: GenerateConfig, copy_head: bool,
) -> None:  # fmt: skip
    model, groups = make_model(seed=4, copy_head=copy_head), [0, 1, 3]
    fast = search(model, groups=groups, width=width, config=config)
    with torch.inference_mode():
        forms = model.quantizer.decode(SKETCHES)
        for group, found in zip(groups, fast, strict=True):
            source = [tokenizer.bos_id, *tokenizer.encode(TEXTS[int(SOURCES[group])]), tokenizer.eos_id]
            special = SpecialTokens.of(tokenizer)
            slow = slow_required_beam(model, source, forms[group], special, config, width, runs[group])
            assert slow
            assert [list(one.tokens) for one in found] == [one.tokens[1:-1] for one in slow]
            np.testing.assert_allclose([one.log_prob for one in found], [one.log_prob for one in slow], atol=2e-4)


def test_every_sentence_contains_what_is_required(
    make_model: Callable[..., HRQVAE], search: Search, runs: list[Runs]
) -> None:
    for seed in range(4):
        for found, wanted in zip(search(make_model(seed=seed)), runs, strict=True):
            assert found
            assert all(contains(one.tokens, wanted) for one in found)


def test_words_end_where_what_is_required_ends(
    make_model: Callable[..., HRQVAE], tokenizer: Tokenizer, search: Search, runs: list[Runs]
) -> None:
    continuing = set(tokenizer.continuing_ids())
    for seed in range(4):
        for found, wanted in zip(search(make_model(seed=seed)), runs, strict=True):
            for one in found:
                first = next((run for run in wanted), None)
                if first is not None:
                    start = next(i for i in range(len(one.tokens)) if list(one.tokens[i : i + len(first)]) == first)
                    assert not continuing.intersection(one.tokens[start + len(first) : start + len(first) + 1])


def test_without_the_requirement_it_is_not_said(model: HRQVAE, search: Search, runs: list[Runs]) -> None:
    free = search(model, required=[Required()] * 6)
    assert not any(contains(one.tokens, runs[group]) for group in (1, 3, 5) for one in free[group])


def test_groups_do_not_depend_on_each_other(make_model: Callable[..., HRQVAE], search: Search) -> None:
    model = make_model(seed=2)
    together = search(model)
    backwards = search(model, groups=range(5, -1, -1))[::-1]
    for group, expected in enumerate(together):
        assert_equal(search(model, groups=[group])[0], expected)
        assert_equal(backwards[group], expected)


def test_groups_without_a_requirement_are_searched_as_ever(model: HRQVAE, search: Search) -> None:
    mixed = search(model)
    alone = search(model, groups=[2, 4], required=[Required()] * 2)
    for group, expected in zip([2, 4], alone, strict=True):
        assert_equal(mixed[group], expected)


def test_log_probs_are_those_of_the_whole_sentence(model: HRQVAE, tokenizer: Tokenizer, search: Search) -> None:
    with torch.inference_mode():
        forms = model.quantizer.decode(SKETCHES)
        for group, found in enumerate(search(model)):
            source = [tokenizer.bos_id, *tokenizer.encode(TEXTS[int(SOURCES[group])]), tokenizer.eos_id]
            targets = [[tokenizer.bos_id, *one.tokens, tokenizer.eos_id] for one in found]
            expected = log_likelihoods(model, source, forms[group], targets)
            np.testing.assert_allclose([one.log_prob for one in found], expected, atol=2e-4)


def test_a_limit_may_leave_room_for_nothing_else_or_not_even_for_that(
    model: HRQVAE, search: Search, runs: list[Runs]
) -> None:
    needed = sum(map(len, runs[1]))
    [exact] = search(model, groups=[1], config=GenerateConfig(max_tokens=needed + 2))
    assert [list(one.tokens) for one in exact] == [list(itertools.chain(*runs[1]))]
    short = search(model, groups=[1, 2], config=GenerateConfig(max_tokens=needed + 1))
    assert short[0] == []
    assert short[1]  # nothing is required there


def test_samples_do_not_mind(model: HRQVAE, search: Search) -> None:
    sampling = Sampling(1.0, np.arange(6, dtype=np.uint64))
    free = search(model, required=[Required()] * 6, sampling=sampling)
    for found, expected in zip(search(model, sampling=sampling), free, strict=True):
        assert_equal(found, expected)


@pytest.mark.parametrize("copy_head", [True, False])
def test_a_wanted_token_has_its_own_probability(
    make_model: Callable[..., HRQVAE], tokenizer: Tokenizer,
    encode: Callable[[HRQVAE, list[str]], Encoding], copy_head: bool,
) -> None:  # fmt: skip
    model = make_model(copy_head=copy_head)
    last = torch.full((6, 1), tokenizer.bos_id)
    rules = Rules((tokenizer.pad_id,), None, np.zeros(6, dtype=np.bool_), tokenizer.eos_id)
    with torch.inference_mode():
        encoding, form = encode(model, TEXTS), model.quantizer.decode(SKETCHES)
        log_probs = model.step(last, model.start(encoding, SOURCES, form))
        for token in (*tokenizer.encode("moose"), *tokenizer.encode("camel"), int(log_probs[0, 0].argmax())):
            wanted = np.full((6, 1), token)
            decoding = TransformerDecoding(model, model.start(encoding, SOURCES, form))
            found = decoding.best(last.numpy(), count=3, rules=rules, wanted=wanted)
            np.testing.assert_allclose(found.log_probs[..., -1], log_probs[..., token].numpy(), rtol=1e-5, atol=1e-5)
            assert (found.ids[..., -1] == token).all()
            others = np.where(np.isneginf(found.log_probs[..., :-1]), tokenizer.pad_id, found.ids[..., :-1])
            assert not (others == token).any()
