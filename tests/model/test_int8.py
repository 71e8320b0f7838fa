"""8-bit linear maps: close to fp32, and a row's result is its own to the bit."""

import pytest
import torch

from parasketch.model.int8 import Bytes, Int8Linear, is_supported

pytestmark = pytest.mark.skipif(not is_supported(), reason="this CPU does not multiply bytes")


def make() -> tuple[torch.Tensor, Int8Linear]:
    weight = torch.randn(40, 24, generator=torch.Generator().manual_seed(0))
    return weight, Int8Linear(Bytes.of(weight))


def test_it_is_close_to_full_precision_whatever_the_scale_of_a_row() -> None:
    weight, linear = make()
    x = torch.randn(7, 24, generator=torch.Generator().manual_seed(1)) * torch.logspace(-4, 4, 7)[:, None]
    expected = x @ weight.T
    error = (linear(x) - expected).norm(dim=1) / expected.norm(dim=1)
    assert error.max() < 0.03


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    _, linear = make()
    x = torch.randn(3, 5, 24, generator=torch.Generator().manual_seed(2))
    together = linear(x)
    assert together.shape == (3, 5, 40)
    loud = torch.cat([x.flatten(0, 1), 1000 * torch.randn(4, 24)])
    assert torch.equal(linear(loud)[:15], together.flatten(0, 1))
    assert torch.equal(linear(x[1, 2]), together[1, 2])


def test_zeros_stay_zeros() -> None:
    _, linear = make()
    assert torch.equal(linear(torch.zeros(2, 24)), torch.zeros(2, 40))
