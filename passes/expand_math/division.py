"""Divisions by a value that a loop does not change, by its reciprocal: exact, and the divider is seldom needed."""

from __future__ import annotations

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import Float32Type
from xdsl.ir import Operation, SSAValue

from ...dialects.cpu import SHARED
from ...dialects.support.kernel import CACHED
from ...dialects.support.scalar import Scalar
from .long_loops import is_long
from .rare import rarely

_EXPONENTS = 60
"""Sizes of both operands, 2^-60 to 2^60, for which nothing in the formula underflows or overflows."""

LEAST_DIVISIONS = 512
"""Elements from which a loop gains: a processor divides shorter rows while it begins the next ones."""

_PURE = ("arith.", "math.")
"""The beginnings of names of operations that LLVM moves out of a loop."""


def divide_by_invariant(x: Scalar, y: Scalar) -> Scalar:
    """
    x / y in f32, rounded once as by an instruction; 1 / y and the test of y leave the loop.

    With r = 1 / y rounded, q = x r is off by at most one and a half units in the last place, x - q y fits into a float
    and q + r (x - q y) is the quotient's nearest float (Markstein, IA-64 and Elementary Functions, ch. 8): where q is
    off by more than one unit, the quotients next to the middle between two floats were all tried
    (test_math_long_loops.py).
    """
    reciprocal, quotient = _nearly(x, y)
    rest = (-quotient).fma(y, x)
    bits = x.bits()
    # A negative zero is rare, too: the formula would lose its sign.
    rare = (_is_extreme(bits) & bits.compare("ne", 0)) | _is_extreme(y.bits())
    return rarely("div", rare, [x, y], rest.fma(reciprocal, quotient))


def divide_usual(x: Scalar, y: Scalar) -> Scalar:
    """
    The same for a positive y, where x and y are known to be usual (see usual_rows.py).

    The rest of a zero is +0, as of all exact quotients, and `-rest * reciprocal` is -0, which added to a zero of either
    sign changes nothing.
    """
    reciprocal, quotient = _nearly(x, y)
    rest = quotient.fma(y, -x)
    return (-rest).fma(reciprocal, quotient)


def _nearly(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """1 / y, and x / y as a product with it."""
    reciprocal = 1.0 / y
    return reciprocal, x * reciprocal


def _is_extreme(bits: Scalar) -> Scalar:
    """Whether a float of these bits is outside of the range, or no number."""
    least, most = ((127 + sign * _EXPONENTS) << 23 for sign in (-1, 1))
    return ((bits & 0x7FFFFFFF) - least).compare("uge", most - least)


def divides_by_invariant(op: Operation) -> bool:
    """
    Whether an operation divides elements of f32 in a long loop over cached rows by a value that is the same for all.
    Other loops wait for memory. Functions that programs share are compiled by themselves, so they call no others.
    """
    if type(op) is not arith.DivfOp or not isinstance(op.result.type, Float32Type):
        return False
    loop = op.parent_op()
    if not is_long(loop, LEAST_DIVISIONS) or CACHED not in loop.attributes:
        return False
    if _is_inside(op.rhs, loop) or not _is_inside(op.lhs, loop):
        return False
    above: Operation | None = loop
    while above is not None and not isinstance(above, func.FuncOp):
        above = above.parent_op()
    return above is None or SHARED not in above.attributes


def _is_inside(value: SSAValue, loop: scf.ForOp) -> bool:
    """Whether a loop's iterations compute a value anew."""
    pending, seen = [value], set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if not isinstance(value.owner, Operation):
            if value.owner is loop.body.block:
                return True
        elif value.owner.parent is loop.body.block:
            if not value.owner.name.startswith(_PURE):
                return True
            pending += value.owner.operands
    return False
