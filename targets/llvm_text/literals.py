"""Constants in LLVM's syntax: floats bit for bit, arrays of bytes compactly."""

from __future__ import annotations

import struct
from typing import Any, cast

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.ir import Attribute, Operation

from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.types import dtype_named
from .types import type_text

_SCALARS: dict[type, str] = {
    Float16Type: "float16",
    BFloat16Type: "bfloat16",
    Float32Type: "float32",
    Float64Type: "float64",
}


def _dtype(type_: Attribute) -> np.dtype[Any]:
    return cast("np.dtype[Any]", dtype_named(_SCALARS[type(type_)]))


def attribute_literal(op: Operation, attr: Attribute, type_: Attribute) -> str:
    """A constant of a scalar or vector type, without its type."""
    if type(attr) is IntegerAttr and type(type_) is IntegerType:
        integer: Any = attr  # a call of `cast` takes as long as the rest
        return integer_literal(integer.value.data, type_)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(attr, FloatAttr) and type(type_) in _SCALARS:
        value = cast("FloatAttr[Any]", attr).value.data
        with np.errstate(over="ignore"):
            return float_literal(np.array(value, _dtype(type_)).tobytes(), type_)
    if isinstance(attr, DenseIntOrFPElementsAttr) and isinstance(type_, VectorType):
        return _vector_literal(cast("DenseIntOrFPElementsAttr[Any]", attr), cast("VectorType[Any]", type_))
    fail(op, f"has a constant of type {type_}, which the LLVM IR writer does not support")


def integer_literal(value: int, type_: Attribute) -> str:
    if type(type_) is not IntegerType:
        return str(value)
    integer: Any = type_
    return ("true" if value else "false") if integer.width.data == 1 else str(value)


def float_literal(data: bytes, type_: Attribute) -> str:
    """
    The exact literal of a float, from its bytes in memory: `0xH3C00`, `0xR3F80`, and for float and double the bits of
    the double.

    A float NaN keeps its payload, in the top bits of the double's.
    """
    bits = int.from_bytes(data, "little")
    if isinstance(type_, Float16Type):
        return f"0xH{bits:04X}"
    if isinstance(type_, BFloat16Type):
        return f"0xR{bits:04X}"
    if isinstance(type_, Float32Type):
        if bits & 0x7F800000 == 0x7F800000:
            bits = (bits & 0x80000000) << 32 | 0x7FF << 52 | (bits & 0x7FFFFF) << 29
        else:
            (value,) = struct.unpack("<f", data)
            (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    return f"0x{bits:016X}"


def _vector_literal(attr: DenseIntOrFPElementsAttr[Any], type_: VectorType[Any]) -> str:
    """`splat (float 0x..)`, or `<float 0x.., ..>`."""
    element = cast(Attribute, type_.element_type)
    data: bytes = attr.data.data
    name = type_text(element)
    length = type_.get_shape()[0]
    size = _element_bytes(element)
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    if type(element) in _SCALARS:
        items = [float_literal(part, element) for part in parts]
    else:
        items = [integer_literal(int.from_bytes(part, "little", signed=size > 1), element) for part in parts]
    if len(items) == 1 or (len(set(items)) == 1 and len(items) == length):
        return f"splat ({name} {items[0]})"
    return "<" + ", ".join(f"{name} {item}" for item in items) + ">"


_BYTES = [chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in range(256)]


def global_data(op: llvm.GlobalOp, big_endian: bool = False) -> bytes | None:
    """The bytes of a global in the machine's order; None for zeros. A splat in the module is written out."""
    type_ = op.global_type
    if not isinstance(type_, llvm.LLVMArrayType):
        fail(op, "is a global of another type than an array, which the LLVM IR writer does not support")
    value = op.value
    if value is None:
        return None
    if not isinstance(value, DenseIntOrFPElementsAttr):
        fail(op, "has an initial value that is no dense constant")
    data: bytes = cast("DenseIntOrFPElementsAttr[Any]", value).data.data
    if not any(data):
        return None
    size = _element_bytes(type_.type)
    if big_endian and size > 1:
        data = np.frombuffer(data, f"u{size}").byteswap().tobytes()
    return data * type_.size.data if len(data) == size else data


def global_initializer(op: llvm.GlobalOp, data: bytes | None) -> str:
    """Type and value of a global: `[8 x i8] c"..."`, or zeros."""
    if data is None:
        return f"{type_text(op.global_type)} zeroinitializer"
    return f'[{len(data)} x i8] c"{"".join([_BYTES[byte] for byte in data])}"'


def _element_bytes(type_: Attribute) -> int:
    if isinstance(type_, IntegerType):
        return max(1, cast("IntegerType[Any, Any]", type_).width.data // 8)
    return _dtype(type_).itemsize


def symbol(name: str) -> str:
    """A global name in LLVM's syntax, without the @, quoted if it is not an identifier."""
    if name.replace(".", "_").replace("$", "_").replace("-", "_").isidentifier() and name.isascii():
        return name
    return quoted(name)


def quoted(text: str) -> str:
    """A string in quotes, with escapes as LLVM's parser requires."""
    escaped = "".join(c if c.isascii() and c.isprintable() and c not in '"\\' else _escaped(c) for c in text)
    return f'"{escaped}"'


def _escaped(character: str) -> str:
    return "".join(f"\\{byte:02X}" for byte in character.encode())
