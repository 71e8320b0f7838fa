"""Settings of the process that make training on CPUs faster; none of them changes a result."""

import ctypes
import platform

import torch

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def prepare_machine() -> None:
    """Keep freed memory for the next step, and treat denormal numbers as zero.

    By default glibc returns every large block to the system when it is freed; a step then spends much of its time
    on page faults for tensors of the same sizes as the step before.
    """
    torch.set_flush_denormal(True)
    if platform.system() == "Linux" and platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, 1 << 30)
        libc.mallopt(_M_TRIM_THRESHOLD, (1 << 31) - 1)
