import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from parasketch.generate.decoding import Rules
from parasketch.generate.settings import GenerateConfig
from parasketch.generate.tokens import Hypothesis, Sampling, SpecialTokens, TokenSearch, output_limits
from parasketch.generate.torch_backend import TransformerDecoding
from parasketch.model.outputs import Encoding
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.text.tokenizer import Tokenizer

from .slow_search import log_likelihoods, slow_beam

TEXTS = ["how heavy is a moose?", "parrots", "where do where do whales live?"]
SOURCES = torch.tensor([0, 0, 1, 2, 2])
SKETCHES = torch.tensor([[0, 1, 2], [3, 3, 3], [1, 1, 0], [2, 0, 1], [0, 0, 0]])

Encode = Callable[[HRQVAE, list[str]], Encoding]


def framed(tokenizer: Tokenizer, text: str) -> list[int]:
    return [tokenizer.bos_id, *tokenizer.encode(text), tokenizer.eos_id]


@pytest.fixture
def search(tokenizer: Tokenizer, encode: Encode) -> Callable[..., list[list[Hypothesis]]]:
    def run(
        model: HRQVAE, *, config: GenerateConfig | None = None, groups: list[int] | None = None, width: int = 4,
        sampling: Sampling | None = None,
        limits: list[int] | None = None,
    ) -> list[list[Hypothesis]]:  # fmt: skip
        chosen = list(range(len(SOURCES))) if groups is None else groups
        with torch.inference_mode():
            form = model.quantizer.decode(SKETCHES[chosen])
            settings, encoding = config or GenerateConfig(max_tokens=9), encode(model, TEXTS)
            lengths = encoding.sentences.layout.lengths[SOURCES[chosen].numpy()]
            most = output_limits(lengths, settings, max_length=model.config.max_length)
            if limits is not None:
                most = np.array(limits)
            decoding = TransformerDecoding(model, model.start(encoding, SOURCES[chosen], form))
            return TokenSearch(SpecialTokens.of(tokenizer), settings)(decoding, most, width=width, sampling=sampling)

    return run


@pytest.mark.parametrize(
    ("width", "config", "copy_head"),
    [
        (1, GenerateConfig(max_tokens=8), True),
        (4, GenerateConfig(max_tokens=8), True),
        (4, GenerateConfig(max_tokens=8), False),
        (3, GenerateConfig(max_tokens=7, expansion=3, length_penalty=0.3), True),
    ],
    ids=["greedy", "beam", "beam without copying", "expansion"],
)
def test_the_beam_is_that_of_a_slow_search(
    make_model: Callable[..., HRQVAE], tokenizer: Tokenizer, search: Callable[..., list[list[Hypothesis]]],
    width: int, config: GenerateConfig, copy_head: bool,
) -> None:  # fmt: skip
    model = make_model(seed=4, copy_head=copy_head)
    groups = [0, 2, 3]
    fast = search(model, config=config, groups=groups, width=width)
    lengths = set()
    with torch.inference_mode():
        forms = model.quantizer.decode(SKETCHES)
        for group, found in zip(groups, fast, strict=True):
            source = framed(tokenizer, TEXTS[int(SOURCES[group])])
            slow = slow_beam(model, source, forms[group], SpecialTokens.of(tokenizer), config, width)
            assert [list(one.tokens) for one in found] == [one.tokens[1:-1] for one in slow]
            np.testing.assert_allclose([one.log_prob for one in found], [one.log_prob for one in slow], atol=2e-4)
            scores = [one.score(config.length_penalty) for one in slow]
            np.testing.assert_allclose([one.score for one in found], scores, atol=2e-4)
            lengths |= {len(one.tokens) for one in slow}
    assert width == 1 or len(lengths) > 1  # otherwise neither the length penalty nor the end was tried


@pytest.mark.parametrize("count", [1, 4, 30])
def test_the_best_next_tokens_are_those_of_the_whole_distribution(
    model: HRQVAE, tokenizer: Tokenizer, encode: Encode, count: int
) -> None:
    banned = (tokenizer.pad_id, tokenizer.encode("moose")[0])
    with torch.inference_mode():
        encoding, form = encode(model, TEXTS), model.quantizer.decode(SKETCHES)
        tokens = torch.full((5, 1), tokenizer.bos_id)
        for step in range(3):
            states = [model.start(encoding, SOURCES, form) for _ in range(2)]
            for past in range(step):
                for state in states:
                    model.step(tokens + past, state)
            log_probs = model.step(tokens + step, states[0])
            log_probs[..., banned] = -torch.inf
            rules = Rules(banned, None, np.zeros(5, dtype=np.bool_), tokenizer.eos_id)
            found = TransformerDecoding(model, states[1]).best((tokens + step).numpy(), count=count, rules=rules)
            expected = log_probs.topk(count)
            np.testing.assert_allclose(found.log_probs, expected.values.numpy(), rtol=1e-5, atol=1e-5)
            assert (found.ids == expected.indices.numpy()).all()


def test_groups_do_not_depend_on_each_other(
    make_model: Callable[..., HRQVAE], search: Callable[..., list[list[Hypothesis]]]
) -> None:
    model = make_model(seed=2)
    together = search(model)
    backwards = search(model, groups=[4, 3, 2, 1, 0])[::-1]
    for group, expected in enumerate(together):
        [alone] = search(model, groups=[group])
        assert [one.tokens for one in alone] == [one.tokens for one in expected]
        assert [one.tokens for one in backwards[group]] == [one.tokens for one in expected]


