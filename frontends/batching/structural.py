"""Batching of operations that move, reduce and combine elements: their dimensions are one further back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.ir import Attribute

from ...hlo_dialect.attributes import DotDimensionNumbersAttr, IntArray, int_array, int_attr, ints
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.expressions.tensor import Tensor
from ...hlo_dialect.ops.algorithms.fourier import FftOp
from ...hlo_dialect.ops.algorithms.linear_algebra import CholeskyOp, TriangularSolveOp
from ...hlo_dialect.ops.comparison import ClampOp, SelectOp
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.conversion import BitcastConvertOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp, ReverseOp, TransposeOp
from ...hlo_dialect.ops.reduction import ReduceOp
from ...hlo_dialect.ops.slicing import ConcatenateOp, PadOp, SliceOp
from ...hlo_dialect.ops.sort import SortOp
from ...hlo_dialect.ops.window import ReduceWindowOp
from ...hlo_dialect.types import constant_array, dense_constant, element_of, make_tensor, shape_of
from .batcher import Batcher, batching, elementwise

Tensors = list[Tensor]
Flags = list[bool]

batching.on(ReshapeOp, BitcastConvertOp, FftOp, CholeskyOp, TriangularSolveOp)(elementwise)


def shifted(array: Any, *before: int) -> IntArray:
    """Dimensions moved back by one, after the new ones."""
    return int_array([*before, *(dim + 1 for dim in ints(array))])


def with_batch(array: Any, first: int) -> IntArray:
    """Sizes after that of the dimension of the batch."""
    return int_array([first, *ints(array)])


@batching.on(SelectOp, ClampOp)
def _with_scalars(batcher: Batcher, op: Any, operands: Tensors, batched: Flags) -> Tensors:
    """A predicate, or a bound, may be a scalar."""
    shape = shape_of(op.results[0])

    def widened(value: Tensor, is_batch: bool) -> Tensor:
        led = batcher.led(value, is_batch)
        return led if len(led.shape) > len(shape) else led.broadcast((batcher.size, *shape), [0])

    return batcher.emit(op, [widened(*each) for each in zip(operands, batched, strict=True)])


@batching.on(BroadcastInDimOp)
def _broadcast(batcher: Batcher, op: BroadcastInDimOp, operands: Tensors, batched: Flags) -> Tensors:
    return batcher.emit(op, operands, properties={"broadcast_dimensions": shifted(op.broadcast_dimensions, 0)})


@batching.on(TransposeOp)
def _transpose(batcher: Batcher, op: TransposeOp, operands: Tensors, batched: Flags) -> Tensors:
    return batcher.emit(op, operands, properties={"permutation": shifted(op.permutation, 0)})


@batching.on(ReverseOp)
def _reverse(batcher: Batcher, op: ReverseOp, operands: Tensors, batched: Flags) -> Tensors:
    return batcher.emit(op, operands, properties={"dimensions": shifted(op.dimensions)})


@batching.on(SliceOp)
def _slice(batcher: Batcher, op: SliceOp, operands: Tensors, batched: Flags) -> Tensors:
    changed = {
        "start_indices": with_batch(op.start_indices, 0),
        "limit_indices": with_batch(op.limit_indices, batcher.size),
        "strides": with_batch(op.strides, 1),
    }
    return batcher.emit(op, operands, properties=changed)


@batching.on(PadOp)
def _pad(batcher: Batcher, op: PadOp, operands: Tensors, batched: Flags) -> Tensors | None:
    if batched[1]:
        return None
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    changed = {name: with_batch(op.properties[name], 0) for name in names}
    return batcher.emit(op, operands, properties=changed)


def _all(batcher: Batcher, operands: Sequence[Tensor], batched: Sequence[bool]) -> Tensors:
    return [batcher.led(*each) for each in zip(operands, batched, strict=True)]


@batching.on(ConcatenateOp)
def _concatenate(batcher: Batcher, op: ConcatenateOp, operands: Tensors, batched: Flags) -> Tensors:
    dimension = int_attr(op.dimension.value.data + 1)
    return batcher.emit(op, _all(batcher, operands, batched), properties={"dimension": dimension})


@batching.on(SortOp)
def _sort(batcher: Batcher, op: SortOp, operands: Tensors, batched: Flags) -> Tensors | None:
    if batcher.captures_batches(op):
        return None
    dimension = op.dimension.value.data if op.dimension is not None else -1
    back = dimension + 1 if dimension >= 0 else dimension + len(operands[0].shape) - batched[0] + 1
    return batcher.emit(op, _all(batcher, operands, batched), properties={"dimension": int_attr(back)})


def _folded(
    batcher: Batcher, op: Any, operands: Tensors, batched: Flags, changed: dict[str, Attribute]
) -> Tensors | None:
    """Operations that fold arrays from scalars."""
    count = len(operands) // 2
    if batcher.captures_batches(op) or any(batched[count:]):
        return None
    return batcher.emit(op, [*_all(batcher, operands[:count], batched[:count]), *operands[count:]], properties=changed)


@batching.on(ReduceOp)
def _reduce(batcher: Batcher, op: ReduceOp, operands: Tensors, batched: Flags) -> Tensors | None:
    return _folded(batcher, op, operands, batched, {"dimensions": shifted(op.dimensions)})


@batching.on(ReduceWindowOp)
def _reduce_window(batcher: Batcher, op: ReduceWindowOp, operands: Tensors, batched: Flags) -> Tensors | None:
    sized = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    changed: dict[str, Attribute] = {
        name: with_batch(op.properties[name], 1) for name in sized if name in op.properties
    }
    if op.padding is not None:
        changed["padding"] = dense_constant(np.insert(constant_array(op.padding), 0, 0, axis=0))
    return _folded(batcher, op, operands, batched, changed)


@batching.on(DotGeneralOp)
def _dot_general(batcher: Batcher, op: DotGeneralOp, operands: Tensors, batched: Flags) -> Tensors:
    """If only one side is a batch, its dimension is a free one, which is then moved to the front."""
    numbers = op.dot_dimension_numbers
    both = all(batched)
    first = [0] if both else []
    dims = [
        [*first, *(dim + batched[side] for dim in ints(one))]
        if batching_dims
        else [dim + batched[side] for dim in ints(one)]
        for one, side, batching_dims in (
            (numbers.lhs_batching_dimensions, 0, True),
            (numbers.rhs_batching_dimensions, 1, True),
            (numbers.lhs_contracting_dimensions, 0, False),
            (numbers.rhs_contracting_dimensions, 1, False),
        )
    ]
    changed: dict[str, Attribute] = {"dot_dimension_numbers": DotDimensionNumbersAttr(*map(int_array, dims))}
    shape = list(shape_of(op.results[0]))
    place = 0
    if not both:
        place = len(dims[0])
        if batched[1]:
            place += len(operands[0].shape) - len(dims[0]) - len(dims[2])
    shape.insert(place, batcher.size)
    (found,) = batcher.emit(op, operands, [make_tensor(tuple(shape), element_of(op.results[0]))], changed)
    return [found.transpose([place, *(dim for dim in range(len(shape)) if dim != place)])]


@batching.on(CustomCallOp)
def _custom_call(batcher: Batcher, op: CustomCallOp, operands: Tensors, batched: Flags) -> Tensors | None:
    """LAPACK's calls take stacks of matrices."""
    if not cast(Any, op.properties["call_target_name"]).data.startswith("lapack_"):
        return None
    return batcher.emit(op, _all(batcher, operands, batched))
