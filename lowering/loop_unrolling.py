"""
Which loops are written out: those of few, known iterations, and small bodies.

LLVM is told of these loops and unrolls no others. Left to itself it unrolls every loop many times over for today's
processors, which takes half of the compile time and gains nothing where loops are vectorized and interleaved.
"""

from __future__ import annotations

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Block, SSAValue

UNROLL = "xhlo.unroll"
"""On a loop: how often its body is repeated in one iteration; `WHOLLY`: as often as it runs."""

WHOLLY = 0

MOST_ITERATIONS = 32
MOST_OPERATIONS = 128
"""Operations of a loop that is unrolled, over all iterations."""

_ROLLED = MOST_OPERATIONS + 1
_FREE = (arith.ConstantOp, scf.YieldOp, memref.ReinterpretCastOp, arith.IndexCastOp)


def mark_small_loops(block: Block) -> int:
    """Mark the loops inside of a block that are to be unrolled; its size once they are, at most `_ROLLED`."""
    size = 0
    for op in block.ops:
        if isinstance(op, scf.ForOp):
            inner = mark_small_loops(op.body.block)
            count = _iterations(op)
            if count is None or count > MOST_ITERATIONS or count * inner > MOST_OPERATIONS:
                size = _ROLLED
            else:
                op.attributes.setdefault(UNROLL, IntegerAttr(WHOLLY, IntegerType(64)))
                size += count * inner
            continue
        for region in op.regions:
            for inside in region.blocks:
                size += mark_small_loops(inside)
        size += not isinstance(op, _FREE)
    return min(size, _ROLLED)


def _iterations(op: scf.ForOp) -> int | None:
    """How often a loop of constant bounds runs."""
    lower, upper, step = map(_constant, (op.lb, op.ub, op.step))
    if lower is None or upper is None or not step:
        return None
    return max(0, -(-(upper - lower) // step))


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None
