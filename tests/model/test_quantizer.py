"""The equations of hierarchical quantisation, and the health of the codes."""

import math

import pytest
import torch
from torch import Tensor

from parasketch.model.quantizer import HierarchicalQuantizer
from parasketch.systems.hrqvae.config import load_preset


def make(levels: int = 3, codes: int = 4, width: int = 6, depth_dropout: float = 0.0) -> HierarchicalQuantizer:
    torch.manual_seed(0)
    return HierarchicalQuantizer(width=width, levels=levels, codes=codes, depth_dropout=depth_dropout)


def test_code_norms_at_the_start_of_the_paper_preset() -> None:
    shape = load_preset("paper").model
    torch.manual_seed(0)
    quantizer = HierarchicalQuantizer(
        width=shape.form_width,
        levels=shape.levels,
        codes=shape.codes,
        init_gain=shape.init_gain,
        init_decay=shape.init_decay,
    )
    norms = quantizer.codebooks.detach().norm(dim=-1).mean(dim=-1)
    assert norms.tolist() == pytest.approx([8.37, 4.18, 2.09], rel=0.02)


def test_scores_are_negative_squared_distances() -> None:
    quantizer, x = make(), torch.randn(5, 6)
    expected = -torch.cdist(x, quantizer.codebooks[1].detach()).square()
    torch.testing.assert_close(quantizer.scores(x, 1).detach(), expected, rtol=1e-4, atol=1e-4)


def test_a_sample_is_one_hot_and_reaches_every_row() -> None:
    quantizer = make().train()
    scores = torch.randn(64, 4)
    choice = quantizer._sample(scores, temperature=2.0)
    assert choice.sum(dim=1).tolist() == [1.0] * 64
    assert set(choice.flatten().tolist()) == {0.0, 1.0}

    x = torch.randn(1, 6)
    output = quantizer(x, temperature=2.0)
    output.vector.square().sum().backward()
    gradient = quantizer.codebooks.grad
    assert gradient is not None
    for level in range(3):
        chosen = int(output.codes[0, level])
        assert gradient[level, chosen].abs().sum() > 0
        others = [row for row in range(4) if row != chosen]
        assert (gradient[level, others].abs().sum(dim=1) > 0).all()


def test_samples_follow_the_softmax_whatever_the_temperature() -> None:
    """The temperature shapes only the gradient; codes are drawn from softmax(scores)."""
    quantizer, scores = make().train(), torch.tensor([0.0, 1.0, -1.0, 0.5]).expand(20000, 4)
    for temperature in (0.5, 2.0):
        shares = quantizer._sample(scores, temperature).mean(dim=0)
        torch.testing.assert_close(shares, scores[0].softmax(0), rtol=0, atol=0.02)


def test_evaluation_takes_the_nearest_codes_and_forcing_them_changes_nothing() -> None:
    quantizer, x = make().eval(), torch.randn(20, 6)
    output = quantizer(x)
    residual = x
    for level in range(3):
        nearest = torch.cdist(residual, quantizer.codebooks[level]).argmin(dim=1)
        assert torch.equal(output.codes[:, level], nearest)
        residual = residual - quantizer.codebooks[level][nearest]
    assert torch.equal(quantizer.encode(x), output.codes)
    torch.testing.assert_close(quantizer.decode(output.codes), output.vector, rtol=0, atol=1e-6)


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_truncation_is_the_sum_of_the_first_codes(depth: int) -> None:
    quantizer, codes = make().eval(), torch.tensor([[1, 3, 0], [2, 2, 2]])
    expected = sum((quantizer.codebooks[level][codes[:, level]] for level in range(depth)), torch.zeros(2, 6))
    torch.testing.assert_close(quantizer.decode(codes, depth), expected)
    torch.testing.assert_close(quantizer.decode(codes[:, :depth]), expected)


def test_every_prefix_length_occurs_in_training_at_its_rate() -> None:
    quantizer = make(depth_dropout=0.3).train()
    with torch.no_grad():
        quantizer.codebooks.copy_(torch.tensor([100.0, 10.0, 1.0])[:, None, None].expand(3, 4, 6))
        vectors = quantizer(torch.zeros(20000, 6)).vector[:, 0]
    shares = {depth: float((vectors == value).float().mean()) for depth, value in enumerate([0, 100, 110, 111])}
    assert sum(shares.values()) == pytest.approx(1)
    assert shares == pytest.approx({0: 0.3, 1: 0.7 * 0.3, 2: 0.49 * 0.3, 3: 0.343}, abs=0.015)


