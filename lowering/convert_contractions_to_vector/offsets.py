"""
The function of a panel of bytes of B that finds what its sums start from.

Dot products of bytes multiply unsigned by signed numbers, so that 128 is added to the elements of A. That adds 128
times the sum of a column of B to each sum of the column; the sums start from the negative of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i8, i32
from xdsl.ir import SSAValue

from ...dialects.support.scalar import scalar_attr
from ..loop_nests.kernel_builder import Index
from ..loop_nests.loop_builder import LoopBuilder
from .blocking import Blocking
from .shared_function import writes
from .vectors import VectorBuilder


@writes(3)
def emit_offsets(builder: LoopBuilder, parameters: Sequence[SSAValue], blocking: Blocking) -> None:
    """
    The body of a function of a panel of B, its first element, the steps along k, a buffer and a place in it: it stores
    a number for each column there. `blocking`: of the block, whatever the matrix.
    """
    panel, at, steps, target, target_at = parameters
    begin, count = builder.index(at), builder.index(steps)
    found = builder.strided_view(target, builder.index(target_at), (blocking.nr,), (1,))
    vectors, lanes = VectorBuilder(builder), blocking.lanes * blocking.group
    width = blocking.nr * blocking.group
    middle = vectors.splat(builder.scalar(scalar_attr(-128, i8)), lanes)
    zero = vectors.splat(builder.scalar(scalar_attr(0, i32)), blocking.lanes)

    def added(sums: Sequence[SSAValue], step: Index) -> list[SSAValue]:
        row = builder.strided_view(panel, begin + step * width, (width,), (1,))
        loaded = [vectors.load(row, [v * lanes], lanes) for v in range(blocking.vectors)]
        return [vectors.dot(middle, b, total, unsigned=True) for b, total in zip(loaded, sums, strict=True)]

    sums = vectors.sum_of_steps(added, count, [zero] * blocking.vectors)
    for v, total in enumerate(sums):
        vectors.store(vectors.subtract(zero, total), found, [v * blocking.lanes])
