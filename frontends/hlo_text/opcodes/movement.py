"""Opcodes that move elements: reshape, slice, pad, gather, dynamic slices, .."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ....hlo_dialect.attributes import bool_attr, int_array, int_attr
from ....hlo_dialect.expressions.tensor import concatenate
from ....hlo_dialect.ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp
from ....hlo_dialect.ops.dynamism.dimension_sizes import GetDimensionSizeOp, SetDimensionSizeOp
from ....hlo_dialect.ops.dynamism.dynamic_shapes import DynamicReshapeOp
from ....hlo_dialect.ops.gather import GatherOp
from ....hlo_dialect.ops.index_dimensions import (
    GatherDimensionNumbersAttr,
    IndexDimensions,
    ScatterDimensionNumbersAttr,
)
from ....hlo_dialect.ops.movement import ReshapeOp, ReverseOp, TransposeOp
from ....hlo_dialect.ops.scatter import ScatterOp
from ....hlo_dialect.ops.slicing import ConcatenateOp, PadOp, SliceOp
from ....hlo_dialect.shapes import is_static
from ....hlo_dialect.types import shape_of
from ..registry import opcode
from ..step import Step, Value
from ..values import read_padding, read_ranges


@opcode("reshape", "inferred_dimension", 1)
def reshape(step: Step) -> Value:
    return step.op(ReshapeOp, [step.value(0)])


@opcode("dynamic-reshape")
def dynamic_reshape(step: Step) -> Value:
    if not step.operands:
        step.fail("expected an array and a size for each dimension of the result")
    sizes = [step.tensor(index).reshape((1,)) for index in range(1, len(step.operands))]
    if not sizes:
        return step.op(ReshapeOp, [step.value(0)])
    return step.op(DynamicReshapeOp, [step.value(0), concatenate(sizes, 0).value])


@opcode("transpose", "dimensions", 1)
def transpose(step: Step) -> Value:
    return step.op(TransposeOp, [step.value(0)], permutation=int_array(step.ints("dimensions")))


@opcode("reverse", "dimensions", 1)
def reverse(step: Step) -> Value:
    return step.op(ReverseOp, [step.value(0)], dimensions=int_array(step.ints("dimensions")))


@opcode("concatenate", "dimensions")
def concatenation(step: Step) -> Value:
    return step.op(ConcatenateOp, step.flat(), dimension=int_attr(step.dimension()))


@opcode("slice", "slice", 1)
def slice_(step: Step) -> Value:
    starts, limits, strides = map(int_array, step.attribute("slice", read_ranges))
    return step.op(SliceOp, [step.value(0)], start_indices=starts, limit_indices=limits, strides=strides)


@opcode("pad", "padding", 2)
def pad(step: Step) -> Value:
    config = step.attribute("padding", read_padding, () if shape_of(step.tensor(0).value) == () else None)
    low, high, interior = (int_array([entry[index] for entry in config]) for index in range(3))
    operands = [step.value(0), step.value(1)]
    return step.op(PadOp, operands, edge_padding_low=low, edge_padding_high=high, interior_padding=interior)


def _starts(step: Step, first: int) -> list[SSAValue]:
    """Start indices, one scalar for each dimension; older programs have them in one vector."""
    rank = len(step.tensor(0).shape)
    if len(step.operands) == first + 1 and step.tensor(first).shape == (rank,):
        vector = step.tensor(first)
        return [vector.part(0, dim, dim + 1).reshape(()).value for dim in range(rank)]
    if len(step.operands) != first + rank:
        step.fail(f"expected {rank} start indices, there are {len(step.operands) - first}")
    return [step.value(index) for index in range(first, len(step.operands))]


@opcode("dynamic-slice", "dynamic_slice_sizes")
def dynamic_slice(step: Step) -> Value:
    if not step.operands:
        step.fail("expected an array and start indices")
    operands = [step.value(0), *_starts(step, 1)]
    return step.op(DynamicSliceOp, operands, slice_sizes=int_array(step.ints("dynamic_slice_sizes")))


@opcode("dynamic-update-slice")
def dynamic_update_slice(step: Step) -> Value:
    if len(step.operands) < 2:
        step.fail("expected an array, an update and start indices")
    return step.op(DynamicUpdateSliceOp, [step.value(0), step.value(1), *_starts(step, 2)])


GATHER_LISTS = "offset_dims collapsed_slice_dims operand_batching_dims start_indices_batching_dims start_index_map"
SCATTER_LISTS = (
    "update_window_dims inserted_window_dims input_batching_dims scatter_indices_batching_dims "
    "scatter_dims_to_operand_dims"
)


def _index_dimensions(step: Step, names: str) -> IndexDimensions:
    window, collapsed, batching, index_batching, index_map = (
        step.ints(name, () if "batching" in name else None) for name in names.split()
    )
    vector = step.int("index_vector_dim")
    return IndexDimensions(window, collapsed, batching, index_batching, index_map, vector)


@opcode("gather", f"{GATHER_LISTS} index_vector_dim slice_sizes indices_are_sorted", 2)
def gather(step: Step) -> Value:
    return step.op(
        GatherOp,
        step.flat(),
        dimension_numbers=GatherDimensionNumbersAttr.of(_index_dimensions(step, GATHER_LISTS)),
        slice_sizes=int_array(step.ints("slice_sizes")),
        indices_are_sorted=bool_attr(step.bool("indices_are_sorted", False)),
    )


@opcode("scatter", f"{SCATTER_LISTS} index_vector_dim indices_are_sorted unique_indices to_apply")
def scatter(step: Step) -> Value:
    return step.op(
        ScatterOp,
        step.flat(),
        [step.region(step.computation("to_apply"))],
        scatter_dimension_numbers=ScatterDimensionNumbersAttr.of(_index_dimensions(step, SCATTER_LISTS)),
        indices_are_sorted=bool_attr(step.bool("indices_are_sorted", False)),
        unique_indices=bool_attr(step.bool("unique_indices", False)),
    )


@opcode("get-dimension-size", "dimensions", 1)
def get_dimension_size(step: Step) -> Value:
    return step.op(GetDimensionSizeOp, [step.value(0)], dimension=int_attr(step.dimension()))


@opcode("set-dimension-size", "dimensions", 2)
def set_dimension_size(step: Step) -> Value:
    dimension, x = step.dimension(), step.tensor(0)
    if is_static(step.tensor_type.get_shape()) and is_static(x.shape):
        # XLA states the type without a bound where the size is known to be the whole dimension.
        return x.value
    return step.op(SetDimensionSizeOp, step.flat(), dimension=int_attr(dimension))
