"""Builders of the memref operations that bufferization and buffer planning emit, with cached types."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DictionaryAttr, IntegerType, ModuleOp, TensorType, i64
from xdsl.ir import Attribute, Block, SSAValue

from .attributes import function_type, integer_attr
from .buffers import INDEX, Buffer, i32_array, i64_array, memref_type, row_major
from .creation import create_op
from .kernel import ARENA_SIZE
from .rewriting import set_type


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


def alloc(type_: Buffer) -> memref.AllocOp:
    return create_op(memref.AllocOp, result_types=[type_], properties={"operandSegmentSizes": i32_array((0, 0))})


def index_constant(value: int) -> arith.ConstantOp:
    return create_op(arith.ConstantOp, result_types=[INDEX], properties={"value": integer_attr(value, INDEX)})


def reshape(source: SSAValue, type_: Buffer) -> memref.ReinterpretCastOp:
    """The same contiguous elements under another shape."""
    shape = type_.get_shape()
    return create_op(
        memref.ReinterpretCastOp,
        operands=[source],
        result_types=[type_],
        properties={
            "static_offsets": i64_array((0,)),
            "static_sizes": i64_array(shape),
            "static_strides": i64_array(row_major(shape)),
            "operandSegmentSizes": i32_array((1, 0, 0, 0)),
        },
    )


def copy(source: SSAValue, destination: SSAValue) -> memref.CopyOp:
    return create_op(memref.CopyOp, operands=[source, destination])


def neighbours(source: SSAValue, first: SSAValue, shape: tuple[int, ...]) -> memref.ReinterpretCastOp:
    """The elements that follow each other in a contiguous buffer, from `first` on, under a shape."""
    strides = row_major(shape)
    return create_op(
        memref.ReinterpretCastOp,
        operands=[source, first],
        result_types=[memref_type(shape, cast(Buffer, source.type).element_type, strides, None)],
        properties={
            "static_offsets": i64_array((DYNAMIC_INDEX,)),
            "static_sizes": i64_array(shape),
            "static_strides": i64_array(strides),
            "operandSegmentSizes": i32_array((1, 1, 0, 0)),
        },
    )


def take_block_arguments(function: func.FuncOp) -> None:
    """Give a function of one block the types that its block takes and returns; new parameters get no attributes."""
    block = function.body.block
    types = [argument.type for argument in block.args]
    returned = () if block.last_op is None else block.last_op.operand_types
    function.properties["function_type"] = function_type(types, returned)
    if function.arg_attrs is not None:
        known = function.arg_attrs.data
        function.properties["arg_attrs"] = ArrayAttr([*known, *[DictionaryAttr({})] * (len(types) - len(known))])


def resize_arena(module: ModuleOp, arena: SSAValue, size: int) -> None:
    """Give the arena, the entry's last argument, this size in bytes."""
    entry = cast("Block", arena.owner).parent_op()
    set_type(arena, memref_type((size,), IntegerType(8)))
    take_block_arguments(cast("func.FuncOp", entry))
    module.attributes[ARENA_SIZE] = integer_attr(size, i64)


def load(source: SSAValue, indices: Sequence[SSAValue] = ()) -> memref.LoadOp:
    element = cast(Buffer, source.type).element_type
    return create_op(memref.LoadOp, operands=[source, *indices], result_types=[cast(Attribute, element)])


def subview(
    source: SSAValue,
    offsets: Sequence[SSAValue | int],
    sizes: Sequence[int],
    strides: Sequence[int],
) -> memref.SubviewOp:
    """
    A strided window of `source`; an offset may be a value. A window of a window at known places is one of the whole, so
    that windows are not as deep as the program is long.
    """
    outer = source.owner
    if isinstance(outer, memref.SubviewOp) and not outer.offsets and all(isinstance(at, int) for at in offsets):
        steps = outer.static_strides.get_values()
        begins = outer.static_offsets.get_values()
        if len(begins) == len(offsets):  # it has the rank of its source
            offsets = [begin + cast(int, at) * step for begin, at, step in zip(begins, offsets, steps, strict=True)]
            strides = [own * step for own, step in zip(strides, steps, strict=True)]
            source = outer.source
    result = memref.SubviewOp.infer_result_type(cast(Buffer, source.type), offsets, sizes, strides)
    return memref.SubviewOp.get(source, offsets, sizes, strides, result)
