"""Builders of the memref operations that bufferization and buffer planning emit, with cached types."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, IntegerType, MemRefType, TensorType
from xdsl.dialects.builtin import i64 as i64_type
from xdsl.ir import Attribute, SSAValue

Buffer: TypeAlias = MemRefType[Any]

INDEX = IndexType()


@lru_cache(maxsize=4096)
def memref_type(shape: tuple[int, ...], element_type: Attribute) -> Buffer:
    """A memref type of identity layout."""
    return MemRefType(element_type, shape)


def buffer_type(tensor: Attribute) -> Buffer:
    """The memref type that holds a tensor type."""
    tensor = cast("TensorType[Any]", tensor)
    return memref_type(tensor.get_shape(), tensor.element_type)


def is_tensor(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType)


def byte_size(type_: Buffer) -> int:
    """Bytes of a buffer of static shape; an i1 takes one byte."""
    element: Any = type_.element_type
    width: int = element.compile_time_size
    return math.prod(type_.get_shape()) * width


@lru_cache(maxsize=1024)
def _int_array(values: tuple[int, ...]) -> DenseArrayBase[Any]:
    return DenseArrayBase.from_list(i64_type, values)


@lru_cache(maxsize=1024)
def _segments(values: tuple[int, ...]) -> DenseArrayBase[Any]:
    return DenseArrayBase.from_list(IntegerType(32), values)


def alloc(type_: Buffer) -> memref.AllocOp:
    return memref.AllocOp.create(result_types=[type_], properties={"operandSegmentSizes": _segments((0, 0))})


def index_constant(value: int) -> arith.ConstantOp:
    return arith.ConstantOp.create(result_types=[INDEX], properties={"value": IntegerAttr(value, INDEX)})


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides, in elements, of the identity layout."""
    strides = [1] * len(shape)
    for dim in range(len(shape) - 2, -1, -1):
        strides[dim] = strides[dim + 1] * shape[dim + 1]
    return tuple(strides)


def reshape(source: SSAValue, type_: Buffer) -> memref.ReinterpretCastOp:
    """The same contiguous elements under another shape."""
    shape = type_.get_shape()
    return memref.ReinterpretCastOp.create(
        operands=[source],
        result_types=[type_],
        properties={
            "static_offsets": _int_array((0,)),
            "static_sizes": _int_array(shape),
            "static_strides": _int_array(row_major_strides(shape)),
            "operandSegmentSizes": _segments((1, 0, 0, 0)),
        },
    )


def copy(source: SSAValue, destination: SSAValue) -> memref.CopyOp:
    return memref.CopyOp.create(operands=[source, destination])


def load(source: SSAValue, indices: Sequence[SSAValue] = ()) -> memref.LoadOp:
    element = cast(Buffer, source.type).element_type
    return memref.LoadOp.create(operands=[source, *indices], result_types=[cast(Attribute, element)])


def subview(
    source: SSAValue,
    offsets: Sequence[SSAValue | int],
    sizes: Sequence[int],
    strides: Sequence[int],
) -> memref.SubviewOp:
    """A strided window of `source`; an offset may be a value."""
    result = memref.SubviewOp.infer_result_type(cast(Buffer, source.type), offsets, sizes, strides)
    return memref.SubviewOp.get(source, offsets, sizes, strides, result)
