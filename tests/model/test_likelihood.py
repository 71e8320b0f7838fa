import pytest
import torch
from torch.nn import functional as F

from parasketch.model import likelihood
from parasketch.model.likelihood import token_log_likelihood


@pytest.mark.parametrize("block", [1 << 20, 22])  # one block, and blocks of two tokens with a rest of one
def test_equals_cross_entropy_with_its_gradients(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(likelihood, "BLOCK_ELEMENTS", block)
    torch.manual_seed(0)
    targets, upstream = torch.randint(11, (7,)), torch.randn(7)
    ours = [torch.randn(7, 5, requires_grad=True), torch.randn(11, 5, requires_grad=True)]
    theirs = [part.detach().clone().requires_grad_() for part in ours]
    score = token_log_likelihood(*ours, targets)
    expected = -F.cross_entropy(theirs[0] @ theirs[1].T, targets, reduction="none")
    torch.testing.assert_close(score, expected, rtol=0, atol=1e-6)
    (score * upstream).sum().backward()
    (expected * upstream).sum().backward()
    for mine, reference in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine.grad, reference.grad, rtol=0, atol=1e-5)
    with torch.no_grad():
        torch.testing.assert_close(token_log_likelihood(*ours, targets), expected, rtol=0, atol=1e-6)


def test_a_frozen_output_layer_gets_no_gradient() -> None:
    hidden, weight = torch.randn(3, 4, requires_grad=True), torch.randn(6, 4)
    token_log_likelihood(hidden, weight, torch.tensor([0, 5, 2])).sum().backward()
    assert hidden.grad is not None
    assert weight.grad is None


def test_very_large_logits_stay_finite() -> None:
    hidden = torch.tensor([[1000.0]], requires_grad=True)
    score = token_log_likelihood(hidden, torch.tensor([[1.0], [-1.0]]), torch.tensor([0]))
    assert score.item() == 0.0


def test_a_second_backward_fails_instead_of_lying() -> None:
    hidden = torch.randn(3, 4, requires_grad=True)
    score = token_log_likelihood(hidden, torch.randn(6, 4), torch.tensor([0, 5, 2])).sum()
    score.backward(retain_graph=True)
    with pytest.raises(TypeError):
        score.backward()


def test_half_precision_matmuls_keep_a_full_precision_softmax() -> None:
    torch.manual_seed(0)
    hidden, weight = torch.randn(5, 8, requires_grad=True), torch.randn(9, 8, requires_grad=True)
    targets = torch.tensor([0, 8, 3, 3, 1])
    exact = token_log_likelihood(hidden, weight, targets).detach()
    with torch.backends.mkldnn.flags(enabled=False), torch.autocast("cpu", dtype=torch.bfloat16):
        rough = token_log_likelihood(hidden, weight, targets)
        rough.sum().backward()
    assert rough.dtype == torch.float32
    torch.testing.assert_close(rough.detach(), exact, rtol=0.05, atol=0.05)
    assert weight.grad is not None
    assert weight.grad.dtype == torch.float32
