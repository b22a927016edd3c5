"""
Marks loops to unroll: fully if they have few, known iterations and a small body, partially if they are long and
innermost.

LLVM unrolls only the marked loops. By default it unrolls every loop many times for today's processors, which takes half
of the compile time and gains nothing for loops that are vectorized and interleaved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, IntegerType, i1
from xdsl.ir import Block, SSAValue

from ...dialects.support.attributes import integer_attr
from ...dialects.support.classes import one_of
from ...dialects.support.editing import insert_before
from ...dialects.support.kernel import OPERATIONS, PARALLEL, VECTORIZE
from ...hlo_dialect.walking import operations_of
from ..device.parts import MATH_FUNCTION
from .kernel_builder import known_number

UNROLL = "xhlo.unroll"
"""The attribute of a loop: its unroll factor; `WHOLLY` for full unrolling."""

WHOLLY = 0

MOST_ITERATIONS = 32
MOST_OPERATIONS = 128
"""Operations of a fully unrolled loop, over all iterations."""

MOST_OPERATIONS_ON_GPU = 512
"""The same for a GPU thread: its loops are short, over elements that it holds, and nothing vectorizes them."""

INLINED, ROUNDED = 24, 8
"""Operations of an inlined elementary function, and of a function that rounds to bf16."""

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
_FALSE = BoolAttr.from_bool(False)
_is_free = one_of(arith.ConstantOp, scf.YieldOp, memref.ReinterpretCastOp, arith.IndexCastOp)


@dataclass(frozen=True)
class SmallLoops:
    """Marks the loops of one function."""

    device: bool = False
    """Whether each thread of a GPU runs the function."""
    scalable: bool = False
    """Whether the length of vectors is known only when the code runs: loops of vectors have no known trip counts."""
    shared: bool = False
    """Whether programs share the function: its code is kept, so that LLVM's time counts less than its speed."""
    narrow_bits: int = 0
    """The width of vectors that have neither cheap masks nor stores to places that are apart; 0 for others."""

    def mark(self, block: Block) -> int:
        """Mark the loops to unroll in a block; returns the block's size after unrolling, at most `_ROLLED`."""
        size = 0
        for op in operations_of(block):
            if type(op) is scf.ForOp:
                size += self._mark(op)
                continue
            for region in op.regions:
                for inside in region.blocks:
                    size += self.mark(inside)
            # A call without results is a large shared part of a kernel; LLVM does not unroll a loop around a call that
            # it may still inline, and would warn on standard error.
            if type(op) is func.CallOp:
                size += _size_of_call(op) if op.results or self.device else _ROLLED
            else:
                size += not _is_free(op)
        return min(size, _ROLLED)

    def _mark(self, op: scf.ForOp) -> int:
        """Mark a loop if it is to be unrolled; returns its size."""
        inner, count = self.mark(op.body.block), iterations(op)
        if self.narrow_bits and inner <= LONG_BODY:
            from .scattered import scatters  # only machines with short vectors need it

            if scatters(op):
                op.attributes.setdefault(VECTORIZE, _FALSE)
        if count is None:
            return _ROLLED
        if self.device and count <= MOST_ITERATIONS and count * inner <= MOST_OPERATIONS_ON_GPU:
            _repeat(op, WHOLLY)
            return count * inner
        innermost = not any(inside.regions for inside in operations_of(op.body.block))
        # A longer loop runs mostly in vectors anyway.
        short = innermost and PARALLEL in op.attributes and count <= TIMES * LANES
        if short and not self.device and known_number(op.lb) is None:
            _begin_at_zero(op, cast(arith.AddiOp, op.ub.owner).rhs)
        if not innermost and any(value.type == i1 for value in op.iter_args):
            # LLVM threads a branch on the flag after the loop through the branches inside: it no longer sees a loop of
            # so many iterations, and would warn on standard error.
            return _ROLLED
        vectorizes = innermost and inner <= LONG_BODY and _fills_vectors(count)
        if vectorizes and count:
            vectors = -(-count // LANES)
            if vectors > 1 and not self.scalable:
                _repeat(op, min(vectors, TIMES))
            return vectors * inner if vectors <= TIMES and not self.scalable else _ROLLED
        once, most = self._limits(op, count) if innermost and op.iter_args else (0, MOST_OPERATIONS)
        repeated = count * (inner - once)
        if count <= MOST_ITERATIONS and repeated <= most:
            if not (innermost or self.shared) and _is_around_vectors(op):
                return _ROLLED
            _repeat(op, WHOLLY)
            return once + repeated
        if innermost and self.narrow_bits:
            self._divide(op, count, inner)
        return _ROLLED

    def _limits(self, op: scf.ForOp, count: int) -> tuple[int, int]:
        """The size of what unrolling does not repeat of an innermost loop that carries values, and the most it may."""
        if not self.narrow_bits or count > MOST_ITERATIONS:
            return 0, MOST_OPERATIONS
        from .short_loops import invariants, slowness  # only for short vectors

        times = slowness(op, count)
        once = sum(not _is_free(inside) for inside in invariants(op)) if times > 1 else 0
        return once, times * MOST_OPERATIONS

    def _divide(self, op: scf.ForOp, count: int, inner: int) -> None:
        """Divide a short loop into whole vectors and single elements, if that takes less than vectors under masks."""
        from .short_loops import divide, lanes_of_loop, most_pieces, parts_of  # only for short vectors

        lanes = lanes_of_loop(op, self.narrow_bits)
        parts = parts_of(count, lanes, most_pieces(op))
        if len(parts) == 1:
            return
        if known_number(op.lb) is None:
            _begin_at_zero(op, cast(arith.AddiOp, op.ub.owner).rhs)
        for loop, part in zip(divide(op, parts), parts, strict=True):
            if part < lanes // 2 or part == 1:
                loop.attributes[VECTORIZE] = _FALSE
                if part * inner <= MOST_OPERATIONS:
                    _repeat(loop, WHOLLY)


def _size_of_call(op: func.CallOp) -> int:
    if OPERATIONS in op.attributes:
        return cast("IntegerAttr[Any]", op.attributes[OPERATIONS]).value.data
    return ROUNDED if op.callee.string_value().startswith(f"{MATH_FUNCTION}trunc") else INLINED


def is_short_but_rolled(count: int, operations: int) -> bool:
    """Whether a loop has few iterations, of too many operations to be fully unrolled."""
    return count <= MOST_ITERATIONS and count * operations > MOST_OPERATIONS


def _fills_vectors(count: int) -> bool:
    """Whether an innermost loop of so many iterations is whole vectors, or mostly."""
    return count % LANES == 0 or count > MOST_ITERATIONS


def _is_around_vectors(op: scf.ForOp) -> bool:
    """
    Whether a loop is around one of whole vectors, or of many: LLVM, which unrolls fully before it vectorizes, would
    vectorize each copy, for hardly any gain in speed. Where indices are compared there is one: copies know the results.
    """
    for inside in op.body.block.ops:
        if type(inside) is scf.ForOp and _fills_vectors(iterations(inside) or 1):
            return not any(type(each) is arith.CmpiOp for each in inside.body.block.ops)
    return False


def _repeat(op: scf.ForOp, times: int) -> None:
    op.attributes.setdefault(UNROLL, integer_attr(times))
    if known_number(op.lb) is None:
        _begin_at_zero(op, cast(arith.AddiOp, op.ub.owner).rhs)


def _begin_at_zero(op: scf.ForOp, count: SSAValue) -> None:
    """
    Let a loop that ends `count` after its beginning run from zero: LLVM sees how many iterations it has. It warns on
    standard error about a loop to be unrolled where it does not.
    """
    body, begin = op.body.block, op.lb
    first, type_ = body.first_op, begin.type
    assert first is not None and isinstance(type_, (IndexType, IntegerType))
    zero = arith.ConstantOp(integer_attr(0, cast("IndexType | IntegerType[Any, Any]", type_)))
    insert_before(zero, op)
    index = body.args[0]
    place = arith.AddiOp(begin, index)
    for new in (zero, place):
        new.location = op.location
    insert_before(place, first)
    index.replace_uses_with_if(place.result, lambda use: use.operation is not place)
    op.operands[0], op.operands[1] = zero.result, count


def iterations(op: scf.ForOp) -> int | None:
    """The number of iterations, if the bounds are constants or a constant apart."""
    begin, end, by = op.operands[:3]
    lower, upper, step = map(known_number, (begin, end, by))
    if not step:
        return None
    owner = end.owner
    if upper is None and type(owner) is arith.AddiOp and owner.lhs is begin:
        lower, upper = 0, known_number(owner.rhs)
    if lower is None or upper is None:
        return None
    return max(0, -(-(upper - lower) // step))
