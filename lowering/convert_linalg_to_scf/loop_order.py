"""The order of the loops of a nest without reduction: which is innermost, and which are unrolled in that."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...dialects.cost import ELEMENTARY
from ..loop_nests.cost import body_cost, weight_of
from ..loop_nests.nest import Access, Nest
from ..loop_nests.variation import loads_of, reads_rows, varying

MOST_UNROLLED = 8
"""Iterations of a loop that is unrolled inside the innermost one: LLVM interleaves as many elements in vectors."""

LEAST_ROW, FULL_ROW = 2, 16
"""Elements of a row that is worth reading as one, and of one that fills a vector."""

MOST_OPERATIONS, MOST_WORK = 64, 256
"""The operations of all those iterations; of few iterations, which would be no vector, their weights."""

FEW_LANES = 4
"""Iterations of a short loop whose vectors, if any, have few lanes."""

LONG = 64
"""Iterations of a loop that is vectorized instead of such a short one."""

APART = 24
"""Operations that take longer for few lanes than reading or writing an operand whose elements are not contiguous."""

OFTEN = 16
"""Iterations that read an element from which on it matters less how."""


def contiguity(nest: Nest, loop: int) -> float:
    """
    A score of how well `loop` vectorizes as the innermost one: operands with stride 1 or 0 count, those less whose
    elements are each read by many iterations.
    """
    score = 0.0
    for weight, accesses in ((1, nest.inputs), (2, nest.outputs)):
        for access in accesses:
            if isinstance(access, Access):
                stride = access.strides[loop]
                again = nest.size_of([l for l, step in enumerate(access.strides) if step == 0])
                share = OFTEN / max(again, OFTEN)
                score += weight * share * (2 if abs(stride) == 1 else 1 if stride == 0 else 0)
    return score * min(nest.sizes[loop], 16) / 16


def best_innermost(nest: Nest, loops: Sequence[int]) -> int:
    """The loop of `loops` that vectorizes best; the last if several do. Rows that are gathered are read as vectors."""
    rows = next((l for l in reversed(loops) if gathers_rows(nest, l)), None)
    return max(loops, key=lambda l: (contiguity(nest, l), l)) if rows is None else rows


def gathers_rows(nest: Nest, loop: int) -> bool:
    """
    Whether the iterations of a loop are the elements of rows at places that others tell, and of nothing else.

    Elementary functions want full vectors: with short rows they cost more than the gathers.
    """
    if nest.sizes[loop] < LEAST_ROW or not reads_rows(nest, loop):
        return False
    operations = [] if nest.body is None else list(nest.body.ops)
    if nest.sizes[loop] < FULL_ROW and any(weight_of(op).loop >= ELEMENTARY.loop for op in operations):
        return False
    return all(x.strides[loop] == 1 for x in nest.outputs) and all(x.strides[loop] in (0, 1) for x in nest.accesses)


def canonical(nest: Nest) -> Nest:
    """
    The nest without unit loops, in the output's order and collapsed, with the loop that vectorizes best innermost.
    """
    nest = nest.without_unit_loops()
    strides = nest.outputs[0].strides
    order = [*range(nest.bound), *sorted(nest.free, key=lambda l: -abs(strides[l]))]
    nest = nest.permuted(order).collapsed()
    free = list(nest.free)
    if len(free) > 1:
        inner = best_innermost(nest, free)
        if nest.sizes[inner] <= MOST_UNROLLED:
            # A longer loop is vectorized that interleaves the elements of this one, or of this one and that around it.
            shorts = [(inner,), (free[free.index(inner) - 1], inner)] if inner != free[0] else [(inner,)]
            found = (l for short in shorts for l in reversed(free) if _interleaves(nest, short, l))
            inner = next(itertools.chain(found, _longer_loops(nest, free, inner)), inner)
        elif repeats_elements(nest, free[-1], free[-2]) and nest.outputs[0].strides[inner] > MOST_UNROLLED:
            inner = free[-2]  # Lines are written as a whole.
        nest = nest.permuted([*range(nest.bound), *(l for l in free if l != inner), inner])
    return nest


def repeats_elements(nest: Nest, short: int, inner: int) -> bool:
    """Whether a short loop writes each element that it reads, or computes, several times between two of `inner`."""
    size, operations = nest.sizes[short], [] if nest.body is None else list(nest.body.ops)
    if len(nest.outputs) != 1 or size * len(operations) > MOST_OPERATIONS or nest.sizes[inner] <= MOST_UNROLLED:
        return False
    if size > MOST_UNROLLED or (nest.outputs[0].strides[short], nest.outputs[0].strides[inner]) != (1, size):
        return False
    return all(isinstance(x, Access) and x.strides[short] == 0 for x in nest.inputs) and not loads_of(nest)


def _longer_loops(nest: Nest, loops: Sequence[int], short: int) -> list[int]:
    """
    Loops that fill vectors where a large body would be computed for few elements at a time, or one: what that saves is
    more than what operands cost that stride along the loop, by a few elements.
    """
    if nest.sizes[short] > FEW_LANES or nest.body is None or loads_of(nest):
        return []
    if any(op.regions for op in nest.body.ops):
        return []

    def gains(loop: int) -> bool:
        strides = [abs(access.strides[loop]) for access in nest.accesses]
        apart = sum(stride > 1 for stride in strides)
        return nest.sizes[loop] >= LONG and max(strides) <= MOST_UNROLLED and body_cost(nest) > APART * apart

    return [loop for loop in reversed(loops) if gains(loop)]


def _interleaves(nest: Nest, short: tuple[int, ...], inner: int) -> bool:
    """
    Whether the iterations of short loops are the elements between two of the innermost loop, in some operand, which may
    go backward; others are contiguous along the innermost loop, or do not move. The body is small enough to be
    repeated, and what it reads by itself does not move along the innermost loop: a gather of short rows reads each as a
    vector.
    """
    size, operations = nest.size_of(short), [] if nest.body is None else list(nest.body.ops)
    if inner in short or size > MOST_UNROLLED or nest.sizes[inner] <= MOST_UNROLLED:
        return False
    if size * len(operations) > MOST_OPERATIONS and (size > FEW_LANES or size * body_cost(nest) > MOST_WORK):
        return False
    if any(op.regions for op in operations):
        return False
    varies = varying(nest, inner) if loads_of(nest) else set[SSAValue]()
    if any(index in varies for load in loads_of(nest) for index in load.indices):
        return False
    apart = [access for access in nest.accesses if access.strides[inner] not in (0, 1)]
    return bool(apart) and all(_is_row(nest, access, short, inner) for access in apart)


def _is_row(nest: Nest, access: Access, short: tuple[int, ...], inner: int) -> bool:
    """Whether the short loops along which an operand moves run through all elements between two of `inner`."""
    moving, stride = [loop for loop in short if access.strides[loop]], 1
    for loop in reversed(moving):
        if access.strides[loop] != stride:
            return False
        stride *= nest.sizes[loop]
    return bool(moving) and abs(access.strides[inner]) == stride


def unrolled_loops(nest: Nest, free: Sequence[int]) -> tuple[int, ...]:
    """The short loops to unroll inside the innermost one, one or two."""
    shorts = [*((loop,) for loop in free[:-1]), *itertools.pairwise(free[:-1])]
    return next((short for short in shorts if _interleaves(nest, short, free[-1])), ())
