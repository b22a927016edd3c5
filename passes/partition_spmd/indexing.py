"""Rules of partition-spmd for dynamic slices, gather and scatter."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.attributes import int_array, ints
from ...hlo_dialect.ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp
from ...hlo_dialect.ops.elementwise_binary import AddOp
from ...hlo_dialect.ops.gather import GatherOp
from ...hlo_dialect.ops.reduction import single_combiner
from ...hlo_dialect.ops.scatter import ScatterOp
from ...hlo_dialect.sharding.tilings import Tiling
from ...hlo_dialect.types import shape_of
from .layouts import Layouts
from .parts import Parts, even, kept_along, on_parts, partition_rules


@partition_rules.on(DynamicSliceOp)
def _dynamic_slice(op: Operation, layouts: Layouts) -> Parts:
    """Split along dimensions that the slice covers entirely; their start is clamped to 0."""
    assert isinstance(op, DynamicSliceOp)
    shape, sizes, tiling = shape_of(op.operands[0]), ints(op.slice_sizes), even(op.operands[0], layouts)
    kept = None if tiling is None else kept_along(tiling, [a == b for a, b in zip(shape, sizes, strict=True)])
    if kept is None:
        return None
    operands = [layouts.part(op.operands[0], kept), *map(layouts.whole, op.operands[1:])]
    return on_parts(op, operands, [kept], {"slice_sizes": int_array(kept.part_shape(sizes))})


@partition_rules.on(DynamicUpdateSliceOp)
def _dynamic_update_slice(op: Operation, layouts: Layouts) -> Parts:
    whole, update = op.operands[:2]
    found = even(whole, layouts) or even(update, layouts)
    same = [a == b for a, b in zip(shape_of(whole), shape_of(update), strict=True)]
    kept = None if found is None else kept_along(found, same)
    if kept is None:
        return None
    operands = [layouts.part(whole, kept), layouts.part(update, kept), *map(layouts.whole, op.operands[2:])]
    return on_parts(op, operands, [kept])


@partition_rules.on(GatherOp)
def _gather(op: Operation, layouts: Layouts) -> Parts:
    """
    Split along the dimensions of the indices, where each device looks up its own; else along those sliced entirely.
    """
    assert isinstance(op, GatherOp)
    operand, indices = op.operands
    numbers = op.dimension_numbers
    offsets, batching = ints(numbers.offset_dims), ints(numbers.operand_batching_dims)
    vector = numbers.index_vector_dim.value.data
    of_indices = [dim for dim in range(len(shape_of(indices))) if dim != vector]
    of_result = [dim for dim in range(len(shape_of(op.results[0]))) if dim not in offsets]
    pairs = dict(zip(batching, ints(numbers.start_indices_batching_dims), strict=True))
    found = _of_indices(indices, layouts, vector) or _from_batching(operand, indices, layouts, pairs)
    if found is not None:
        place = dict(zip(of_result, of_indices, strict=True))
        split = found.derived([place.get(dim) for dim in range(len(shape_of(op.results[0])))])
        whole = found.derived([pairs.get(dim) for dim in range(len(shape_of(operand)))])
        return on_parts(op, [layouts.part(operand, whole), layouts.part(indices, found)], [split])
    sizes = ints(op.slice_sizes)
    dropped = {*ints(numbers.collapsed_slice_dims), *batching}
    windows = dict(zip([dim for dim in range(len(sizes)) if dim not in dropped], offsets, strict=True))
    taken = [dim in windows and size == sizes[dim] for dim, size in enumerate(shape_of(operand))]
    found = even(operand, layouts)
    kept = None if found is None else kept_along(found, taken)
    if kept is None:
        return None
    place = {result: source for source, result in windows.items()}
    split = kept.derived([place.get(dim) for dim in range(len(shape_of(op.results[0])))])
    operands = [layouts.part(operand, kept), layouts.whole(indices)]
    return on_parts(op, operands, [split], {"slice_sizes": int_array(kept.part_shape(sizes))})


def _of_indices(indices: SSAValue, layouts: Layouts, vector: int) -> Tiling | None:
    """The tiling of the indices along their batch dimensions."""
    found = even(indices, layouts)
    return None if found is None else kept_along(found, [dim != vector for dim in range(len(found.counts))])


def _from_batching(operand: SSAValue, indices: SSAValue, layouts: Layouts, pairs: Mapping[int, int]) -> Tiling | None:
    """The tiling that the indices need when the operand is split along a dimension that batches with one of theirs."""
    found = even(operand, layouts)
    kept = None if found is None else kept_along(found, [dim in pairs for dim in range(len(found.counts))])
    if kept is None:
        return None
    place = {of_indices: of_operand for of_operand, of_indices in pairs.items()}
    return kept.derived([place.get(dim) for dim in range(len(shape_of(indices)))])


@partition_rules.on(ScatterOp)
def _scatter(op: Operation, layouts: Layouts) -> Parts:
    """
    Batching dimensions stay split. Along other dimensions of the indices, for scatters that add, each device adds its
    own updates, then a collective adds the results.
    """
    assert isinstance(op, ScatterOp)
    if op.input_count != 1:
        return None
    operand, indices, updates = op.operands
    numbers = op.scatter_dimension_numbers
    windows, vector = ints(numbers.update_window_dims), numbers.index_vector_dim.value.data
    batching, of_batching = ints(numbers.input_batching_dims), ints(numbers.scatter_indices_batching_dims)
    pairs = dict(zip(batching, of_batching, strict=True))
    of_indices = [dim for dim in range(len(shape_of(indices))) if dim != vector]
    of_updates = [dim for dim in range(len(shape_of(updates))) if dim not in windows]
    place = dict(zip(of_updates, of_indices, strict=True))
    found = _of_indices(indices, layouts, vector)
    if found is None:
        of_update = even(updates, layouts)
        found = None if of_update is None else of_update.derived(_sources(place, len(shape_of(indices))))
    if found is None or found.is_replicated:
        found = _from_batching(operand, indices, layouts, pairs)
    if found is None or not found.fits(shape_of(indices)):
        return None
    summed = [dim for dim in of_indices if dim not in of_batching and found.counts[dim] > 1]
    for_updates = found.derived([place.get(dim) for dim in range(len(shape_of(updates)))])
    if summed and not isinstance(single_combiner(op.regions[0]), AddOp):
        return None
    split = found.derived([pairs.get(dim) for dim in range(len(shape_of(operand)))], summed)
    operands = [layouts.part(operand, split), layouts.part(indices, found), layouts.part(updates, for_updates)]
    return on_parts(op, operands, [split])


def _sources(place: Mapping[int, int], rank: int) -> list[int | None]:
    """The inverse of a dimension map, in the form that `Tiling.derived` takes."""
    inverse = {target: source for source, target in place.items()}
    return [inverse.get(dim) for dim in range(rank)]
