"""How onnxruntime is set up: graphs from files, arrays in and out."""

import os
import platform
from functools import cache
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from parasketch.errors import ModelError
from parasketch.extras import needs

with needs("light", "generation without torch"):
    import onnxruntime

Arrays = dict[str, NDArray[Any]]


def num_threads() -> int:
    """As many as the process may use, or as OMP_NUM_THREADS says, which other libraries listen to as well."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(given) if given.isdigit() and int(given) > 0 else allowed


@cache
def multiplies_bytes() -> bool:
    """Whether this CPU multiplies signed by unsigned bytes and adds the products up in 32 bits.

    All but older ones with Intel's instructions do; those add up in 16 bits, and larger sums are cut.
    """
    if platform.machine().lower() not in ("x86_64", "amd64", "i386", "i686"):
        return True
    try:
        return "vnni" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:  # not a Linux: then it is not known
        return False


class Session:
    """One graph, ready to run."""

    def __init__(self, path: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = num_threads(), 1
        options.log_severity_level = 3
        # Sizes differ from run to run, so nothing is gained by planning memory; for long graphs that takes a second.
        options.enable_mem_reuse = options.enable_mem_pattern = False
        if not multiplies_bytes():
            options.add_session_config_entry("session.x64quantprecision", "1")  # slower, but sums never overflow
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # waiting threads must not burn a core
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the library raises errors of many kinds
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise ModelError(f"{path}: damaged, or does not fit the weights beside it: {reason}") from error
        self._outputs = [each.name for each in self._session.get_outputs()]

    def run(self, inputs: Arrays) -> Arrays:
        """All outputs, by name."""
        return dict(zip(self._outputs, self._session.run(None, inputs), strict=True))
