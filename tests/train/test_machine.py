import torch

from parasketch.train.machine import prepare_machine


def test_denormal_numbers_become_zero() -> None:
    """They cost a hundred times the time of others, and mean nothing here."""
    try:
        prepare_machine()
        assert (torch.tensor([1e-39]) * 0.5).item() == 0
        assert (torch.tensor([1e-30]) * 0.5).item() > 0
    finally:
        torch.set_flush_denormal(False)
