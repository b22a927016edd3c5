"""
Maxima and minima of short rows: one row after the other, in vectors, the last of which overlaps the one before.

    maximum over j < 20 of x[i, j]      # vectors from 0, 8 and 12 of 8 lanes

An element may count twice. LLVM would gather columns of eight rows, element by element, or look at NaN and the signs of
zeros with each maximum, and by branches with the last ones, of single numbers. Here a row has one look at both, by one
bit of each lane: a zero that is the maximum is negative if all elements are.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type
from xdsl.ir import Operation, SSAValue

from ...dialects.support.scalar import width_of
from ..device.cpu import CPU, NATIVE_EXTREMES
from ..loop_nests.combiners import Combiner
from ..loop_nests.emission import NestEmitter
from ..loop_nests.loop_builder import LoopBuilder
from ..loop_nests.nest import Access, Nest

MOST_VECTORS = 8
"""Vectors of the longest rows, which are shorter: others are loops."""

LEAST_FLOATS, LEAST_INTEGERS = 11, 13
"""Elements from which this is faster than vectors across rows, or than a vector and single integers."""

LOOPED, WHOLE, LEAST_LEFT = 32, 16, 4
"""
Elements from which LLVM makes a loop that leaves the rules to its end (expand-math), the multiple of which that takes
together, and the elements left from which it is slower.
"""

WIDTH = 32
"""Bits of an element."""

EXTREMES: tuple[type[Operation], ...] = (
    arith.MaximumfOp,
    arith.MinimumfOp,
    arith.MaxSIOp,
    arith.MinSIOp,
    arith.MaxUIOp,
    arith.MinUIOp,
)


def lanes_of_row(nest: Nest, loop: int, combiners: Sequence[Combiner] | None, vector_bits: int) -> int | None:
    """The lanes of the vectors in which a loop finds the extreme of a row that lies in memory; None if it does not."""
    if not NATIVE_EXTREMES < vector_bits < CPU.vector_bits or combiners is None or len(combiners) != 1:
        return None
    (combiner,) = combiners
    if type(combiner.op) not in EXTREMES or width_of(combiner.type) != WIDTH or not _reads_row(nest, loop, combiner):
        return None
    size, most = nest.sizes[loop], vector_bits // WIDTH
    if size >= MOST_VECTORS * most:
        return None
    if isinstance(combiner.type, Float32Type):
        return most if size >= LEAST_FLOATS and (size < LOOPED or size % WHOLE >= LEAST_LEFT) else None
    return most if size >= LEAST_INTEGERS else most // 2 if most // 2 < size < most else None


def _reads_row(nest: Nest, loop: int, combiner: Combiner) -> bool:
    """Whether the elements that a body combines are neighbours in memory, which it does nothing else with."""
    body, read = nest.body, nest.inputs[0] if len(nest.inputs) == 1 else None
    if body is None or not isinstance(read, Access) or read.strides[loop] != 1:
        return False
    return set(combiner.op.operands) == set(body.args) and [*body.ops] == [combiner.op, body.last_op]


def extreme_of_row(
    builder: LoopBuilder,
    emitter: NestEmitter,
    loop: int,
    combiners: Sequence[Combiner] | None,
    start: Sequence[SSAValue],
) -> SSAValue | None:
    """The extreme of a number and the row that is bound, whose loop is the last; None if it is better a loop."""
    lanes = lanes_of_row(emitter.nest, loop, combiners, builder.vector_bits)
    if not lanes or not combiners:
        return None
    from .extreme_vectors import RowExtreme  # the dialect vector, which few programs need

    return RowExtreme(builder, emitter, combiners[0], loop, lanes).emit(start[0])
