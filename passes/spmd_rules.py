"""
Which operations compute on parts of arrays, and how: the rules of partition-spmd.

A rule looks at how the operands are split, and puts an operation on parts before the one on wholes. It may ask for
parts of other operands; what it cannot keep split, it asks for as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from ..hlo_dialect.attributes import int_array, ints
from ..hlo_dialect.contraction import DotGeneralOp
from ..hlo_dialect.control_flow import OptimizationBarrierOp
from ..hlo_dialect.convolution import ConvolutionOp
from ..hlo_dialect.creation import is_splat_of
from ..hlo_dialect.dynamic import DynamicSliceOp, DynamicUpdateSliceOp
from ..hlo_dialect.elementwise_binary import AddOp, AndOp, MaximumOp, MinimumOp, MultiplyOp, OrOp
from ..hlo_dialect.gather import GatherOp
from ..hlo_dialect.movement import BroadcastInDimOp, ReshapeOp, ReverseOp, TransposeOp
from ..hlo_dialect.reduction import ReduceOp, single_combiner
from ..hlo_dialect.shapes import is_static
from ..hlo_dialect.slicing import ConcatenateOp, PadOp, SliceOp
from ..hlo_dialect.sort import SortOp
from ..hlo_dialect.tilings import Tiling
from ..hlo_dialect.types import element_of, make_tensor, shape_of
from ..hlo_dialect.window import ReduceWindowOp, SelectAndScatterOp
from .spmd_layouts import Layouts

Parts = Sequence[tuple[Tiling, SSAValue]] | None
"""How each result is split, and what it became; None where the rule does not apply."""
Rule = Callable[[Operation, Layouts], Parts]

_STATED = ("sdy.sharding", "mhlo.sharding")


def partition_operation(op: Operation, layouts: Layouts) -> bool:
    """Put an operation on parts before `op` where operands are split and a rule says how. Whether it did."""
    rule = PARTITIONED.get(type(op)) or (_elementwise if getattr(op, "elementwise", False) else None)
    if rule is None or not any(_is_split(operand, layouts) for operand in op.operands):
        return False
    parts = rule(op, layouts)
    if parts is None:
        return False
    for result, (tiling, part) in zip(op.results, parts, strict=True):
        if part.name_hint is None:
            part.name_hint = result.name_hint
        layouts.split(result, tiling, part)
    return True


def _is_split(value: SSAValue, layouts: Layouts) -> bool:
    return layouts.tiling(value) is not None


def _even(value: SSAValue, layouts: Layouts) -> Tiling | None:
    """How a value is split, where all its parts have the same size."""
    tiling = layouts.tiling(value)
    return tiling if tiling is not None and tiling.fits(shape_of(value)) else None


def _kept(tiling: Tiling, dims: Sequence[bool]) -> Tiling | None:
    """The tiling along the dimensions that are true only; None where nothing is left of it."""
    kept = tiling.derived([dim if keep else None for dim, keep in enumerate(dims)])
    return None if kept.is_replicated else kept


def _on_parts(
    op: Operation,
    layouts: Layouts,
    operands: Sequence[SSAValue],
    tilings: Sequence[Tiling],
    properties: Mapping[str, Attribute] | None = None,
) -> list[tuple[Tiling, SSAValue]]:
    """The operation on other operands, its results split by `tilings`."""
    new = type(op).create(
        operands=list(operands),
        result_types=[
            make_tensor(tiling.part_shape(shape_of(result)), element_of(result))
            for tiling, result in zip(tilings, op.results, strict=True)
        ],
        properties={**op.properties, **(properties or {})},
        attributes={name: value for name, value in op.attributes.items() if name not in _STATED},
        regions=[region.clone() for region in op.regions],
        location=op.location,
    )
    block = op.parent
    assert block is not None
    block.insert_op_before(new, op)
    return list(zip(tilings, new.results, strict=True))


def _same_shape(op: Operation, layouts: Layouts, dims: Sequence[bool] | None = None) -> Parts:
    """Operands of the first operand's rank are split alike, along `dims` where they are given; results too."""
    shape = shape_of(op.results[0])
    candidates = [_even(value, layouts) for value in op.operands if len(shape_of(value)) == len(shape)]
    found = max((tiling for tiling in candidates if tiling is not None), key=lambda each: each.parts, default=None)
    if found is None or not is_static(shape):
        return None
    tiling = found if dims is None else _kept(found, dims)
    if tiling is None:
        return None
    parts = [
        layouts.part(value, tiling) if len(shape_of(value)) == len(shape) else layouts.whole(value)
        for value in op.operands
    ]
    return _on_parts(op, layouts, parts, [tiling] * len(op.results))


