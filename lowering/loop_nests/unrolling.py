"""
Marks loops to unroll: fully if they have few, known iterations and a small body, partially if they are long and
innermost.

LLVM unrolls only the marked loops. By default it unrolls every loop many times for today's processors, which takes half
of the compile time and gains nothing for loops that are vectorized and interleaved.
"""

from __future__ import annotations

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Block, SSAValue

UNROLL = "xhlo.unroll"
"""The attribute of a loop: its unroll factor; `WHOLLY` for full unrolling."""

WHOLLY = 0

MOST_ITERATIONS = 32
MOST_OPERATIONS = 128
"""Operations of a fully unrolled loop, over all iterations."""

MOST_OPERATIONS_ON_GPU = 512
"""The same for a GPU thread: its loops are short, over elements that it holds, and nothing vectorizes them."""

INLINED = 24
"""Operations of an inlined elementary function on a GPU, where unrolling repeats it instead of vectorizing it."""

LANES = 16
"""
Iterations of about one vector. An innermost loop of whole vectors, or of many iterations, is left to the vectorizer and
partially unrolled after that.
"""

TIMES = 4
"""Maximum factor of partial unrolling."""

LONG_BODY = 24
"""Operations up to which a loop is partially unrolled."""

_ROLLED = MOST_OPERATIONS_ON_GPU + 1
_FREE = (arith.ConstantOp, scf.YieldOp, memref.ReinterpretCastOp, arith.IndexCastOp)


def mark_small_loops(block: Block, device: bool = False) -> int:
    """
    Mark the loops to unroll in a block; returns the block's size after unrolling, at most `_ROLLED`.

    `device`: the block is in a function that each thread of a GPU runs.
    """
    size = 0
    for op in block.ops:
        if isinstance(op, scf.ForOp):
            size += _mark(op, device)
            continue
        for region in op.regions:
            for inside in region.blocks:
                size += mark_small_loops(inside, device)
        # A call without results is a large shared part of a kernel; LLVM does not unroll a loop around a call that it
        # may still inline, and would warn on standard error.
        shared = isinstance(op, func.CallOp) and not op.results
        if device and isinstance(op, func.CallOp):
            size += INLINED
        else:
            size += _ROLLED if shared else not isinstance(op, _FREE)
    return min(size, _ROLLED)


def _mark(op: scf.ForOp, device: bool) -> int:
    """Mark a loop if it is to be unrolled; returns its size."""
    inner, count = mark_small_loops(op.body.block, device), iterations(op)
    if count is None:
        return _ROLLED
    if device and count <= MOST_ITERATIONS and count * inner <= MOST_OPERATIONS_ON_GPU:
        _repeat(op, WHOLLY)
        return count * inner
    innermost = not any(inside.regions for inside in op.body.block.ops)
    vectorizes = innermost and inner <= LONG_BODY and (count % LANES == 0 or count > MOST_ITERATIONS)
    if vectorizes and count:
        vectors = -(-count // LANES)
        if vectors > 1:
            _repeat(op, min(vectors, TIMES))
        return vectors * inner if vectors <= TIMES else _ROLLED
    if count <= MOST_ITERATIONS and count * inner <= MOST_OPERATIONS:
        _repeat(op, WHOLLY)
        return count * inner
    return _ROLLED


def _repeat(op: scf.ForOp, times: int) -> None:
    op.attributes.setdefault(UNROLL, IntegerAttr(times, IntegerType(64)))


def iterations(op: scf.ForOp) -> int | None:
    """The number of iterations, if the bounds are constants or a constant apart."""
    lower, upper, step = map(_constant, (op.lb, op.ub, op.step))
    if not step:
        return None
    owner = op.ub.owner
    if upper is None and isinstance(owner, arith.AddiOp) and owner.lhs is op.lb:
        lower, upper = 0, _constant(owner.rhs)
    if lower is None or upper is None:
        return None
    return max(0, -(-(upper - lower) // step))


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None
