"""The moving-average quantiser against numbers worked out by hand."""

import math

import pytest
import torch

from parasketch.model.ema_quantizer import EmaQuantizer


def make(**changes: float) -> EmaQuantizer:
    """One head of one dimension, with the codes 0 and 1."""
    quantizer = EmaQuantizer(width=1, heads=1, codes=2, **changes)  # type: ignore[arg-type]
    quantizer.codebooks.copy_(torch.tensor([[[0.0], [1.0]]]))
    quantizer.sums.copy_(quantizer.codebooks)
    return quantizer


def test_evaluation_takes_the_nearest_code_and_changes_nothing() -> None:
    torch.manual_seed(0)
    quantizer = EmaQuantizer(width=6, heads=2, codes=5).eval()
    before, x = {name: value.clone() for name, value in quantizer.state_dict().items()}, torch.randn(7, 6)
    output = quantizer(x)
    for head in range(2):
        part = x[:, 3 * head : 3 * head + 3]
        nearest = torch.cdist(part, quantizer.codebooks[head]).argmin(dim=1)
        assert torch.equal(output.codes[:, head], nearest)
        torch.testing.assert_close(output.vector[:, 3 * head : 3 * head + 3], quantizer.codebooks[head][nearest])
    assert torch.equal(quantizer.encode(x), output.codes)
    torch.testing.assert_close(quantizer.decode(output.codes), output.vector)
    quantizer.update()
    assert all(torch.equal(value, before[name]) for name, value in quantizer.state_dict().items())


def test_a_step_by_hand() -> None:
    quantizer, x = make().train(), torch.tensor([[0.25], [1.0]], requires_grad=True)
    output = quantizer(x)
    # Distances of 0.25 are 1/16 and 9/16, of 1 they are 1 and 0: the weights of code 1 are sigmoids of differences.
    a, b = 1 / (1 + math.exp(0.5)), 1 / (1 + math.exp(-1.0))
    assert output.vector.flatten().tolist() == pytest.approx([a, b]), "the expectation of the codes"
    assert output.codes.flatten().tolist() == [0, 1]
    assert output.loss.tolist() == pytest.approx([0.25 * (a - 0.25) ** 2, 0.25 * (b - 1) ** 2])

    (gradient,) = torch.autograd.grad(output.vector.sum(), x, retain_graph=True)
    assert gradient.flatten().tolist() == [1.0, 1.0], "straight through"
    (gradient,) = torch.autograd.grad(output.loss.sum(), x)
    assert gradient.flatten().tolist() == pytest.approx([-0.5 * (a - 0.25), -0.5 * (b - 1)])

    quantizer.update()
    counts = [0.01 * (2 - a - b), 0.01 * (a + b)]
    smooth = [(n + 1e-5) / (0.02 + 2e-5) * 0.02 for n in counts]
    sums = [0.01 * (0.25 * (1 - a) + (1 - b)), 0.99 + 0.01 * (0.25 * a + b)]
    assert quantizer.counts.flatten().tolist() == pytest.approx(smooth)
    assert quantizer.sums.flatten().tolist() == pytest.approx(sums)
    assert quantizer.codebooks.flatten().tolist() == pytest.approx([s / n for s, n in zip(sums, smooth, strict=True)])


def test_parts_and_processes_add_up_to_one_batch() -> None:
    torch.manual_seed(0)
    x = torch.randn(8, 6)
    whole, parts = (EmaQuantizer(width=6, heads=2, codes=4).train() for _ in range(2))
    parts.load_state_dict(whole.state_dict())
    whole(x)
    whole.update()
    parts(x[:2])
    parts(x[2:4])
    others = EmaQuantizer(width=6, heads=2, codes=4).train()  # another process
    others.load_state_dict(parts.state_dict())
    others(x[4:])
    theirs = iter([torch.stack(part).sum(dim=0) for part in zip(*others._seen, strict=True)])
    parts.update(lambda part: part + next(theirs))
    for name, value in whole.state_dict().items():
        torch.testing.assert_close(parts.state_dict()[name], value, msg=name)
    before = whole.codebooks.clone()
    whole.update()
    assert torch.equal(whole.codebooks, before), "nothing was seen since"


def test_codes_settle_where_they_are_chosen() -> None:
    torch.manual_seed(0)
    quantizer = EmaQuantizer(width=2, heads=1, codes=2).train()
    centres = torch.tensor([[4.0, 0.0], [-4.0, 0.0]])
    quantizer.codebooks.copy_(centres[None] / 4)
    quantizer.sums.copy_(quantizer.codebooks)
    for _ in range(1500):
        quantizer(centres.repeat(4, 1) + 0.1 * torch.randn(8, 2))
        quantizer.update()
    torch.testing.assert_close(quantizer.codebooks[0], centres, rtol=0, atol=0.1)
    assert quantizer.perplexity() == pytest.approx([2.0], rel=1e-2)
    assert quantizer.dead_share() == 0.0


def test_dead_codes_are_seen() -> None:
    quantizer = make()
    quantizer.usage.copy_(torch.tensor([[1.0, 0.0]]))
    assert quantizer.perplexity() == pytest.approx([1.0])
    assert quantizer.dead_share() == 0.5
