"""Settings of the process that make training on CPUs faster."""

import contextlib
import ctypes
import platform
from collections.abc import Iterator

import torch

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


@contextlib.contextmanager
def fast_machine() -> Iterator[None]:
    """Inside the block, freed memory is kept for the next step, and denormal numbers are zero.

    By default glibc returns every large block to the system when it is freed; a step then spends much of its time
    on page faults for tensors of the same sizes as the step before. That stays; the numbers are as before afterwards,
    because other code in the process may count on them.
    """
    if platform.system() == "Linux" and platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, 1 << 30)
        libc.mallopt(_M_TRIM_THRESHOLD, (1 << 31) - 1)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
