"""
The rules of partition-spmd: the operations that compute on parts of arrays, and how.

A rule reads the tilings of the operands and inserts an operation on parts before the one on whole arrays. It may
request parts of other operands; operands that it cannot keep split it requests as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ...hlo_dialect.attributes import int_array, ints
from ...hlo_dialect.op import is_elementwise
from ...hlo_dialect.ops.algorithms.fourier import FftOp
from ...hlo_dialect.ops.algorithms.linear_algebra import CholeskyOp, TriangularSolveOp
from ...hlo_dialect.ops.control_flow import OptimizationBarrierOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp, ReverseOp, TransposeOp
from ...hlo_dialect.ops.slicing import ConcatenateOp, PadOp, SliceOp
from ...hlo_dialect.ops.sort import SortOp
from ...hlo_dialect.ops.window import ReduceWindowOp, SelectAndScatterOp
from ...hlo_dialect.shapes import wide_groups
from ...hlo_dialect.sharding.tilings import Tiling
from ...hlo_dialect.types import shape_of
from .layouts import Layouts
from .linear import linear_operands
from .parts import Parts, even, is_split, kept_along, on_parts, partition_rules, same_shape


def partition_operation(op: Operation, layouts: Layouts) -> bool:
    """Insert an operation on parts before `op` if operands are split and a rule applies. Returns whether it did."""
    rule = partition_rules.get(type(op)) or (_elementwise if is_elementwise(op) else None)
    if rule is None:
        return False
    with layouts.summands_of(linear_operands(op, layouts)):
        parts = rule(op, layouts) if any(is_split(operand, layouts) for operand in op.operands) else None
    if parts is None:
        return False
    for result, (tiling, part) in zip(op.results, parts, strict=True):
        if part.name_hint is None and tiling.summands == 1:
            part.name_hint = result.name_hint
        layouts.split(result, tiling, part)
    return True


# Elementwise operations and movement ---------------------------------------------------------------------------


def _elementwise(op: Operation, layouts: Layouts) -> Parts:
    if not all(shape_of(value) in ((), shape_of(op.results[0])) for value in op.operands):
        return None
    return same_shape(op, layouts)


def _moved(op: Operation, layouts: Layouts, sources: Sequence[int | None]) -> Parts:
    """An operation of one operand: dimension i of the result is split as dimension `sources[i]` of the operand."""
    found = even(op.operands[0], layouts)
    if found is None:
        return None
    kept = kept_along(found, [dim in sources for dim in range(len(found.counts))])
    if kept is None:
        return None
    return on_parts(op, [layouts.part(op.operands[0], kept)], [kept.derived(sources)])


@partition_rules.on(BroadcastInDimOp)
def _broadcast(op: Operation, layouts: Layouts) -> Parts:
    assert isinstance(op, BroadcastInDimOp)
    before, after = shape_of(op.operands[0]), shape_of(op.results[0])
    sources: list[int | None] = [None] * len(after)
    for source, dim in enumerate(ints(op.broadcast_dimensions)):
        if before[source] == after[dim]:
            sources[dim] = source
    return _moved(op, layouts, sources)


@partition_rules.on(TransposeOp)
def _transpose(op: Operation, layouts: Layouts) -> Parts:
    assert isinstance(op, TransposeOp)
    return _moved(op, layouts, ints(op.permutation))


@partition_rules.on(ReshapeOp)
def _reshape(op: Operation, layouts: Layouts) -> Parts:
    """A dimension stays split if it is the outermost of a group that is merged or split up."""
    found = even(op.operands[0], layouts)
    before, after = shape_of(op.operands[0]), shape_of(op.results[0])
    groups = wide_groups(before, after)
    if found is None or groups is None:
        return None
    sources: list[int | None] = [None] * len(after)
    for outer, inner in groups:
        if after[inner[0]] % found.counts[outer[0]] == 0:
            sources[inner[0]] = outer[0]
    return _moved(op, layouts, sources)


@partition_rules.on(ReverseOp)
def _reverse(op: Operation, layouts: Layouts) -> Parts:
    assert isinstance(op, ReverseOp)
    reversed_ = ints(op.dimensions)
    return same_shape(op, layouts, [dim not in reversed_ for dim in range(len(shape_of(op.results[0])))])


@partition_rules.on(SortOp)
def _sort(op: Operation, layouts: Layouts) -> Parts:
    assert isinstance(op, SortOp)
    return same_shape(op, layouts, [dim != op.dim for dim in range(len(shape_of(op.results[0])))])


@partition_rules.on(ConcatenateOp)
def _concatenate(op: Operation, layouts: Layouts) -> Parts:
    assert isinstance(op, ConcatenateOp)
    joined = op.dimension.value.data
    return same_shape(op, layouts, [dim != joined for dim in range(len(shape_of(op.results[0])))])


@partition_rules.on(SliceOp)
def _slice(op: Operation, layouts: Layouts) -> Parts:
    assert isinstance(op, SliceOp)
    shape, tiling = shape_of(op.operands[0]), even(op.operands[0], layouts)
    starts, limits, strides = ints(op.start_indices), ints(op.limit_indices), ints(op.strides)
    whole = [box == (0, size, 1) for box, size in zip(zip(starts, limits, strides, strict=True), shape, strict=True)]
    kept = None if tiling is None else kept_along(tiling, whole)
    if kept is None:
        return None
    part = layouts.part(op.operands[0], kept)
    limits = [size if all_ else limit for size, limit, all_ in zip(shape_of(part), limits, whole, strict=True)]
    return on_parts(op, [part], [kept], {"limit_indices": int_array(limits)})


@partition_rules.on(PadOp)
def _pad(op: Operation, layouts: Layouts) -> Parts:
    assert isinstance(op, PadOp)
    padding = zip(ints(op.edge_padding_low), ints(op.edge_padding_high), ints(op.interior_padding), strict=True)
    return same_shape(op, layouts, [each == (0, 0, 0) for each in padding])


@partition_rules.on(CholeskyOp, TriangularSolveOp)
def _matrices(op: Operation, layouts: Layouts) -> Parts:
    """Split along the batch dimensions of matrices."""
    rank = len(shape_of(op.results[0]))
    return same_shape(op, layouts, [dim < rank - 2 for dim in range(rank)])


@partition_rules.on(FftOp)
def _fourier(op: Operation, layouts: Layouts) -> Parts:
    assert isinstance(op, FftOp)
    rank = len(shape_of(op.results[0]))
    return same_shape(op, layouts, [dim < rank - len(op.lengths) for dim in range(rank)])


@partition_rules.on(OptimizationBarrierOp)
def _barrier(op: Operation, layouts: Layouts) -> Parts:
    tilings = [
        even(value, layouts) or Tiling.replicated(len(shape_of(value)), layouts.partitions) for value in op.operands
    ]
    parts = [layouts.part(value, tiling) for value, tiling in zip(op.operands, tilings, strict=True)]
    return on_parts(op, parts, tilings)


# Windows -------------------------------------------------------------------------------------------------------


@partition_rules.on(ReduceWindowOp, SelectAndScatterOp)
def _windowed(op: Operation, layouts: Layouts) -> Parts:
    """Split along dimensions in which the window is a single element that does not overlap others."""
    assert isinstance(op, (ReduceWindowOp, SelectAndScatterOp))
    window = op.window
    fields = (window.dimensions, window.strides, window.base_dilations, window.dilations, window.low, window.high)
    return same_shape(op, layouts, [each == (1, 1, 1, 1, 0, 0) for each in zip(*fields, strict=True)])
