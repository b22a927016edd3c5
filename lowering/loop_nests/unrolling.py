"""
Which loops are written out: those of few, known iterations, and small bodies. Long innermost loops, a few times.

LLVM is told of these loops and unrolls no others. Left to itself it unrolls every loop many times over for today's
processors, which takes half of the compile time and gains nothing where loops are vectorized and interleaved.
"""

from __future__ import annotations

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Block, SSAValue

UNROLL = "xhlo.unroll"
"""On a loop: how often its body is repeated in one iteration; `WHOLLY`: as often as it runs."""

WHOLLY = 0

MOST_ITERATIONS = 32
MOST_OPERATIONS = 128
"""Operations of a loop that is unrolled wholly, over all iterations."""

MOST_OPERATIONS_ON_GPU = 512
"""The same for a GPU's thread: its loops are short ones over elements that it holds, and nothing vectorizes them."""

INLINED = 24
"""Operations of an elementary function, for a GPU: there what unrolling gives is not vectorized, but repeated."""

LANES = 16
"""
Iterations that one vector stands for, or so. An innermost loop of whole vectors, or of many, is left to the vectorizer
and unrolled in part after that.
"""

TIMES = 4
"""How often, at most."""

LONG_BODY = 24
"""Operations up to which it is."""

_ROLLED = MOST_OPERATIONS_ON_GPU + 1
_FREE = (arith.ConstantOp, scf.YieldOp, memref.ReinterpretCastOp, arith.IndexCastOp)


def mark_small_loops(block: Block, device: bool = False) -> int:
    """
    Mark the loops inside of a block that are to be unrolled; its size once they are, at most `_ROLLED`.

    `device`: of a function that each thread of a GPU runs by itself.
    """
    size = 0
    for op in block.ops:
        if isinstance(op, scf.ForOp):
            size += _mark(op, device)
            continue
        for region in op.regions:
            for inside in region.blocks:
                size += mark_small_loops(inside, device)
        # A call without results is of a shared part of a kernel, and large; LLVM unrolls no loop around what it may
        # yet inline, and would say so on standard error.
        shared = isinstance(op, func.CallOp) and not op.results
        if device and isinstance(op, func.CallOp):
            size += INLINED
        else:
            size += _ROLLED if shared else not isinstance(op, _FREE)
    return min(size, _ROLLED)


def _mark(op: scf.ForOp, device: bool) -> int:
    """The size of a loop, marked where it is to be unrolled."""
    inner, count = mark_small_loops(op.body.block, device), _iterations(op)
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


def _iterations(op: scf.ForOp) -> int | None:
    """How often a loop runs, where its bounds are constants or a constant apart."""
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
