"""
Division of integers by division of floats, which vectorizes: processors divide integers one by one.

A quotient x / y that is no integer differs from the nearest one by 1 / |y| or more, which is 1 / |x| of its size. A
float of more bits than x has rounds by less, so that its integer part is exact. Integers of 64 bits are seldom so large
that f64 has no more bits; those are divided as integers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, f32, f64, i64
from xdsl.ir import Operation, SSAValue

from ...dialects.support.scalar import Scalar, width_of
from .long_loops import is_long
from .rare import rarely

_SIGNED = (arith.DivSIOp, arith.RemSIOp)
_UNSIGNED = (arith.DivUIOp, arith.RemUIOp)
DIVISIONS = (*_SIGNED, *_UNSIGNED)
_REMAINDERS = (arith.RemSIOp, arith.RemUIOp)
_FLOATS = {8: f32, 16: f32, 32: f64}
"""By the width of integers, a float of more bits: f32 has 24, f64 has 53."""

SIGNED_BITS, UNSIGNED_BITS = 256, 512
"""The least vectors whose lanes convert between f64 and integers of 32 bits with and without a sign."""


LEAST_DIVISIONS = 16
"""Elements of 64 bits from which a loop gains."""

_BITS = 51
"""Those of integers, without the sign, that f64 adds to its number of `_SHIFT` without rounding."""

_SHIFT = 3 << _BITS
"""A float of this size has units of 1, so that its last bits are an integer of either sign."""

_SHIFT_BITS = int.from_bytes(struct.pack("<d", _SHIFT), "little")


def divides(op: Operation, vector_bits: int) -> bool:
    """Whether an operation is a division by a number that is not constant, which vectors of this size speed up."""
    least = SIGNED_BITS if type(op) in _SIGNED else UNSIGNED_BITS if type(op) in _UNSIGNED else None
    if least is None or vector_bits < least:
        return False
    is_scalar = isinstance(op.results[0].type, IntegerType)
    return is_scalar and width_of(op.results[0].type) in _FLOATS and not _is_constant(op.operands[1])


def divides_small(op: Operation, vector_bits: int) -> bool:
    """Whether an operation divides integers of 64 bits by no constant in a long loop, which vectors speed up."""
    if type(op) not in DIVISIONS or vector_bits < SIGNED_BITS or not is_long(op.parent_op(), LEAST_DIVISIONS):
        return False
    return op.results[0].type == i64 and not _is_constant(op.operands[1])


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


def body_of_small(op: Operation) -> Callable[[Scalar, Scalar], Scalar]:
    """
    The function that replaces a division or remainder of 64 bits.

    The bits of an integer are the last ones of its sum with `_SHIFT`: vectors of AVX2 convert none otherwise.
    """
    unsigned, is_remainder = type(op) in _UNSIGNED, type(op) in _REMAINDERS

    def body(x: Scalar, y: Scalar) -> Scalar:
        shift = _as_float(x.constant(0))
        wide_x, wide_y = ((_as_float(one) - shift) for one in (x, y))
        quotient = (wide_x / wide_y).trunc()
        result = wide_x - quotient * wide_y if is_remainder else quotient
        sizes = x | y if unsigned else (x + (1 << _BITS)) | (y + (1 << _BITS))
        large = sizes.shift_right_logical(_BITS + (not unsigned)).compare("ne", 0)
        return rarely(op.name.split(".")[1], large, [x, y], (result + shift).bits() - shift.bits())

    return body


def _as_float(x: Scalar) -> Scalar:
    """The float `_SHIFT` + x."""
    return (x + _SHIFT_BITS).bitcast(f64)
