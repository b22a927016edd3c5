"""Large constants of TensorFlow's programs: its text leaves their values out, its protocol buffer has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import ml_dtypes
import numpy as np

from ...hlo_dialect.types import Array

ELIDED = "constant({...})"
_ELIDED = re.compile(r"%([\w.\-]+) = (\S+) constant\(\{\.\.\.\}\)")

_FIELDS: dict[str, tuple[str, Any]] = {
    "PRED": ("preds", np.bool_),
    "S8": ("s8s", np.int8),
    "U8": ("u8s", np.uint8),
    "S16": ("s16s", np.int16),
    "U16": ("u16s", np.uint16),
    "S32": ("s32s", np.int32),
    "U32": ("u32s", np.uint32),
    "S64": ("s64s", np.int64),
    "U64": ("u64s", np.uint64),
    "F16": ("f16s", np.float16),
    "BF16": ("bf16s", ml_dtypes.bfloat16),
    "F32": ("f32s", np.float32),
    "F64": ("f64s", np.float64),
    "C64": ("c64s", np.complex64),
    "C128": ("c128s", np.complex128),
}
"""The field of a literal that has its elements, and their type (xla_data.proto)."""


def with_constants(text: str, serialized: bytes) -> str:
    """HLO text with the values that it leaves out, from the same module in XLA's protocol buffer."""
    if ELIDED not in text:
        return text
    module = import_module("tensorflow.compiler.xla.service.hlo_pb2").HloModuleProto()
    module.ParseFromString(serialized)
    literals = {
        instruction.name: instruction.literal
        for computation in module.computations
        for instruction in computation.instructions
        if instruction.opcode == "constant"
    }

    def written(match: re.Match[str]) -> str:
        name, shape = match.groups()
        return f"%{name} = {shape} constant({''.join(_pieces(_array(literals[name])))})"

    return _ELIDED.sub(written, text)


def _array(literal: Any) -> Array:
    types = import_module("tensorflow.compiler.xla.xla_data_pb2")
    kind = types.PrimitiveType.Name(literal.shape.element_type)
    field, dtype = _FIELDS[kind]
    data = getattr(literal, field)
    if isinstance(data, bytes):
        flat = np.frombuffer(data, np.dtype(dtype).newbyteorder("<") if kind != "BF16" else dtype)
    elif kind in ("C64", "C128"):
        flat = np.array(data, np.float32 if kind == "C64" else np.float64).view(dtype)
    else:
        flat = np.array(data, dtype)
    order = tuple(literal.shape.layout.minor_to_major)
    dimensions = tuple(literal.shape.dimensions)
    # The elements are in the order of the layout, whose first dimension varies fastest.
    physical = flat.reshape([dimensions[at] for at in reversed(order)])
    return physical.transpose(np.argsort(order[::-1]))


def _pieces(array: Array) -> Iterator[str]:
    if array.ndim == 0:
        yield _element(array.item())
        return
    yield "{"
    if array.ndim == 1:
        yield ", ".join(map(_element, array.tolist()))
    else:
        for at, each in enumerate(array):
            if at:
                yield ", "
            yield from _pieces(each)
    yield "}"


def _element(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, complex):
        return f"({value.real!r}, {value.imag!r})"
    return repr(value)
