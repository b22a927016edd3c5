"""Values that are not above zero, because a maximum that counts them was subtracted: the exponents of a softmax."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...hlo_dialect.ops.elementwise_binary import MaximumOp, SubtractOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp
from ...hlo_dialect.ops.reduction import ReduceOp, single_combiner
from ...hlo_dialect.types import shape_of


def is_below_maximum(value: SSAValue) -> bool:
    """Whether a value is `x - m` where each element of m is at least that of x, or NaN."""
    difference = value.owner
    if type(difference) is not SubtractOp:
        return False
    x, m = difference.operands
    return _bounds(m, x, list(range(len(shape_of(x)))))


def _bounds(m: SSAValue, x: SSAValue, dims: list[int | None]) -> bool:
    """
    Whether each element of m is at least those of x at its place, or NaN.

    `dims`: the dimension of x along which each dimension of m lies, None for one of size 1 that lies along none.
    """
    op = m.owner
    if type(op) is BroadcastInDimOp:
        sizes = shape_of(op.operand)
        below = [None if size == 1 else dims[dim] for size, dim in zip(sizes, op.dims, strict=True)]
        return _bounds(op.operand, x, below)
    if type(op) is ReshapeOp:
        sizes = shape_of(op.operand)
        long = [dim for dim, size in zip(dims, shape_of(m), strict=True) if size != 1]
        if [size for size in sizes if size != 1] != [size for size in shape_of(m) if size != 1]:
            return False
        following = iter(long)
        return _bounds(op.operand, x, [None if size == 1 else next(following) for size in sizes])
    if type(op) is MaximumOp:
        return any(_bounds(operand, x, dims) for operand in op.operands)
    if type(op) is not ReduceOp or op.input_count != 1 or op.operands[0] is not x:
        return False
    kept = [dim for dim in range(len(shape_of(x))) if dim not in op.dims]
    along = all(size == 1 or dim == own for size, dim, own in zip(shape_of(m), dims, kept, strict=True))
    return along and type(single_combiner(op.body)) is MaximumOp
