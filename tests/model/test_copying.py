import numpy as np
import torch

from parasketch.model.copying import CopyHead
from parasketch.model.ragged import Layout, pad

VOCABULARY, WIDTH = 12, 6
TARGETS, SOURCES = Layout(np.array([2, 3])), Layout(np.array([4, 2]))
SOURCE_TOKENS = torch.tensor([3, 5, 3, 7, 9, 5])  # 3 stands twice in the first source


def test_training_and_generation_have_one_distribution() -> None:
    torch.manual_seed(0)
    head = CopyHead(width=WIDTH, state_width=4, pointer_width=5)
    hidden, states = torch.randn(TARGETS.num_tokens, WIDTH), torch.randn(SOURCES.num_tokens, 4)
    log_probs = torch.randn(TARGETS.num_tokens, VOCABULARY).log_softmax(-1)
    keys, tokens = pad(head.key(states), SOURCES), pad(SOURCE_TOKENS, SOURCES)
    padded = head.mix(pad(log_probs, TARGETS), pad(hidden, TARGETS), keys, tokens, ~SOURCES.mask[:, None])
    mixed = padded[TARGETS.mask]
    torch.testing.assert_close(mixed.exp().sum(dim=-1), torch.ones(5), rtol=0, atol=1e-5)
    for token in range(VOCABULARY):
        targets = torch.full((TARGETS.num_tokens,), token)
        score = head.log_likelihood(
            hidden, TARGETS, states, SOURCE_TOKENS, SOURCES, targets, log_probs.gather(1, targets[:, None]).squeeze(1)
        )
        torch.testing.assert_close(score, mixed[:, token], rtol=0, atol=1e-5)


def test_a_token_that_stands_twice_gets_both_shares() -> None:
    torch.manual_seed(0)
    head = CopyHead(width=WIDTH, state_width=4, pointer_width=5)
    hidden, states = torch.randn(2, WIDTH), torch.randn(4, 4)
    with torch.no_grad():
        head.gate.bias.fill_(50.0)  # always copies
        attention = head.attention(head.query(hidden)[None], head.key(states)[None], torch.zeros(1, 1, 4, dtype=bool))
        mixed = head.mix(
            torch.full((1, 2, VOCABULARY), -2.0),
            hidden[None],
            head.key(states)[None],
            SOURCE_TOKENS[None, :4],
            torch.zeros(1, 1, 4, dtype=bool),
        ).exp()
    torch.testing.assert_close(mixed[0, :, 3], attention[0, :, 0] + attention[0, :, 2], rtol=0, atol=1e-5)
    assert (mixed[0, :, 11] < 1e-6).all()


def test_one_floor_for_training_and_generation() -> None:
    """A token that is hardly ever generated and never copied has one log p everywhere."""
    torch.manual_seed(0)
    head = CopyHead(width=WIDTH, state_width=4, pointer_width=5)
    hidden, states = torch.randn(TARGETS.num_tokens, WIDTH), torch.randn(SOURCES.num_tokens, 4)
    log_probs = torch.full((TARGETS.num_tokens, VOCABULARY), -40.0)
    keys, tokens = pad(head.key(states), SOURCES), pad(SOURCE_TOKENS, SOURCES)
    mixed = head.mix(pad(log_probs, TARGETS), pad(hidden, TARGETS), keys, tokens, ~SOURCES.mask[:, None])[TARGETS.mask]
    targets = torch.full((TARGETS.num_tokens,), 11)
    score = head.log_likelihood(hidden, TARGETS, states, SOURCE_TOKENS, SOURCES, targets, log_probs[:, 11])
    torch.testing.assert_close(score, mixed[:, 11], rtol=0, atol=1e-5)


def test_a_target_that_is_not_in_the_source_stays_finite() -> None:
    torch.manual_seed(0)
    head = CopyHead(width=WIDTH, state_width=4, pointer_width=5)
    hidden = torch.randn(5, WIDTH, requires_grad=True)
    targets, generated = torch.full((5,), 11), torch.full((5,), -3.0, requires_grad=True)
    score = head.log_likelihood(hidden, TARGETS, torch.randn(6, 4), SOURCE_TOKENS, SOURCES, targets, generated)
    score.sum().backward()
    assert torch.isfinite(score).all()
    assert hidden.grad is not None
    assert torch.isfinite(hidden.grad).all()
