"""
Powers and cube roots of f64 for GPUs, which have no C library.

The algorithms and constants are fdlibm's (Sun Microsystems, 1993), e_pow.c, and FreeBSD's s_cbrt.c, without branches. A
value named _high has zeros in the lower 32 bits (`_head` clears them), so that products of two of them are exact.
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import f64

from ...dialects.support.scalar import Scalar, polynomial

# log2(1.5) in two parts; 1 / ln 2 and 2 / (3 ln 2) likewise; ln 2.
LOG2_THREE_HALVES = (5.84962487220764160156e-01, 1.35003920212974897128e-08)
TWO_OVER_3_LN2 = 9.61796693925975554329e-01
TWO_OVER_3_LN2_PARTS = (9.61796700954437255859e-01, -7.02846165095275826516e-09)
LN2 = 6.93147180559945286227e-01
LN2_PARTS = (6.93147182464599609375e-01, -1.90465429995776804525e-09)
# (3/2)(log(1+s) - log(1-s) - 2s) / s^3 - 1 in powers of s^2.
LOG = (
    5.99999999999994648725e-01,
    4.28571428578550184252e-01,
    3.33333329818377432918e-01,
    2.72728123808534006489e-01,
    2.30660745775561754067e-01,
    2.06975017800338417784e-01,
)
# r (e^r + 1) / (e^r - 1) - 2 in powers of r^2.
EXP = (
    1.66666666666666019037e-01,
    -2.77777777770155933842e-03,
    6.61375632143793436117e-05,
    -1.65339022054652515390e-06,
    4.13813679705723846039e-08,
)
# A polynomial for cbrt(x) / t in x / t^3, with t accurate to 5 bits.
CBRT = (
    1.87595182427177009643,
    -1.88497979543377169875,
    1.621429720105354466140,
    -0.758397934778766047437,
    0.145996192886612446982,
)
CBRT_START, CBRT_START_DENORMAL = 715094163, 696219795


def _head(x: Scalar) -> Scalar:
    """The upper half of the bits."""
    return (x.bits() & ~0xFFFFFFFF).bitcast(f64)


def _log2(x: Scalar) -> tuple[Scalar, Scalar]:
    """log2 of a positive finite number in two parts, the first of 21 bits: relative error 2^-68."""
    denormal = x.compare("lt", 2.0**-1022)
    bits = denormal.select(x * 2.0**53, x).bits()
    fraction = bits & ((1 << 52) - 1)
    above_root_two, above_root_three = fraction.compare("ge", 0x3988F << 32), fraction.compare("ge", 0xBB67A << 32)
    middle = above_root_two & (above_root_three ^ 1)
    exponent = bits.shift_right_logical(52) - denormal.select(bits.constant(1023 + 53), 1023)
    exponent = exponent + above_root_three.select(bits.constant(1), 0)
    # m in [sqrt(3)/2, sqrt(3)), and the nearest of 1 and 1.5.
    m = (fraction | above_root_three.select(bits.constant(0x3FE << 52), 0x3FF << 52)).bitcast(f64)
    center = middle.select(x.constant(1.5), 1.0)
    u, v = m - center, 1.0 / (m + center)
    s = u * v
    s_high = _head(s)
    # m + center in two parts, the upper exact in 21 bits.
    t_high = _head(m + center)
    t_low = m - (t_high - center)
    s_low = v * (s_high.fma(-t_high, u) - s_high * t_low)
    s2 = s * s
    r = s2 * s2 * polynomial(s2, LOG) + s_low * (s_high + s)
    s2 = s_high * s_high
    t_high = _head(s2 + 3.0 + r)
    t_low = r - ((t_high - 3.0) - s2)
    u, v = s_high * t_high, s_low * t_high + t_low * s
    p_high = _head(u + v)
    p_low = v - (p_high - u)
    high, low = TWO_OVER_3_LN2_PARTS
    z_high = p_high * high
    z_low = p_high * low + p_low * TWO_OVER_3_LN2 + middle.select(x.constant(LOG2_THREE_HALVES[1]), 0.0)
    shift = middle.select(x.constant(LOG2_THREE_HALVES[0]), 0.0)
    n = exponent.to_float(f64)
    first = _head(((z_high + z_low) + shift) + n)
    return first, z_low - (((first - n) - shift) - z_high)


def _exp2(high: Scalar, low: Scalar) -> Scalar:
    """2^(high + low); |low| is far below |high|, or both are small."""
    total = high + low
    bounded = total.compare("gt", 1100.0).select(total.constant(1100.0), total)
    bounded = bounded.compare("lt", -1200.0).select(bounded.constant(-1200.0), bounded)
    inside = bounded.compare("eq", total)
    high, low = inside.select(high, bounded), inside.select(low, total.constant(0.0))
    magic = 6755399441055744.0
    shifted = bounded + magic
    n = shifted - magic
    integer = shifted.bits() - shifted.constant(magic).bits()
    rest = high - n
    t = _head(low + rest)
    u = t * LN2_PARTS[0]
    v = (low - (t - rest)) * LN2 + t * LN2_PARTS[1]
    z = u + v
    w = v - (z - u)
    square = z * z
    t1 = z - square * polynomial(square, EXP)
    r = (z * t1) / (t1 - 2.0) - (z * w + w)
    mantissa = 1.0 - (r - z)
    # In two steps: 2^n may be denormal or overflow when the result does not.
    half = integer >> 1
    for part in (half, integer - half):
        mantissa = mantissa * ((part + 1023) << 52).bitcast(f64)
    return mantissa


def power(x: Scalar, y: Scalar) -> Scalar:
    """x ** y. Error below 1 ulp. The special cases are those of IEEE 754 pow."""
    size = x.abs()
    ordinary = size.compare("gt", 0.0) & size.compare("lt", math.inf)
    first, second = _log2(ordinary.select(size, 1.0))
    # Beyond 2^65 the powers of anything but 1 overflow or underflow; infinite factors would produce NaN.
    limit = 2.0**65
    clamped = y.compare("gt", limit).select(limit, y)
    clamped = clamped.compare("lt", -limit).select(-limit, clamped)
    y_high = _head(clamped)
    low = (clamped - y_high) * first + clamped * second
    result = _exp2(y_high * first, low)
    zero_or_infinite = size.compare("eq", 0.0) | size.compare("eq", math.inf)
    grows = size.compare("eq", 0.0) ^ y.compare("gt", 0.0)
    result = zero_or_infinite.select(grows.select(x.constant(math.inf), 0.0), result)
    result = (x.compare("uno", y)).select(math.nan, result)

    whole = y.trunc().compare("eq", y)
    half = y * 0.5
    odd = whole & half.trunc().compare("ne", half)
    negative = x.bits().compare("lt", 0)
    result = (negative & odd).select(-result, result)
    finite_negative = x.compare("lt", 0.0) & size.compare("lt", math.inf)
    result = (finite_negative & (whole ^ 1)).select(math.nan, result)
    # 1 ** y and x ** 0 are 1 even for NaN and infinite operands; (-1) ** inf too.
    unit = x.compare("eq", 1.0) | y.compare("eq", 0.0)
    unit = unit | (size.compare("eq", 1.0) & y.abs().compare("eq", math.inf))
    return unit.select(1.0, result)


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