# Elementwise operations and movement ---------------------------------------------------------------------------


def _elementwise(op: Operation, layouts: Layouts) -> Parts:
    if not all(shape_of(value) in ((), shape_of(op.results[0])) for value in op.operands):
        return None
    return _same_shape(op, layouts)


def _moved(op: Operation, layouts: Layouts, sources: Sequence[int | None]) -> Parts:
    """An operation of one operand: dimension i of the result is split as dimension `sources[i]` of the operand."""
    found = _even(op.operands[0], layouts)
    if found is None:
        return None
    kept = _kept(found, [dim in sources for dim in range(len(found.counts))])
    if kept is None:
        return None
    return _on_parts(op, layouts, [layouts.part(op.operands[0], kept)], [kept.derived(sources)])


def _broadcast(op: Operation, layouts: Layouts) -> Parts:
    assert isinstance(op, BroadcastInDimOp)
    before, after = shape_of(op.operands[0]), shape_of(op.results[0])
    sources: list[int | None] = [None] * len(after)
    for source, dim in enumerate(ints(op.broadcast_dimensions)):
        if before[source] == after[dim]:
            sources[dim] = source
    return _moved(op, layouts, sources)


def _transpose(op: Operation, layouts: Layouts) -> Parts:
    assert isinstance(op, TransposeOp)
    return _moved(op, layouts, ints(op.permutation))


def _reshape(op: Operation, layouts: Layouts) -> Parts:
    """A dimension stays split where it is the outermost of those that are merged, or of which it is made."""
    found = _even(op.operands[0], layouts)
    before, after = shape_of(op.operands[0]), shape_of(op.results[0])
    if found is None or 0 in before or not is_static(after):
        return None
    sources: list[int | None] = [None] * len(after)
    for outer, inner in _reshape_groups(before, after):
        if outer and inner and after[inner[0]] % found.counts[outer[0]] == 0:
            sources[inner[0]] = outer[0]
    return _moved(op, layouts, sources)


