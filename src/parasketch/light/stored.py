"""Where tensors are inside of a safetensors file: a header, then raw tensors that graphs and arrays can point to."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TYPES = {"F32": np.float32, "F16": np.float16}


@dataclass(frozen=True)
class StoredTensor:
    """Where a tensor is."""

    dtype: str
    shape: tuple[int, ...]
    offset: int
    length: int


def read_header(path: Path) -> dict[str, StoredTensor]:
    """What a safetensors file holds."""
    with path.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(size))
    return {
        name: StoredTensor(
            each["dtype"],
            tuple(each["shape"]),
            8 + size + each["data_offsets"][0],
            each["data_offsets"][1] - each["data_offsets"][0],
        )
        for name, each in header.items()
        if name != "__metadata__"
    }


def mapped(path: Path, name: str) -> NDArray[Any]:
    """A tensor of floats of which only what is used is read."""
    found = read_header(path)[name]
    return np.memmap(path, _TYPES[found.dtype], "r", found.offset, found.shape)
