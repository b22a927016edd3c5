"""
Rules of partition-spmd for reductions and contractions: each device folds its part, then a collective folds the
results. Sums stay summands until something needs the sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.ir import Operation

from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.convolution import ConvolutionOp
from ...hlo_dialect.ops.creation import is_splat_of
from ...hlo_dialect.ops.elementwise_binary import AddOp, AndOp, MaximumOp, MinimumOp, MultiplyOp, OrOp
from ...hlo_dialect.ops.reduction import ReduceOp, single_combiner
from ...hlo_dialect.sharding.tilings import Tiling
from ...hlo_dialect.types import shape_of
from .layouts import Layouts
from .parts import Parts, even, kept_along, on_parts, partition_rules

_IDEMPOTENT = (AndOp, MaximumOp, MinimumOp, OrOp)
"""Combiners for which folding in the initial value once per device changes nothing."""


@partition_rules.on(ReduceOp)
def _reduction(op: Operation, layouts: Layouts) -> Parts:
    """
    Kept dimensions stay split; along reduced ones each device folds its part, then a collective folds the results.
    """
    assert isinstance(op, ReduceOp)
    count = op.input_count
    found = next((tiling for value in op.operands[:count] if (tiling := even(value, layouts)) is not None), None)
    if found is None:
        return None
    folded = [dim for dim in op.dims if found.counts[dim] > 1]
    combiner = single_combiner(op.regions[0]) if folded else None
    if folded and not _combines(combiner, op):
        kept = kept_along(found, [dim not in folded for dim in range(len(found.counts))])
        if kept is None:
            return None
        found, folded = kept, []
    inputs = [layouts.part(value, found) for value in op.operands[:count]]
    sources = [dim for dim in range(len(found.counts)) if dim not in op.dims]
    sums = isinstance(combiner, AddOp)
    tiling = found.derived(sources, folded if sums else ())
    parts = on_parts(op, [*inputs, *map(layouts.whole, op.operands[count:])], [tiling] * count)
    if not folded or combiner is None or sums:
        return parts
    return [(tiling, layouts.reduced(parts[0][1], found.groups_along(folded), type(combiner)))]


def _combines(combiner: Operation | None, op: ReduceOp) -> bool:
    """Whether combining the devices' results, each of which includes the initial value, equals the full reduction."""
    if op.input_count != 1:
        return False
    neutral = 0 if isinstance(combiner, AddOp) else 1
    if isinstance(combiner, (AddOp, MultiplyOp)):
        return any(is_splat_of(op.operands[1], number) for number in (neutral, float(neutral), -0.0))
    return isinstance(combiner, _IDEMPOTENT)


Labels = Sequence[str | None]
"""The label per dimension of an operand or result: equal labels are split alike; None cannot be split."""


@partition_rules.on(DotGeneralOp)
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


@partition_rules.on(ConvolutionOp)
def _convolution(op: Operation, layouts: Layouts) -> Parts:
    """Split along the batch and the features; spatial dimensions are needed as a whole."""
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
    """A contraction sums products over the labels that the result lacks."""
    joint = _joint(op, layouts, (lhs, rhs))
    if joint is None:
        return None
    labels, tiling = joint
    operands = [
        layouts.part(value, tiling.derived([labels.index(label) if label in labels else None for label in each]))
        for value, each in zip(op.operands, (lhs, rhs), strict=True)
    ]
    summed = [index for index, label in enumerate(labels) if label not in result]
    split = tiling.derived([labels.index(label) if label in labels else None for label in result], summed)
    return on_parts(op, operands, [split])


def _joint(op: Operation, layouts: Layouts, labelled: tuple[Labels, Labels]) -> tuple[list[str], Tiling] | None:
    """
    The labels along which the operation is split, and how: as both operands if they are compatible, else as the one
    with more elements.
    """
    found: list[dict[str, tuple[int, list[int]]]] = []
    for value, labels in zip(op.operands, labelled, strict=True):
        tiling = even(value, layouts)
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
    """Whether the dimensions of both operands are divisible by the number of parts of their labels."""
    counts = dict(zip(joint[0], joint[1].counts, strict=True))
    return all(
        size % counts.get(label or "", 1) == 0
        for value, labels in zip(op.operands, labelled, strict=True)
        for size, label in zip(shape_of(value), labels, strict=True)
    )


def _table(split: Mapping[str, tuple[int, list[int]]], partitions: int) -> tuple[list[str], Tiling] | None:
    """The devices by their coordinates along each label; None if some coordinates have more devices than others."""
    labels = sorted(split)
    counts = tuple(split[label][0] for label in labels)
    places = [tuple(split[label][1][device] for label in labels) for device in range(partitions)]
    total = int(np.prod(counts, dtype=np.int64)) if labels else 1
    number = {place: places.count(place) for place in places}
    if total == 1 or len(number) != total or len(set(number.values())) != 1:
        return None
    return labels, Tiling(counts, tuple(sorted(range(partitions), key=lambda device: (places[device], device))))