def test_every_group_has_its_own_limit(
    make_model: Callable[..., HRQVAE],
    tokenizer: Tokenizer,
    search: Callable[..., list[list[Hypothesis]]],
) -> None:
    model, limits, config = make_model(seed=5), [3, 8, 5], GenerateConfig()
    fast = search(model, groups=[0, 2, 3], limits=limits, width=3)
    assert max(len(one.tokens) for found in fast for one in found) == 8 - 2
    with torch.inference_mode():
        forms = model.quantizer.decode(SKETCHES)
        for group, limit, found in zip([0, 2, 3], limits, fast, strict=True):
            source = framed(tokenizer, TEXTS[int(SOURCES[group])])
            short = replace(config, max_tokens=limit)
            slow = slow_beam(model, source, forms[group], SpecialTokens.of(tokenizer), short, 3)
            assert [list(one.tokens) for one in found] == [one.tokens[1:-1] for one in slow]
            np.testing.assert_allclose([one.log_prob for one in found], [one.log_prob for one in slow], atol=2e-4)


def test_longer_sources_may_have_longer_outputs(
    make_model: Callable[..., HRQVAE], tokenizer: Tokenizer, search: Callable[..., list[list[Hypothesis]]]
) -> None:
    model = make_model(seed=5, copy_head=False)
    with torch.no_grad():
        model.embedding.weight[tokenizer.eos_id] = 0  # never the most likely token
    found = search(model, config=GenerateConfig(max_ratio=1.5, max_tokens=26), width=1)
    lengths = [len(tokenizer.encode(text)) for text in TEXTS]
    longest = [min(10 + math.ceil(1.5 * length), 26) - 2 for length in lengths]
    assert [len(one[0].tokens) for one in found] == [longest[source] for source in SOURCES]
    assert len(set(longest)) > 1


def test_no_special_token_is_ever_said(
    make_model: Callable[..., HRQVAE], tokenizer: Tokenizer, search: Callable[..., list[list[Hypothesis]]]
) -> None:
    model = make_model(seed=3)
    special = [tokenizer.pad_id, tokenizer.bos_id, tokenizer.unk_id, tokenizer.mask_id, tokenizer.eos_id]
    with torch.no_grad():  # the copies of a vector that is likely everywhere
        model.embedding.weight[special] = 5 * model.embedding.weight[tokenizer.bos_id]
    sampling = Sampling(1.5, np.arange(5, dtype=np.uint64))
    for found in [*search(model), *search(model, sampling=sampling, width=8)]:
        assert found
        for one in found:
            assert one.tokens
            assert not set(one.tokens) & set(special)


def test_log_probs_are_those_of_the_whole_sentence(
    model: HRQVAE, tokenizer: Tokenizer, search: Callable[..., list[list[Hypothesis]]]
) -> None:
    with torch.inference_mode():
        forms = model.quantizer.decode(SKETCHES)
        for group, found in enumerate(search(model)):
            source = framed(tokenizer, TEXTS[int(SOURCES[group])])
            targets = [[tokenizer.bos_id, *one.tokens, tokenizer.eos_id] for one in found]
            expected = log_likelihoods(model, source, forms[group], targets)
            np.testing.assert_allclose([one.log_prob for one in found], expected, atol=2e-4)


def test_samples_depend_on_their_key_alone(model: HRQVAE, search: Callable[..., list[list[Hypothesis]]]) -> None:
    keys = np.array([11, 22, 33, 44, 55], dtype=np.uint64)
    together = search(model, sampling=Sampling(1.0, keys), width=3)
    assert len(together[0]) == 3
    for group in range(5):
        [alone] = search(model, sampling=Sampling(1.0, keys[group : group + 1]), width=3, groups=[group])
        assert [one.tokens for one in alone] == [one.tokens for one in together[group]]
    other = search(model, sampling=Sampling(1.0, keys + np.uint64(1)), width=3)
    assert [one.tokens for one in other[0]] != [one.tokens for one in together[0]]


def test_sampling_follows_the_distribution(
    model: HRQVAE, tokenizer: Tokenizer, encode: Encode, search: Callable[..., list[list[Hypothesis]]]
) -> None:
    draws = 4000
    [found] = search(
        model, groups=[0], config=GenerateConfig(max_tokens=3), width=draws,
        sampling=Sampling(1.0, np.array([7], dtype=np.uint64)),
    )  # fmt: skip
    counts = np.bincount([one.tokens[0] for one in found], minlength=tokenizer.vocab_size)
    with torch.inference_mode():
        state = model.start(encode(model, TEXTS), SOURCES[:1], model.quantizer.decode(SKETCHES[:1]))
        expected = model.step(torch.tensor([[tokenizer.bos_id]]), state)[0, 0].exp().numpy()
    expected[[tokenizer.pad_id, tokenizer.bos_id, tokenizer.unk_id, tokenizer.mask_id, tokenizer.eos_id]] = 0
    expected = expected / expected.sum() * draws
    likely = expected > 20
    assert likely.sum() > 5
    assert (np.abs(counts - expected)[likely] < 5 * np.sqrt(expected[likely])).all()


def test_a_low_temperature_is_greedy(model: HRQVAE, search: Callable[..., list[list[Hypothesis]]]) -> None:
    greedy = search(model, width=1)
    cold = search(model, width=1, sampling=Sampling(1e-4, np.arange(5, dtype=np.uint64)))
    assert [found[0].tokens for found in cold] == [found[0].tokens for found in greedy]
