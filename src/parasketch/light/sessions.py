"""How onnxruntime is set up: graphs from files, arrays in and out."""

import os
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


class Session:
    """One graph, ready to run."""

    def __init__(self, path: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = num_threads(), 1
        options.log_severity_level = 3
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
