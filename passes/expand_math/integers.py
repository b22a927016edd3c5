"""
Division of integers by division of floats, which vectorizes: processors divide integers one by one.

A quotient x / y that is no integer differs from the nearest one by 1 / |y| or more, which is 1 / |x| of its size. A
float of more bits than x has rounds by less, so that its integer part is exact.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, f32, f64
from xdsl.ir import Operation, SSAValue

from ...dialects.support.scalar import Scalar, width_of

_SIGNED = (arith.DivSIOp, arith.RemSIOp)
_UNSIGNED = (arith.DivUIOp, arith.RemUIOp)
DIVISIONS = (*_SIGNED, *_UNSIGNED)
_REMAINDERS = (arith.RemSIOp, arith.RemUIOp)
_FLOATS = {8: f32, 16: f32, 32: f64}
"""By the width of integers, a float of more bits: f32 has 24, f64 has 53."""

SIGNED_BITS, UNSIGNED_BITS = 256, 512
"""The least vectors whose lanes convert between f64 and integers of 32 bits with and without a sign."""


def divides(op: Operation, vector_bits: int) -> bool:
    """Whether an operation is a division by a number that is not constant, which vectors of this size speed up."""
    least = SIGNED_BITS if type(op) in _SIGNED else UNSIGNED_BITS if type(op) in _UNSIGNED else None
    if least is None or vector_bits < least:
        return False
    is_scalar = isinstance(op.results[0].type, IntegerType)
    return is_scalar and width_of(op.results[0].type) in _FLOATS and not _is_constant(op.operands[1])


def _is_constant(value: SSAValue) -> bool:
    """Whether LLVM knows a divisor, and multiplies instead."""
    op = value.owner
    if not isinstance(op, Operation) or op.regions or not op.name.startswith("arith."):
        return False
    return isinstance(op, arith.ConstantOp) or all(map(_is_constant, op.operands))


def body_of(op: Operation) -> Callable[[Scalar, Scalar], Scalar]:
    """The function that replaces a division or remainder."""
    unsigned, is_remainder = type(op) in _UNSIGNED, type(op) in _REMAINDERS
    into, back = (arith.UIToFPOp, arith.FPToUIOp) if unsigned else (arith.SIToFPOp, arith.FPToSIOp)

    def body(x: Scalar, y: Scalar) -> Scalar:
        wide = _FLOATS[width_of(x.type)]
        quotient = (x.cast(into, wide) / y.cast(into, wide)).cast(back, x.type)
        return x - quotient * y if is_remainder else quotient

    return body
