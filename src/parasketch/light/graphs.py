"""A small hand for writing ONNX graphs: one method an operation, and weights by the names they have in safetensors.

Values between layers are rows, (N, width), whatever they belong to: one matrix product each, and no transposed weights.

Weights are not copied into the graph. ONNX lets a tensor live in another file, at an offset; a safetensors file is a
header and raw tensors, so graphs point right into it. What is stored in 16 or 8 bits is widened when a session is made.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parasketch.light import onnx_file
from parasketch.light.onnx_file import BOOL, FLOAT, FLOAT16, INT8, INT64, Attribute, Node, OnnxGraph
from parasketch.light.stored import read_header

__all__ = ["BOOL", "FLOAT", "FUSED", "INT64", "OPSET", "Graph"]

OPSET = 17
"""The version of ONNX's operators: the first with LayerNormalization, so understood by every runtime since 2022."""
_IR_VERSION = 8
FUSED = "com.microsoft"
"""The domain of operations that onnxruntime has beside the standard's: several in one, and so faster."""
_MIDDLE = np.uint8(128)
_TYPES = {"F32": FLOAT, "F16": FLOAT16, "I8": INT8, "I64": INT64}


class Graph:
    """A graph in the making; operations take and give names of values."""

    def __init__(self, weights: Path, *, int8: bool = False) -> None:
        self._file, self._stored, self._int8 = weights.name, read_header(weights), int8
        self._graph = OnnxGraph()
        self._known: dict[str, str] = {}
        self._renamed: dict[str, str] = {}
        self._count = 0

    def input(self, name: str, kind: int, shape: Sequence[int | str]) -> str:
        """An input of the graph; dimensions with a name can have any size."""
        self._graph.inputs.append(onnx_file.value(name, kind, shape))
        return name

    def output(self, name: str, value: str, shape: Sequence[int | str], kind: int = FLOAT) -> None:
        """Give a value out under a name."""
        self._renamed[value] = name  # a copy under another name would cost time at every run
        self._graph.outputs.append(onnx_file.value(name, kind, shape))

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Attribute) -> str:
        """Add an operation with one output."""
        self._count += 1
        result = f"v{self._count}"
        self._graph.nodes.append(Node(kind, list(inputs), [result], domain, attributes))
        return result

    def ops(
        self,
        kind: str,
        *inputs: str,
        outputs: int,
        unused: Sequence[int] = (),
        domain: str = "",
        **attributes: Attribute,
    ) -> list[str]:
        """Add an operation with several outputs; what is unused need not be computed."""
        self._count += 1
        results = ["" if place in unused else f"v{self._count}_{place}" for place in range(outputs)]
        self._graph.nodes.append(Node(kind, list(inputs), results, domain, attributes))
        return results

    def constant(self, value: NDArray[Any] | np.generic | float | Sequence[int]) -> str:
        """A small value that is part of the graph."""
        array = np.asarray(value)
        array = array.astype(np.float32 if array.dtype.kind == "f" else array.dtype)
        key = f"constant {array.dtype} {array.shape} {array.tobytes().hex()}"
        if key not in self._known:
            self._count += 1
            name = f"c{self._count}"
            self._graph.initializers[name] = onnx_file.constant(name, array)
            self._known[key] = name
        return self._known[key]

    def has(self, name: str) -> bool:
        """Whether the weights have a tensor of that name."""
        return name in self._stored

    def stored(self, name: str) -> str:
        """A tensor of the weights as it is stored."""
        if name not in self._graph.initializers:
            found = self._stored[name]
            self._graph.initializers[name] = onnx_file.external(
                name, _TYPES[found.dtype], found.shape, self._file, found.offset, found.length
            )
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

    def matmul_bytes(self, x: str, matrix: str, scales: str, *, middles: str | None = None) -> str:
        """x W for rows x (N, inputs) and a matrix (inputs, outputs) in 8 bits with a scale for every output.

        Every row of x has a scale of its own: what becomes of it does not depend on its neighbours. A row of zeros has
        the scale 0, and so stays one. `middles` are those of other rows, as many as these.
        """
        scale = self.op("ReduceMax", self.op("Abs", x), axes=[1], keepdims=0)
        scale = self.op("Mul", scale, self.constant(1 / 127))
        whole = self.op("QuantizeLinear", x, scale, middles or self.middles(x), axis=0)
        one, middle = self.constant(1.0), self.constant(_MIDDLE)
        product = self.op("MatMulIntegerToFloat", whole, matrix, one, scales, middle, domain=FUSED)
        return self.op("Mul", product, self.op("Unsqueeze", scale, self.constant([1])))

    def middles(self, x: str) -> str:
        """For each row of x the byte that stands for 0, (N,)."""
        return self.op("Expand", self.constant(np.array([_MIDDLE])), self.op("Shape", x, start=0, end=1))

    def save(self, path: Path, *, description: str) -> None:
        """Write the graph beside its weights."""
        for node in self._graph.nodes:
            node.inputs = [self._renamed.get(name, name) for name in node.inputs]
            node.outputs = [self._renamed.get(name, name) for name in node.outputs]
        opsets = {"": OPSET, FUSED: 1}
        path.write_bytes(self._graph.to_bytes(path.stem, description, ir_version=_IR_VERSION, opsets=opsets))

    def _cast(self, value: str) -> str:
        return self.op("Cast", value, to=FLOAT)

    def _matmul_int8(self, x: str, name: str) -> str:
        """Inputs and weights in 8 bits."""
        if f"turned {name}" not in self._known:
            self._known[f"turned {name}"] = self.op("Transpose", self.stored(name), perm=[1, 0])
        return self.matmul_bytes(x, self._known[f"turned {name}"], self.stored(f"{name}.scale"))
