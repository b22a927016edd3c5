"""Rules for gathers and scatters of one slice, and gathers of one element of each row."""

from __future__ import annotations

import math

from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.expressions.tensor import Tensor
from ...hlo_dialect.ops.comparison import CompareOp
from ...hlo_dialect.ops.creation import constant_of
from ...hlo_dialect.ops.gather import GatherOp
from ...hlo_dialect.ops.index_dimensions import IndexDimensions
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp
from ...hlo_dialect.ops.scatter import ScatterOp
from ...hlo_dialect.ops.slicing import ConcatenateOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import Array, element_of, is_float, make_tensor, shape_of
from .chains import gather
from .indexing import combined, counted_dim, holds_indices, is_combined
from .rewrite import Rewrite, by, simplifications, start, to


def _is_one_window(dims: IndexDimensions, indices: SSAValue, *values: SSAValue) -> bool:
    """Whether there is one index vector, and every value has elements of a known number."""
    shapes = [shape_of(value) for value in (indices, *values)]
    if any(not is_static(shape) or 0 in shape for shape in shapes):
        return False
    return math.prod(dims.batch_shape(shapes[0])) == 1 and not dims.batching


@simplifications.on(GatherOp)
def gather_of_slice(op: Operation) -> Rewrite | None:
    """A gather of one slice is a dynamic_slice: both move it inside the operand."""
    assert isinstance(op, GatherOp)
    dims = op.dims
    if not _is_one_window(dims, op.start_indices, op.operand, op.result):
        return None
    x = start(op.operand)
    return by(x.dynamic_slice(_starts(x, op.start_indices, dims), op.sizes).reshape(shape_of(op.result)))


def _starts(x: Tensor, indices: SSAValue, dims: IndexDimensions) -> list[Tensor]:
    """The place of the only window in each dimension of `x`, from the index vector."""
    vector = Tensor(x.builder, indices).reshape([len(dims.index_map)])
    starts = [x.builder.splat(0, make_tensor((), vector.element))] * len(x.shape)
    for place, dim in enumerate(dims.index_map):
        starts[dim] = vector.take(0, place)
    return starts


@simplifications.on(ScatterOp)
def scatter_of_slice(op: Operation) -> Rewrite | None:
    """
    A scatter that writes one slice to a known place, or combines it with what is there (`x.at[1:-1].add(y)`), is a
    dynamic_update_slice; outside of the operand, nothing.
    """
    assert isinstance(op, ScatterOp)
    dims, index = op.dims, constant_of(op.scatter_indices)
    if op.input_count != 1 or index is None:
        return None
    base, update = op.inputs[0], op.updates[0]
    if not _is_one_window(dims, op.scatter_indices, base, update) or op.results[0].type != base.type:
        return None
    if not is_combined(op):
        return None
    shape, window = shape_of(base), _window(dims, shape_of(base), shape_of(update))
    first = _first(dims, index, len(shape))
    last = [at + part for at, part in zip(first, window, strict=True)]
    if any(not 0 <= at <= end <= size for at, end, size in zip(first, last, shape, strict=True)):
        return to(base)
    x = start(base)
    scalar = make_tensor((), element_of(op.scatter_indices))
    starts = [x.builder.splat(at, scalar) for at in first]
    value = combined(op, x.slice(first, last), Tensor(x.builder, update).reshape(window))
    return by(x.dynamic_update_slice(value, starts))


@simplifications.on(ScatterOp)
def scatter_of_bounded_slice(op: Operation) -> Rewrite | None:
    """
    A scatter of one slice to a computed place that is inside the operand by its bounds is a dynamic_update_slice, of
    what is there combined with it: `x.at[i].add(y)` with an index that a loop counts.
    """
    assert isinstance(op, ScatterOp)
    dims, base, update = op.dims, op.inputs[0], op.updates[0]
    if op.input_count != 1 or not _is_one_window(dims, op.scatter_indices, base, update):
        return None
    if op.results[0].type != base.type or not is_combined(op):
        return None
    shape, window = shape_of(base), _window(dims, shape_of(base), shape_of(update))
    if not all(
        _is_bounded(op.scatter_indices, place, shape[dim] - window[dim]) for place, dim in enumerate(dims.index_map)
    ):
        return None
    x = start(base)
    starts = _starts(x, op.scatter_indices, dims)
    value = combined(op, x.dynamic_slice(starts, window), Tensor(x.builder, update).reshape(window))
    return by(x.dynamic_update_slice(value, starts))


def _is_bounded(value: SSAValue, place: int, most: int) -> bool:
    """Whether one element of an index vector, which is often put together of scalars, is from 0 to a number."""
    from ...hlo_dialect.loops.bounds import Bounds, bounds_of  # only for scatters of one slice

    while isinstance(value.owner, ReshapeOp):
        value = value.owner.operands[0]
    if isinstance(value.owner, ConcatenateOp):
        parts = value.owner.operands
        if all(math.prod(shape_of(part)) == 1 for part in parts):
            value = parts[place]
    bounds = bounds_of(value)
    return bounds is not None and bounds.is_within(Bounds(0, most))


def _window(dims: IndexDimensions, shape: tuple[int, ...], update: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes of a window in the operand's dimensions."""
    sizes = iter(update[dim] for dim in dims.window)
    return tuple(1 if dim in dims.collapsed else next(sizes) for dim in range(len(shape)))


def _first(dims: IndexDimensions, index: Array, rank: int) -> list[int]:
    """The place of a window's first element."""
    first = [0] * rank
    for dim, number in zip(dims.index_map, index.reshape(-1), strict=True):
        first[dim] = int(number)
    return first


def index_compared(predicate: SSAValue, along: int) -> BroadcastInDimOp | None:
    """The index, broadcast along a dimension, with whose own indices a predicate compares it."""
    compare = predicate.owner
    if not isinstance(compare, CompareOp) or compare.direction != "EQ":
        return None
    size = shape_of(predicate)[along]
    for counted, index in ((compare.lhs, compare.rhs), (compare.rhs, compare.lhs)):
        spread = index.owner
        if counted_dim(counted) != (along, size) or not isinstance(spread, BroadcastInDimOp):
            continue
        sizes = shape_of(spread.operands[0])
        if holds_indices(index, size) and all(
            dim != along or n == 1 for dim, n in zip(spread.dims, sizes, strict=True)
        ):
            return spread
    return None


def picked(value: SSAValue, index: BroadcastInDimOp, along: int) -> Tensor:
    """The element of each row of a value at that row's index, zero where the row is shorter."""
    x = start(value)
    shape = x.shape
    kept = [dim for dim in range(len(shape)) if dim != along]
    rows = [shape[dim] for dim in kept]
    source = Tensor(x.builder, index.operands[0])
    pairs = [(dim, size) for dim, size in zip(index.dims, source.shape, strict=True) if dim != along]
    places = source.reshape([size for _, size in pairs]).broadcast(rows, [kept.index(dim) for dim, _ in pairs])
    numbers = tuple(range(len(kept)))
    dims = IndexDimensions((), (along,), tuple(kept), numbers, (along,), len(kept))
    picked = gather(x.builder, value, places.reshape((*rows, 1)), dims, (1,) * len(shape), rows)
    inside = (places >= 0) & (places <= shape[along] - 1)
    return inside.select(picked, 0.0 if is_float(x.element) else 0)