def test_residuals_and_codes_are_those_before_depth_dropout() -> None:
    x = torch.randn(50, 6)
    outputs = []
    for dropout in (0.0, 0.9):
        quantizer = make(depth_dropout=dropout).train()
        torch.manual_seed(5)
        outputs.append(quantizer(x))
    assert torch.equal(outputs[0].codes, outputs[1].codes)


def test_evaluation_changes_nothing() -> None:
    quantizer = make().eval()
    before = {name: value.clone() for name, value in quantizer.state_dict().items()}
    x = torch.randn(30, 6)
    quantizer(x)
    quantizer.encode(x)
    quantizer.perplexity()
    for name, value in quantizer.state_dict().items():
        assert torch.equal(value, before[name])


def clusters() -> Tensor:
    """3 far groups, each of 3 near groups, each of 3 points; a tree of depth 2 describes all but the last bit."""
    torch.manual_seed(1)
    coarse, fine = torch.randn(3, 5) * 30, torch.randn(3, 5) * 4
    points = coarse[:, None, None] + fine[None, :, None] + torch.randn(3, 3, 10, 5) * 0.05
    return points.reshape(-1, 5)


def test_fit_recovers_planted_clusters() -> None:
    x = clusters()
    quantizer = HierarchicalQuantizer(width=5, levels=2, codes=3).fit(x).eval()
    codes = quantizer.encode(x).view(3, 3, 10, 2)
    assert len({tuple(path) for path in codes.flatten(0, 2).tolist()}) == 9
    assert (codes == codes[:, :, :1]).all()  # a group has one path
    assert (codes[..., 0] == codes[:, :1, :1, 0]).all()  # a far group has one first code
    assert (quantizer.decode(codes.flatten(0, 2)) - x).norm(dim=1).max() < 1
    again = HierarchicalQuantizer(width=5, levels=2, codes=3).fit(x)
    assert torch.equal(again.codebooks, quantizer.codebooks)


def test_fit_with_fewer_points_than_codes() -> None:
    x = torch.tensor([[1.0, 0.0], [0.0, 2.0]]).repeat(5, 1)
    quantizer = HierarchicalQuantizer(width=2, levels=2, codes=8).fit(x).eval()
    assert torch.isfinite(quantizer.codebooks).all()
    torch.testing.assert_close(quantizer(x).vector, x)


def test_a_revived_code_stays_alive() -> None:
    torch.manual_seed(0)
    x = clusters()
    quantizer = HierarchicalQuantizer(width=5, levels=1, codes=4, depth_dropout=0).fit(x)
    with torch.no_grad():
        quantizer.codebooks[0, 2] = 1e4  # nothing is near it
        quantizer.train()
        for _ in range(400):
            quantizer(x)
    assert quantizer.usage[0, 2] * 4 < 0.1
    assert quantizer.perplexity()[0] < 3.2
    assert quantizer.revive(x) == 1
    assert quantizer.revive(x) == 0, "a revived code counts as used"
    assert (quantizer.codebooks[0, 2] == x).all(dim=1).any()
    for _ in range(400):
        quantizer(x)
    assert quantizer.usage[0, 2] * 4 > 0.1
    assert quantizer.revive(x) == 0


def test_no_two_revived_codes_are_the_same() -> None:
    quantizer, x = make(codes=16, levels=1), torch.randn(8, 6)
    quantizer.usage.zero_()
    quantizer.usage[0, 5] = 1.0
    assert quantizer.revive(torch.cat([x, x])) == 8, "15 codes are dead, and there are 8 places: the others wait"
    moved = (quantizer.usage[0] > 0).nonzero().squeeze(1)
    assert len(quantizer.codebooks[0, moved].unique(dim=0)) == len(moved) == 9
    assert quantizer.revive(x) == 7


def test_perplexity_by_hand() -> None:
    quantizer = make(levels=2, codes=4)
    quantizer.usage.copy_(torch.tensor([[0.5, 0.5, 0, 0], [0.25] * 4]))
    assert quantizer.perplexity() == pytest.approx([2, 4])


def test_imbalance_by_hand() -> None:
    quantizer, sure = make(codes=2), 50.0
    both = torch.tensor([[[sure, 0.0]], [[0.0, sure]]])  # every choice is sure, and both codes are chosen
    one = torch.tensor([[[sure, 0.0]], [[sure, 0.0]]])
    assert quantizer.imbalance(both).item() == pytest.approx(0, abs=1e-6)
    assert quantizer.imbalance(one).item() == pytest.approx(math.log(2), abs=1e-6)
    three_to_one = torch.tensor([[[sure, 0.0]]] * 3 + [[[0.0, sure]]])
    expected = 0.75 * math.log(0.75) + 0.25 * math.log(0.25) + math.log(2)
    assert quantizer.imbalance(three_to_one).item() == pytest.approx(expected, abs=1e-6)
