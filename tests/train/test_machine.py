import torch

from parasketch.train.machine import fast_machine


def half(number: float) -> float:
    return (torch.tensor([number]) * 0.5).item()


def test_denormal_numbers_are_zero_inside_the_block_only() -> None:
    """They cost a hundred times the time of others, and mean nothing in training; elsewhere they may."""
    with fast_machine():
        assert half(1e-39) == 0
        assert half(1e-30) > 0
    assert half(1e-39) > 0
