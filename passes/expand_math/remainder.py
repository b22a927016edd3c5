"""The floating-point remainder, exact as C's fmod: LLVM's GPU lowering rounds the quotient."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects import math as math_ops
from xdsl.dialects.builtin import IntegerType

from ...dialects.support.scalar import Scalar, is_double
from .control_flow import repeat_while
from .rare import rarely

_I64 = IntegerType(64)


def _parts(x: Scalar, mantissa_bits: int) -> tuple[Scalar, Scalar]:
    """A positive finite x as m 2^(e - bias), both i64; e is at least 1."""
    bits = x.bits()
    if not is_double(x):
        bits = bits.cast(arith.ExtUIOp, _I64)
    exponent, fraction = bits.shift_right_logical(mantissa_bits), bits & ((1 << mantissa_bits) - 1)
    normal = exponent.compare("ne", 0)
    return normal.select(fraction | (1 << mantissa_bits), fraction), normal.select(exponent, bits.constant(1))


def fmod_usual(x: Scalar, y: Scalar) -> Scalar:
    """
    x - y n with n = x / y rounded toward zero, exact; by the C library for quotients that are no exact floats.

    The rounded quotient may be an integer when the exact one is less: then n is too large by one.
    """
    size_x, size_y = x.abs(), y.abs()
    quotient = size_x / size_y
    rest = quotient.trunc().fma(-size_y, size_x)
    rest = rest.compare("lt", 0.0).select(rest + size_y, rest)
    result = size_x.compare("lt", size_y).select(size_x, rest).copysign(x)
    return rarely("rem", quotient.compare("ge", 2.0**52 if is_double(x) else 2.0**23), [x, y], result)


def fmod(x: Scalar, y: Scalar) -> Scalar:
    """
    x - y n with n = x / y rounded toward zero, exact. NaN for an infinite x and for y = 0; x for an infinite y.

    The mantissa of x is reduced modulo that of y, shifted as far as 64 bits allow and reduced again until the exponents
    agree: a few steps, since quotients are seldom large.
    """
    mantissa_bits = 52 if is_double(x) else 23
    chunk = 63 - (mantissa_bits + 1)
    size_x, size_y = x.abs(), y.abs()
    usual = size_x.compare("lt", math.inf) & size_y.compare("lt", math.inf) & size_y.compare("gt", 0.0)
    m_x, e_x = _parts(usual.select(size_x, 1.0), mantissa_bits)
    m_y, e_y = _parts(usual.select(size_y, 1.0), mantissa_bits)
    # If |x| < |y| the remainder is x.
    less = size_x.compare("lt", size_y)
    distance = less.select(e_x.constant(0), e_x - e_y)

    def left(rest: Scalar, distance: Scalar, divisor: Scalar) -> Scalar:
        return distance.compare("gt", 0)

    def step(rest: Scalar, distance: Scalar, divisor: Scalar) -> Sequence[Scalar]:
        bits = distance.apply(arith.MinSIOp, chunk)
        return (rest << bits).apply(arith.RemUIOp, divisor), distance - bits

    rest, _ = repeat_while([m_x.apply(arith.RemUIOp, m_y), distance], left, step, [m_y])
    result = _joined(rest, e_y, x, mantissa_bits)
    result = less.select(size_x, result).copysign(x)
    keeps = size_x.compare("lt", math.inf) & size_y.compare("eq", math.inf)
    return usual.select(result, keeps.select(x, math.nan))


def _joined(mantissa: Scalar, exponent: Scalar, like: Scalar, mantissa_bits: int) -> Scalar:
    """m 2^(e - bias) as a float; exact because it is a multiple of that exponent's least bit."""
    # Normalize: shift the leading one to the mantissa's top as long as the exponent stays positive.
    zeros = mantissa.cast(math_ops.CountLeadingZerosOp, _I64) - (63 - mantissa_bits)
    shift = zeros.apply(arith.MinSIOp, exponent - 1)
    shift = mantissa.compare("eq", 0).select(shift.constant(0), shift)
    shifted = mantissa << shift
    normal = shifted.compare("ge", 1 << mantissa_bits)
    upper = normal.select(exponent - shift, exponent.constant(0)) << mantissa_bits
    bits = (shifted & ((1 << mantissa_bits) - 1)) | upper
    if not is_double(like):
        bits = bits.truncate(IntegerType(32))
    return bits.bitcast(like.type)
