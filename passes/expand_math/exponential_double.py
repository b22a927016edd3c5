"""
Powers and cube roots of f64, without branches, so that loops over them vectorize.

A power is 2^(y log2 x) with the logarithm in two parts, whose products are exact by fused multiply-adds. Its
polynomials interpolate at Chebyshev's points, in 200 bits. The cube root is that of FreeBSD's s_cbrt.c.
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import f64

from ...dialects.support.scalar import Scalar, polynomial
from .powers import with_sign_of_power

# 1/3, 2 / ln 2 and ln 2, each in two parts.
THIRD = (0.3333333333333333, 1.850371707708594e-17)
TWO_OVER_LN2 = (2.8853900817779268, 4.0710547481862066e-17)
LN2 = (0.6931471805599453, 2.3190468138462996e-17)
# log((1+s)/(1-s)) = 2s (1 + z/3 + z^2 P(z)), z = s^2 <= 0.0295. Error of P: 2^-59.
LOG = (
    0.2, 0.1428571428571469, 0.1111111111082441, 0.09090909168496285, 0.07692297395881176, 0.06667406985646002,
    0.058529940782504536, 0.05862885610905572,
)  # fmt: skip
# 2^f = 1 + f ln 2 + f^2 Q(f), |f| <= 1/2. Error of Q: 2^-60.
EXP2 = (
    0.24022650695910072, 0.0555041086648216, 0.009618129107628479, 0.0013333558146416936, 0.00015403530393375914,
    1.525273382983612e-05, 1.3215486802903931e-06, 1.0178062445845774e-07, 7.054899956372649e-09,
    4.4549605981865186e-10, 2.572508057683636e-11,
)  # fmt: skip
ROOT_HALF = 0x3FE6A09E667F3BCD
"""The bits of sqrt(1/2)."""
# A polynomial for cbrt(x) / t in x / t^3, with t accurate to 5 bits.
CBRT = (
    1.87595182427177009643, -1.88497979543377169875, 1.621429720105354466140, -0.758397934778766047437,
    0.145996192886612446982,
)  # fmt: skip
CBRT_START, CBRT_START_DENORMAL = 715094163, 696219795


def _sum(large: Scalar, small: Scalar) -> tuple[Scalar, Scalar]:
    """The rounded sum and its exact error, if |large| >= |small| or large is 0 (Dekker, 1971)."""
    total = large + small
    return total, (large - total) + small


def _product(a: tuple[Scalar, Scalar], b: tuple[Scalar, Scalar]) -> tuple[Scalar, Scalar]:
    """The product of two numbers in two parts each: relative error 2^-102."""
    high = a[0] * b[0]
    return high, a[1].fma(b[0], a[0].fma(b[1], a[0].fma(b[0], -high)))


def _log2(x: Scalar) -> tuple[Scalar, Scalar]:
    """log2 of a positive finite number in two parts: relative error 2^-65."""
    denormal = x.compare("lt", 2.0**-1022)
    bits = denormal.select(x * 2.0**54, x).bits() - ROOT_HALF
    n = (bits >> 52).to_float(f64) - denormal.select(x.constant(54.0), 0.0)
    m = ((bits & ((1 << 52) - 1)) + ROOT_HALF).bitcast(f64)
    # s = (m - 1) / (m + 1); m + 1 in two parts.
    difference = m - 1.0
    total, lost = _sum(m.constant(1.0), m)
    inverse = 1.0 / total
    high = difference * inverse
    s = high, inverse * lost.fma(-high, high.fma(-total, difference))
    z = _product(s, s)
    tail = z[0] * polynomial(z[0], LOG)
    third, rest = _sum(x.constant(THIRD[0]), tail)
    series = _product(z, (third, rest + THIRD[1]))
    excess = _product(s, series)
    high, low = _sum(s[0], excess[0])
    logarithm = _product((high, low + (s[1] + excess[1])), (x.constant(TWO_OVER_LN2[0]), x.constant(TWO_OVER_LN2[1])))
    high, low = _sum(n, logarithm[0])
    return high, low + logarithm[1]


def _exp2(high: Scalar, low: Scalar) -> Scalar:
    """2^(high + low); |low| is far below |high|, or both are small."""
    bounded = high.compare("gt", 1100.0).select(high.constant(1100.0), high)
    bounded = bounded.compare("lt", -1200.0).select(bounded.constant(-1200.0), bounded)
    low = bounded.compare("eq", high).select(low, low.constant(0.0))
    magic = 6755399441055744.0
    shifted = bounded + magic
    integer = shifted.bits() - shifted.constant(magic).bits()
    rest = bounded - (shifted - magic)
    f = rest + low
    lost = (rest - f) + low
    first = f * LN2[0]
    tail = (f * f).fma(polynomial(f, EXP2), lost.fma(LN2[0], f.fma(LN2[1], f.fma(LN2[0], -first))))
    one, error = _sum(first.constant(1.0), first)
    mantissa = one + (error + tail)
    # In two steps: 2^n may be denormal or overflow when the result does not.
    half = integer >> 1
    for part in (half, integer - half):
        mantissa = mantissa * ((part + 1023) << 52).bitcast(f64)
    return mantissa


def power(x: Scalar, y: Scalar) -> Scalar:
    """x ** y. Error below 1 ulp. The special cases are those of IEEE 754 pow."""
    size = x.abs()
    ordinary = size.compare("gt", 0.0) & size.compare("lt", math.inf)
    logarithm = _log2(ordinary.select(size, 1.0))
    # Beyond 2^65 the powers of anything but 1 overflow or underflow; infinite factors would produce NaN.
    limit = 2.0**65
    clamped = y.compare("gt", limit).select(limit, y)
    clamped = clamped.compare("lt", -limit).select(-limit, clamped)
    high = clamped * logarithm[0]
    result = _exp2(high, clamped.fma(logarithm[1], clamped.fma(logarithm[0], -high)))
    zero_or_infinite = size.compare("eq", 0.0) | size.compare("eq", math.inf)
    grows = size.compare("eq", 0.0) ^ y.compare("gt", 0.0)
    result = zero_or_infinite.select(grows.select(x.constant(math.inf), 0.0), result)
    result = (x.compare("uno", y)).select(math.nan, result)
    return with_sign_of_power(result, x, y, size)


def cbrt(x: Scalar) -> Scalar:
    """The cube root. Error below 1 ulp: the upper half of the bits divided by 3, a polynomial, a Newton step."""
    size = x.abs()
    denormal = size.compare("lt", 2.0**-1022)
    upper = denormal.select(size * 2.0**54, size).bits().shift_right_logical(32)
    # Exact division by 3 of numbers below 2^31.
    third = (upper * 0xAAAAAAAB).shift_right_logical(33)
    start = third + denormal.select(upper.constant(CBRT_START_DENORMAL), CBRT_START)
    t = (start << 32).bitcast(f64)
    r = (t * t) * (t / size)
    t = t * (r.fma(r.fma(CBRT[2], CBRT[1]), CBRT[0]) + ((r * r) * r) * r.fma(CBRT[4], CBRT[3]))
    # To 23 bits, so that its square is exact.
    t = ((t.bits() + 0x80000000) & ~0x3FFFFFFF).bitcast(f64)
    square = t * t
    r = size / square
    r = (r - t) / (t + t + r)
    t = t.fma(r, t)
    ordinary = size.compare("gt", 0.0) & size.compare("lt", math.inf)
    return ordinary.select(t.copysign(x), x)
