"""Types in memory and in the names of intrinsics, and the memory layout of memrefs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntAttr,
    IntegerType,
    VectorType,
)
from xdsl.ir import Attribute

Vector: TypeAlias = VectorType[Any]
Integer: TypeAlias = IntegerType[Any, Any]

FLOAT_NAMES: dict[type, str] = {Float16Type: "f16", BFloat16Type: "bf16", Float32Type: "f32", Float64Type: "f64"}


def integer(width: int) -> Integer:
    return IntegerType(width)


def bit_width(type_: Attribute) -> int:
    """Bits of an integer, or of a vector of integers' elements."""
    if isinstance(type_, VectorType):
        type_ = cast(Vector, type_).element_type
    return cast(Integer, type_).width.data


def mangled(type_: Attribute) -> str:
    """A type's spelling in the name of an overloaded intrinsic: f32, i64, v16f32, p0."""
    if type(type_) is IntegerType:
        return f"i{cast(Integer, type_).width.data}"
    if type(type_) is VectorType:
        vector = cast(Vector, type_)
        return f"v{vector.get_shape()[0]}{mangled(vector.element_type)}"
    if isinstance(type_, llvm.LLVMPointerType):
        return f"p{type_.addr_space.data}" if isinstance(type_.addr_space, IntAttr) else "p0"
    return FLOAT_NAMES[type(type_)]


def byte_width(element: Attribute) -> int:
    """Bytes of a float, integer or pointer in memory; i1, i2 and i4 take one."""
    cls = type(element)
    if cls is IntegerType:
        return max(1, cast(Integer, element).width.data // 8)
    if cls is Float16Type or cls is BFloat16Type:
        return 2
    return 4 if cls is Float32Type else 8


@dataclass(frozen=True)
class Layout:
    """The layout of a memref in memory: the value is a pointer to element (0, .., 0)."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In elements."""
    element: Attribute
    """The element type in memory: i8 for i1, i2 and i4, i64 for index."""
    itemsize: int
    """Bytes of an element."""
    narrow: int | None
    """The width of a 1, 2 or 4 bit element, which takes one byte with zero upper bits; None for wider elements."""

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.itemsize

    @property
    def contiguous(self) -> bool:
        expected = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != expected:
                return False
            expected *= size
        return True