def _reshape_groups(before: Sequence[int], after: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The smallest groups of dimensions, those of size 1 left out, that have as many elements before as after."""
    groups: list[tuple[list[int], list[int]]] = []
    first = [dim for dim, size in enumerate(before) if size != 1]
    second = [dim for dim, size in enumerate(after) if size != 1]
    while first and second:
        outer, inner = [first.pop(0)], [second.pop(0)]
        left, right = before[outer[0]], after[inner[0]]
        while left != right:
            if left < right:
                outer.append(first.pop(0))
                left *= before[outer[-1]]
            else:
                inner.append(second.pop(0))
                right *= after[inner[-1]]
        groups.append((outer, inner))
    return groups


def _reverse(op: Operation, layouts: Layouts) -> Parts:
    assert isinstance(op, ReverseOp)
    reversed_ = ints(op.dimensions)
    return _same_shape(op, layouts, [dim not in reversed_ for dim in range(len(shape_of(op.results[0])))])


def _sort(op: Operation, layouts: Layouts) -> Parts:
    assert isinstance(op, SortOp)
    return _same_shape(op, layouts, [dim != op.dim for dim in range(len(shape_of(op.results[0])))])


def _concatenate(op: Operation, layouts: Layouts) -> Parts:
    assert isinstance(op, ConcatenateOp)
    joined = op.dimension.value.data
    return _same_shape(op, layouts, [dim != joined for dim in range(len(shape_of(op.results[0])))])


def _slice(op: Operation, layouts: Layouts) -> Parts:
    assert isinstance(op, SliceOp)
    shape, tiling = shape_of(op.operands[0]), _even(op.operands[0], layouts)
    starts, limits, strides = ints(op.start_indices), ints(op.limit_indices), ints(op.strides)
    whole = [box == (0, size, 1) for box, size in zip(zip(starts, limits, strides, strict=True), shape, strict=True)]
    kept = None if tiling is None else _kept(tiling, whole)
    if kept is None:
        return None
    part = layouts.part(op.operands[0], kept)
    limits = [size if all_ else limit for size, limit, all_ in zip(shape_of(part), limits, whole, strict=True)]
    return _on_parts(op, layouts, [part], [kept], {"limit_indices": int_array(limits)})


def _pad(op: Operation, layouts: Layouts) -> Parts:
    assert isinstance(op, PadOp)
    padding = zip(ints(op.edge_padding_low), ints(op.edge_padding_high), ints(op.interior_padding), strict=True)
    return _same_shape(op, layouts, [each == (0, 0, 0) for each in padding])


def _dynamic_slice(op: Operation, layouts: Layouts) -> Parts:
    """Along dimensions that are taken whole; their start is 0, whatever the index says."""
    assert isinstance(op, DynamicSliceOp)
    shape, sizes, tiling = shape_of(op.operands[0]), ints(op.slice_sizes), _even(op.operands[0], layouts)
    kept = None if tiling is None else _kept(tiling, [a == b for a, b in zip(shape, sizes, strict=True)])
    if kept is None:
        return None
    operands = [layouts.part(op.operands[0], kept), *map(layouts.whole, op.operands[1:])]
    return _on_parts(op, layouts, operands, [kept], {"slice_sizes": int_array(kept.part_shape(sizes))})


def _dynamic_update_slice(op: Operation, layouts: Layouts) -> Parts:
    whole, update = op.operands[:2]
    found = _even(whole, layouts) or _even(update, layouts)
    same = [a == b for a, b in zip(shape_of(whole), shape_of(update), strict=True)]
    kept = None if found is None else _kept(found, same)
    if kept is None:
        return None
    operands = [layouts.part(whole, kept), layouts.part(update, kept), *map(layouts.whole, op.operands[2:])]
    return _on_parts(op, layouts, operands, [kept])


def _gather(op: Operation, layouts: Layouts) -> Parts:
    """Along the dimensions of the indices: each device looks up its own."""
    assert isinstance(op, GatherOp)
    numbers, indices = op.dimension_numbers, op.operands[1]
    found = _even(indices, layouts)
    if found is None or ints(numbers.start_indices_batching_dims):
        return None
    vector = numbers.index_vector_dim.value.data
    kept = _kept(found, [dim != vector for dim in range(len(found.counts))])
    if kept is None:
        return None
    offsets = ints(numbers.offset_dims)
    batch = iter(dim for dim in range(len(found.counts)) if dim != vector)
    sources = [None if dim in offsets else next(batch) for dim in range(len(shape_of(op.results[0])))]
    operands = [layouts.whole(op.operands[0]), layouts.part(indices, kept)]
    return _on_parts(op, layouts, operands, [kept.derived(sources)])


def _barrier(op: Operation, layouts: Layouts) -> Parts:
    tilings = [
        _even(value, layouts) or Tiling.replicated(len(shape_of(value)), layouts.partitions) for value in op.operands
    ]
    parts = [layouts.part(value, tiling) for value, tiling in zip(op.operands, tilings, strict=True)]
    return _on_parts(op, layouts, parts, tilings)


# Windows -------------------------------------------------------------------------------------------------------


def _windowed(op: Operation, layouts: Layouts) -> Parts:
    """Along dimensions in which the window is one element that does not move past others."""
    assert isinstance(op, (ReduceWindowOp, SelectAndScatterOp))
    window = op.window
    fields = (window.dimensions, window.strides, window.base_dilations, window.dilations, window.low, window.high)
    return _same_shape(op, layouts, [each == (1, 1, 1, 1, 0, 0) for each in zip(*fields, strict=True)])


# Reductions and contractions -----------------------------------------------------------------------------------

_IDEMPOTENT = (AndOp, MaximumOp, MinimumOp, OrOp)
"""Folding the initial value in once for each device changes nothing."""


def _reduction(op: Operation, layouts: Layouts) -> Parts:
    """Along kept dimensions as they come; along folded ones each device folds its part, and then the devices theirs."""
    assert isinstance(op, ReduceOp)
    count = op.input_count
    found = next((tiling for value in op.operands[:count] if (tiling := _even(value, layouts)) is not None), None)
    if found is None:
        return None
    folded = [dim for dim in op.dims if found.counts[dim] > 1]
    combiner = single_combiner(op.regions[0]) if folded else None
    if folded and not _combines(combiner, op):
        kept = _kept(found, [dim not in folded for dim in range(len(found.counts))])
        if kept is None:
            return None
        found, folded = kept, []
    inputs = [layouts.part(value, found) for value in op.operands[:count]]
    sources = [dim for dim in range(len(found.counts)) if dim not in op.dims]
    tiling = found.derived(sources)
    parts = _on_parts(op, layouts, [*inputs, *map(layouts.whole, op.operands[count:])], [tiling] * count)
    if not folded or combiner is None:
        return parts
    return [(tiling, layouts.reduced(parts[0][1], found.groups_along(folded), type(combiner), op.location))]


def _combines(combiner: Operation | None, op: ReduceOp) -> bool:
    """Whether folding what was folded on each device, each with the initial value, is folding all."""
    if op.input_count != 1:
        return False
    neutral = 0 if isinstance(combiner, AddOp) else 1
    if isinstance(combiner, (AddOp, MultiplyOp)):
        return any(is_splat_of(op.operands[1], number) for number in (neutral, float(neutral), -0.0))
    return isinstance(combiner, _IDEMPOTENT)


Labels = Sequence[str | None]
"""Of each dimension of an operand or result: equal ones go together; None cannot be split."""


def _dot(op: Operation, layouts: Layouts) -> Parts:
    assert isinstance(op, DotGeneralOp)
    numbers = op.dot_dimension_numbers
    lhs: list[str | None] = [f"l{dim}" for dim in range(len(shape_of(op.operands[0])))]
    rhs: list[str | None] = [f"r{dim}" for dim in range(len(shape_of(op.operands[1])))]
    for left, right in zip(numbers.lhs_batching, numbers.rhs_batching, strict=True):
        rhs[right] = lhs[left]
    for left, right in zip(numbers.lhs_contracting, numbers.rhs_contracting, strict=True):
        rhs[right] = lhs[left]
    result = [
        *(lhs[dim] for dim in (*numbers.lhs_batching, *op.lhs_free)),
        *(rhs[dim] for dim in op.rhs_free),
    ]
    return _contraction(op, layouts, lhs, rhs, result)


def _convolution(op: Operation, layouts: Layouts) -> Parts:
    """Along the batch and the features; what lies in space is needed as a whole."""
    assert isinstance(op, ConvolutionOp)
    numbers = op.dimension_numbers
    if op.feature_group_count.value.data != 1 or op.batch_group_count.value.data != 1:
        return None
    lhs: list[str | None] = [None] * len(shape_of(op.operands[0]))
    rhs, result = list(lhs), list(lhs)
    lhs[numbers.lhs.batch] = result[numbers.output.batch] = "batch"
    lhs[numbers.lhs.feature] = rhs[numbers.kernel.batch] = "input feature"
    rhs[numbers.kernel.feature] = result[numbers.output.feature] = "output feature"
    return _contraction(op, layouts, lhs, rhs, result)


def _contraction(op: Operation, layouts: Layouts, lhs: Labels, rhs: Labels, result: Labels) -> Parts:
    """Products summed over the labels that the result has not."""
    joint = _joint(op, layouts, (lhs, rhs))
    if joint is None:
        return None
    labels, tiling = joint
    operands = [
        layouts.part(value, tiling.derived([labels.index(label) if label in labels else None for label in each]))
        for value, each in zip(op.operands, (lhs, rhs), strict=True)
    ]
    split = tiling.derived([labels.index(label) if label in labels else None for label in result])
    parts = _on_parts(op, layouts, operands, [split])
    summed = [index for index, label in enumerate(labels) if label not in result]
    if not summed:
        return parts
    return [(split, layouts.reduced(parts[0][1], tiling.groups_along(summed), AddOp, op.location))]


def _joint(op: Operation, layouts: Layouts, labelled: tuple[Labels, Labels]) -> tuple[list[str], Tiling] | None:
    """
    Along which labels the operation is split, and how: as both operands are where that goes together, else as the one
    with more elements is.
    """
    found: list[dict[str, tuple[int, list[int]]]] = []
    for value, labels in zip(op.operands, labelled, strict=True):
        tiling = _even(value, layouts)
        found.append({})
        for dim, label in enumerate(labels):
            if tiling is not None and label is not None and tiling.counts[dim] > 1:
                found[-1][label] = (tiling.counts[dim], tiling.coordinates(dim))
    first, second = found
    if all(first[label] == second[label] for label in first.keys() & second.keys()):
        both = _table({**first, **second}, layouts.partitions)
        if both is not None and _divides(op, labelled, both):
            return both
    sizes = [int(np.prod(shape_of(value), dtype=np.int64)) for value in op.operands]
    for each in sorted((0, 1), key=lambda index: -sizes[index]):
        alone = _table(found[each], layouts.partitions)
        if alone is not None and _divides(op, labelled, alone):
            return alone
    return None


def _divides(op: Operation, labelled: tuple[Labels, Labels], joint: tuple[list[str], Tiling]) -> bool:
    """Whether the dimensions of both operands divide into as many parts as their labels are split into."""
    counts = dict(zip(joint[0], joint[1].counts, strict=True))
    return all(
        size % counts.get(label or "", 1) == 0
        for value, labels in zip(op.operands, labelled, strict=True)
        for size, label in zip(shape_of(value), labels, strict=True)
    )


def _table(split: Mapping[str, tuple[int, list[int]]], partitions: int) -> tuple[list[str], Tiling] | None:
    """The devices by their places along each label; None where some places have more devices than others."""
    labels = sorted(split)
    counts = tuple(split[label][0] for label in labels)
    places = [tuple(split[label][1][device] for label in labels) for device in range(partitions)]
    total = int(np.prod(counts, dtype=np.int64)) if labels else 1
    number = {place: places.count(place) for place in places}
    if total == 1 or len(number) != total or len(set(number.values())) != 1:
        return None
    return labels, Tiling(counts, tuple(sorted(range(partitions), key=lambda device: (places[device], device))))


PARTITIONED: dict[type[Operation], Rule] = {
    BroadcastInDimOp: _broadcast,
    ConcatenateOp: _concatenate,
    ConvolutionOp: _convolution,
    DotGeneralOp: _dot,
    DynamicSliceOp: _dynamic_slice,
    DynamicUpdateSliceOp: _dynamic_update_slice,
    GatherOp: _gather,
    OptimizationBarrierOp: _barrier,
    PadOp: _pad,
    ReduceOp: _reduction,
    ReduceWindowOp: _windowed,
    ReshapeOp: _reshape,
    ReverseOp: _reverse,
    SelectAndScatterOp: _windowed,
    SliceOp: _slice,
    SortOp: _sort,
    TransposeOp: _transpose,
}
"""Besides elementwise operations."""
