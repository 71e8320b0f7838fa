"""ONNX files, written without the library of that name: it weighs 33 MB, and graphs need six of its messages.

An ONNX model is one protocol buffer. A message is its fields, one after the other: the number of the field and the kind
of its value in one byte or more, then the value, which is a whole number, 4 bytes of a float, or so many bytes. The
numbers below are those of onnx.proto, which never change.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOAT, UINT8, INT8, INT64, BOOL, FLOAT16 = 1, 2, 3, 7, 9, 10
"""Types of elements."""
_TYPES = {"float32": FLOAT, "uint8": UINT8, "int8": INT8, "int64": INT64, "bool": BOOL, "float16": FLOAT16}
_EXTERNAL = 1
_A_FLOAT, _AN_INT, _A_STRING, _INTS = 1, 2, 3, 7

Dimensions = Sequence[int | str]
Attribute = float | int | str | Sequence[int]


@dataclass
class Node:
    """An operation."""

    kind: str
    inputs: list[str]
    outputs: list[str]
    domain: str
    """Empty for those of the standard."""
    attributes: Mapping[str, Attribute]

    def to_bytes(self) -> bytes:
        """Its message."""
        made = b"".join(_text(1, name) for name in self.inputs) + b"".join(_text(2, name) for name in self.outputs)
        # A name of its own: onnxruntime makes other names of it, which have to differ.
        made += _text(3, next(filter(None, self.outputs))) + _text(4, self.kind)
        made += _fields(5, [_attribute(*each) for each in self.attributes.items()])
        return made + _text(7, self.domain) if self.domain else made


@dataclass
class OnnxGraph:
    """The parts of a graph; all but its operations are the bytes of their messages."""

    nodes: list[Node] = field(default_factory=list)
    initializers: dict[str, bytes] = field(default_factory=dict)
    inputs: list[bytes] = field(default_factory=list)
    outputs: list[bytes] = field(default_factory=list)

    def to_bytes(self, name: str, description: str, *, ir_version: int, opsets: Mapping[str, int]) -> bytes:
        """The content of a file."""
        graph = (
            _fields(1, [node.to_bytes() for node in self.nodes])
            + _text(2, name)
            + _fields(5, self.initializers.values())
        )
        graph += _fields(11, self.inputs) + _fields(12, self.outputs)
        imports = [_text(1, domain) + _number(2, version) for domain, version in opsets.items()]
        model = _number(1, ir_version) + _text(2, "parasketch") + _text(6, description)
        return model + _fields(7, [graph]) + _fields(8, imports)


def value(name: str, kind: int, shape: Dimensions) -> bytes:
    """An input or an output; dimensions with a name can have any size."""
    sizes = [_text(2, size) if isinstance(size, str) else _number(1, size) for size in shape]
    tensor = _number(1, kind) + _fields(2, [_fields(1, sizes)])
    return _text(1, name) + _fields(2, [_fields(1, [tensor])])


def constant(name: str, array: NDArray[Any]) -> bytes:
    """A tensor that is part of the file."""
    raw = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
    return _tensor(name, _TYPES[array.dtype.name], array.shape) + _fields(9, [raw])


def external(name: str, kind: int, shape: Sequence[int], file: str, offset: int, length: int) -> bytes:
    """A tensor that is in another file beside this one."""
    places = {"location": file, "offset": str(offset), "length": str(length)}
    entries = [_text(1, key) + _text(2, place) for key, place in places.items()]
    return _tensor(name, kind, shape) + _fields(13, entries) + _number(14, _EXTERNAL)


def _tensor(name: str, kind: int, shape: Sequence[int]) -> bytes:
    return b"".join(_number(1, size) for size in shape) + _number(2, kind) + _text(8, name)


def _attribute(name: str, given: Attribute) -> bytes:
    if isinstance(given, float):
        kind, content = _A_FLOAT, _key(2, 5) + struct.pack("<f", given)
    elif isinstance(given, int):
        kind, content = _AN_INT, _number(3, given)
    elif isinstance(given, str):
        kind, content = _A_STRING, _text(4, given)
    else:
        kind, content = _INTS, b"".join(_number(8, each) for each in given)
    return _text(1, name) + content + _number(20, kind)


def _fields(number: int, contents: Iterable[bytes]) -> bytes:
    return b"".join(_key(number, 2) + _varint(len(content)) + content for content in contents)


def _text(number: int, content: str) -> bytes:
    return _fields(number, [content.encode()])


def _number(number: int, content: int) -> bytes:
    return _key(number, 0) + _varint(content)


def _key(number: int, kind: int) -> bytes:
    return _varint(number << 3 | kind)


def _varint(content: int) -> bytes:
    """Seven bits a byte, the lowest first; a negative number is its complement in 64 bits."""
    content &= (1 << 64) - 1
    made = bytearray()
    while content > 0x7F:
        made.append(content & 0x7F | 0x80)
        content >>= 7
    made.append(content)
    return bytes(made)
