"""A small hand for writing ONNX graphs: one method an operation, and weights by the names they have in safetensors.

Values between layers are rows, (N, width), whatever they belong to: one matrix product each, and no transposed weights.

Weights are not copied into the graph. ONNX lets a tensor live in another file, at an offset; a safetensors file is a
header and raw tensors, so graphs point right into it. What is stored in 16 or 8 bits is widened when a session is made.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parasketch.extras import needs

with needs("export", "writing ONNX graphs"):
    import onnx
    from onnx import TensorProto, helper, numpy_helper

OPSET = 17
"""The version of ONNX's operators: the first with LayerNormalization, so understood by every runtime since 2022."""
_IR_VERSION = 8

_TYPES = {"F32": TensorProto.FLOAT, "F16": TensorProto.FLOAT16, "I8": TensorProto.INT8, "I64": TensorProto.INT64}
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


@dataclass(frozen=True)
class StoredTensor:
    """Where a tensor is inside of a safetensors file."""

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


class Graph:
    """A graph in the making; operations take and give names of values."""

    def __init__(self, weights: Path, *, int8: bool = False) -> None:
        self._file, self._stored, self._int8 = weights.name, read_header(weights), int8
        self._nodes: list[Any] = []
        self._initializers: dict[str, Any] = {}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._known: dict[str, str] = {}
        self._renamed: dict[str, str] = {}
        self._count = 0

    def input(self, name: str, kind: int, shape: Sequence[int | str]) -> str:
        """An input of the graph; dimensions with a name can have any size."""
        self._inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        return name

    def output(self, name: str, value: str, shape: Sequence[int | str], kind: int = FLOAT) -> None:
        """Give a value out under a name."""
        self._renamed[value] = name  # a copy under another name would cost time at every run
        self._outputs.append(helper.make_tensor_value_info(name, kind, list(shape)))

    def op(self, kind: str, *inputs: str, to: str | None = None, **attributes: Any) -> str:
        """Add an operation with one output."""
        self._count += 1
        result = to or f"v{self._count}"
        self._nodes.append(helper.make_node(kind, list(inputs), [result], **attributes))
        return result

    def constant(self, value: NDArray[Any] | np.generic | float | Sequence[int]) -> str:
        """A small value that is part of the graph."""
        array = np.asarray(value)
        array = array.astype(np.float32 if array.dtype.kind == "f" else array.dtype)
        key = f"constant {array.dtype} {array.shape} {array.tobytes().hex()}"
        if key not in self._known:
            self._count += 1
            name = f"c{self._count}"
            self._initializers[name] = numpy_helper.from_array(array, name)
            self._known[key] = name
        return self._known[key]

    def has(self, name: str) -> bool:
        """Whether the weights have a tensor of that name."""
        return name in self._stored

    def stored(self, name: str) -> str:
        """A tensor of the weights as it is stored."""
        if name not in self._initializers:
            found = self._stored[name]
            tensor = TensorProto(name=name, data_type=_TYPES[found.dtype], dims=found.shape)
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", self._file), ("offset", found.offset), ("length", found.length)):
                tensor.external_data.add(key=key, value=str(value))
            self._initializers[name] = tensor
        return name

    def weight(self, name: str) -> str:
        """A tensor of the weights in full precision."""
        if f"wide {name}" not in self._known:
            value, kind = self.stored(name), self._stored[name].dtype
            if kind != "F32":
                value = self._cast(value)
            if kind == "I8":
                value = self.op("Mul", value, self.op("Unsqueeze", self.stored(f"{name}.scale"), self.constant([1])))
            self._known[f"wide {name}"] = value
        return self._known[f"wide {name}"]

    def rows(self, name: str, places: str) -> str:
        """Some rows of a matrix, in full precision; the matrix itself stays as it is stored."""
        value, kind = self.op("Gather", self.stored(name), places), self._stored[name].dtype
        if kind != "F32":
            value = self._cast(value)
        if kind == "I8":
            scales = self.op("Gather", self.stored(f"{name}.scale"), places)
            value = self.op("Mul", value, self.op("Unsqueeze", scales, self.constant([-1])))
        return value

    def linear(self, x: str, name: str) -> str:
        """x Wᵀ + b for rows x (N, inputs) -> (N, outputs); the bias is added where there is one."""
        bias = f"{name}.bias" if self.has(f"{name}.bias") else None
        return self.matmul_transposed(x, f"{name}.weight", bias)

    def matmul_transposed(self, x: str, name: str, bias: str | None = None) -> str:
        """x Wᵀ for a matrix W of the weights, (outputs, inputs); in 8 bits if the graph is."""
        added = [] if bias is None else [self.weight(bias)]
        if not self._int8:
            return self.op("Gemm", x, self.weight(name), *added, transB=1)
        x = self._matmul_int8(x, name)
        return self.op("Add", x, *added) if added else x

    def norm(self, x: str, name: str, *, epsilon: float = 1e-5) -> str:
        """Layer normalisation."""
        return self.op(
            "LayerNormalization", x, self.weight(f"{name}.weight"), self.weight(f"{name}.bias"), epsilon=epsilon
        )

    def shape(self, leading: str, *last: int) -> str:
        """A shape: the dimensions of a 1-D value, then some numbers."""
        return self.op("Concat", leading, self.constant(list(last)), axis=0)

    def as_rows(self, x: str, width: int) -> str:
        """(..., width) -> (N, width)."""
        return self.op("Reshape", x, self.constant([-1, width]))

    def split_heads(self, x: str, shape: str) -> str:
        """(B * T, heads * dh) -> (B, heads, T, dh); `shape` is (B, T, heads, dh)."""
        return self.op("Transpose", self.op("Reshape", x, shape), perm=[0, 2, 1, 3])

    def join_heads(self, x: str, width: int) -> str:
        """(B, heads, T, dh) -> (B * T, width)."""
        return self.as_rows(self.op("Transpose", x, perm=[0, 2, 1, 3]), width)

    def part(self, x: str, start: int, end: int) -> str:
        """Some of the last dimension."""
        return self.op("Slice", x, self.constant([start]), self.constant([end]), self.constant([-1]))

    def attend(self, query: str, key: str, value: str, mask: str | None, width: int) -> str:
        """Softmax attention of (B, heads, T, dh) over (B, heads, S, dh); `mask` is added to the scores."""
        query = self.op("Mul", query, self.constant(1 / float(np.sqrt(width))))
        scores = self.op("MatMul", query, self.op("Transpose", key, perm=[0, 1, 3, 2]))
        if mask is not None:
            scores = self.op("Add", scores, mask)
        return self.op("MatMul", self.op("Softmax", scores, axis=-1), value)

    def save(self, path: Path, *, description: str) -> None:
        """Write the graph beside its weights, after a check."""
        for node in self._nodes:
            for names in (node.input, node.output):
                for place, value in enumerate(names):
                    names[place] = self._renamed.get(value, value)
        graph = helper.make_graph(
            self._nodes, path.stem, self._inputs, self._outputs, list(self._initializers.values())
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=_IR_VERSION,
            producer_name="parasketch",
            doc_string=description,
        )
        path.write_bytes(model.SerializeToString())
        onnx.checker.check_model(str(path))

    def _cast(self, value: str, kind: int = FLOAT) -> str:
        self._count += 1
        result = f"v{self._count}"
        self._nodes.append(helper.make_node("Cast", [value], [result], to=kind))
        return result

    def _matmul_int8(self, x: str, name: str) -> str:
        """Inputs and weights in 8 bits: the weights have a scale for every output, the inputs have one together.

        Runtimes know this pattern and make one fast operation of it.
        """
        if f"turned {name}" not in self._known:
            self._known[f"turned {name}"] = self.op("Transpose", self.stored(name), perm=[1, 0])
        self._count += 1
        whole, scale, zero = (f"v{self._count}{part}" for part in ("", "_scale", "_zero"))
        self._nodes.append(helper.make_node("DynamicQuantizeLinear", [x], [whole, scale, zero]))
        product = self._cast(self.op("MatMulInteger", whole, self._known[f"turned {name}"], zero))
        return self.op("Mul", product, self.op("Mul", scale, self.stored(f"{name}.scale")))
