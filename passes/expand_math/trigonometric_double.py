"""
sin, cos, tan and atan2 of f64, without branches for usual arguments, so that loops over them vectorize.

Arguments below 2^30 are reduced by multiples of pi/2 in three parts (Cody and Waite); larger ones, which are rare, by
the C library (`sin_usual`), or, for GPUs, which have none, by the bits of 2/pi that matter, in 192-bit integers (Payne
and Hanek, 1983). A reduced argument is the sum of two f64. The polynomials are those of fdlibm (Sun Microsystems,
1993), k_sin.c, k_cos.c and s_atan.c.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from xdsl.dialects import arith, memref
from xdsl.dialects import math as math_ops
from xdsl.dialects.builtin import IndexType, IntegerType, f64

from ...dialects.support.buffers import memref_type
from ...dialects.support.scalar import Scalar, polynomial
from .control_flow import branch
from .rare import rarely

# pi/2 as the sum of three f64.
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.497384905065873e-33)
MAGIC = 6755399441055744.0  # 1.5 * 2^52
LARGE = 2.0**30

TWO_OVER_PI = "xhlo_two_over_pi"
# The bits of 2/pi after the point, the first at the top of the second word.
TWO_OVER_PI_WORDS = (
    0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41,
    0x3991D639835339F4, 0x9C845F8BBDF9283B, 0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D, 0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB,
    0xF0CFBC209AF4361D,
)  # fmt: skip

# sin r = r + r^3 (S1 + r^2 ..), cos r = 1 - r^2/2 + r^4 (C1 + r^2 ..), for |r| <= pi/4.
SIN = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04, 2.75573137070700676789e-06,
    -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
COS = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05, -2.75573143513906633035e-07,
    2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip
# atan t = t - t (t^2 A0 + t^4 A1 + ..) for |t| <= 7/16.
ATAN = (
    3.33333333333329318027e-01, -1.99999999998764832476e-01, 1.42857142725034663711e-01, -1.11111104054623557880e-01,
    9.09088713343650656196e-02, -7.69187620504482999495e-02, 6.66107313738753120669e-02, -5.83357013379057348645e-02,
    4.97687799461593236017e-02, -3.65315727442169155270e-02, 1.62858201153657823623e-02,
)  # fmt: skip
ATAN_HALF = (4.63647609000806093515e-01, 2.26987774529616870924e-17)
ATAN_ONE = (7.85398163397448278999e-01, 3.06161699786838301793e-17)

_I64 = IntegerType(64)


def _reduce(x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """The quadrant n mod 4 (i64; upper bits undefined), and r in two parts, with x = n pi/2 + r."""
    n, high, low = branch(x.abs().compare("lt", LARGE), [x], _reduce_small, _reduce_large)
    return n, high, low


def _reduce_small(x: Scalar) -> Sequence[Scalar]:
    """x - n HALF_PI[0] is exact: it has no bits below 2^-52 and is less than 1. The rest has an error of n 2^-160."""
    shifted = x.fma(2 / math.pi, MAGIC)
    n = shifted - MAGIC
    rest = n.fma(-HALF_PI[0], x)
    product = n * HALF_PI[1]
    lost = n.fma(HALF_PI[1], -product)
    high = rest - product
    # The exact rounding error of the difference (Knuth), plus the product's error and the third part.
    back = rest - high
    low = (rest - (high + back)) + (back - product) - lost
    low = n.fma(-HALF_PI[2], low)
    total = high + low
    return shifted.bits(), total, (high - total) + low


def _word(index: Scalar) -> Scalar:
    """Word number `index` (an i64) of the bits of 2/pi."""
    block = index.block
    table = memref.GetGlobalOp(TWO_OVER_PI, memref_type((len(TWO_OVER_PI_WORDS),), _I64))
    place = index.cast(arith.IndexCastOp, IndexType())
    load = memref.LoadOp.get(table.memref, [place.value])
    block.add_ops([table, load])
    return Scalar(block, load.res)


def _wide_product(a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    """The low and high halves of the product of two unsigned i64."""
    op = arith.MulUIExtendedOp(a.value, b.value)
    a.block.add_op(op)
    return Scalar(a.block, op.low), Scalar(a.block, op.high)


def _shifted_right(x: Scalar, by: Scalar) -> Scalar:
    """Logical shift right; 0 for shifts by 64 or more."""
    inside = by.compare("ult", 64)
    shifted = x.apply(arith.ShRUIOp, inside.select(by, x.constant(0)))
    return inside.select(shifted, x.constant(0))


def _reduce_large(x: Scalar) -> Sequence[Scalar]:
    """
    x = m 2^e with a 53-bit integer m. The bits of 2/pi before bit e - 1 contribute multiples of 4; the next 192, times
    m, modulo 2^192, hold the quadrant in the upper two bits and its fraction in the others.
    """
    bits = x.bits()
    exponent = bits.shift_right_logical(52) & 0x7FF
    mantissa = (bits & ((1 << 52) - 1)) | (1 << 52)
    place = exponent + (64 - 1075 - 2)
    first, shift = place.shift_right_logical(6), place & 63
    words = [_word(first + number) for number in range(4)]
    back = shift.constant(64) - shift
    window = [(upper << shift) | _shifted_right(lower, back) for upper, lower in pairwise(words)]
    low2, high2 = _wide_product(mantissa, window[2])
    low1, high1 = _wide_product(mantissa, window[1])
    middle = low1 + high2
    carry = middle.compare("ult", low1).cast(arith.ExtUIOp, _I64)
    top = mantissa * window[0] + high1 + carry
    # The fraction as a signed 128-bit number, in quarter turns: between -1/2 and 1/2.
    upper = (top << 2) | middle.shift_right_logical(62)
    lower = (middle << 2) | low2.shift_right_logical(62)
    negative = upper.compare("lt", 0)
    quadrant = top.shift_right_logical(62) + negative.cast(arith.ExtUIOp, _I64)
    flip = negative.select(upper.constant(-1), 0)
    upper, lower = upper ^ flip, lower ^ flip  # too small by one unit of 2^-128: negligible
    high, low = _fraction_times_half_pi(upper, lower)
    high, low = negative.select(-high, high), negative.select(-low, low)
    # The argument's sign; NaN if it is not finite.
    minus = bits.compare("lt", 0)
    quadrant = minus.select(-quadrant, quadrant)
    high, low = minus.select(-high, high), minus.select(-low, low)
    finite = x.abs().compare("lt", math.inf)
    return quadrant, finite.select(high, math.nan), low


def _fraction_times_half_pi(upper: Scalar, lower: Scalar) -> tuple[Scalar, Scalar]:
    """(upper 2^64 + lower) 2^-128 pi/2, in two parts; never 0 because no f64 is that close to a multiple of pi/2."""
    zeros = upper.cast(math_ops.CountLeadingZerosOp, _I64)
    empty = zeros.compare("ult", 64)
    # A fraction below 2^-64 does not occur, but the shift must stay below 64.
    shift = empty.select(zeros, zeros.constant(0))
    top = (upper << shift) | _shifted_right(lower, shift.constant(64) - shift)
    head = top.shift_right_logical(11)
    tail = ((top & 0x7FF) << 11) | _shifted_right(lower << shift, lower.constant(53))
    scale = ((shift.constant(1023 - 53) - shift) << 52).bitcast(f64)
    high = head.to_float(f64) * scale
    low = tail.to_float(f64) * scale * 2.0**-22
    product = high * HALF_PI[0]
    lost = high.fma(HALF_PI[0], -product)
    rest = low.fma(HALF_PI[0], high.fma(HALF_PI[1], lost))
    total = product + rest
    return total, (product - total) + rest


def _sine(x: Scalar, low: Scalar) -> Scalar:
    """sin(x + low) for |x| <= pi/4."""
    z = x * x
    v = z * x
    r = polynomial(z, SIN[1:])
    return x - ((z * (low * 0.5 - v * r) - low) - v * SIN[0])


def _cosine(x: Scalar, low: Scalar) -> Scalar:
    z = x * x
    r = z * polynomial(z, COS)
    half = z * 0.5
    w = 1.0 - half
    return w + (((1.0 - w) - half) + (z * r - x * low))


def _quadrant(x: Scalar, offset: int, reduced: Sequence[Scalar]) -> Scalar:
    """sin(x + offset pi/2)."""
    n, high, low = reduced
    if offset:
        n = n + offset
    value = (n & 1).compare("eq", 0).select(_sine(high, low), _cosine(high, low))
    value = (n & 2).compare("eq", 0).select(value, -value)
    return value if offset else x.abs().compare("lt", 2.0**-27).select(x, value)


def _tangent(x: Scalar, reduced: Sequence[Scalar]) -> Scalar:
    n, high, low = reduced
    sine, cosine = _sine(high, low), _cosine(high, low)
    even = (n & 1).compare("eq", 0)
    result = even.select(sine, -cosine) / even.select(cosine, sine)
    return x.abs().compare("lt", 2.0**-27).select(x, result)


def sin(x: Scalar) -> Scalar:
    """Error below 1 ulp."""
    return _quadrant(x, 0, _reduce(x))


def cos(x: Scalar) -> Scalar:
    """Error below 1 ulp."""
    return _quadrant(x, 1, _reduce(x))


def tan(x: Scalar) -> Scalar:
    """The quotient of sine and cosine. Error below 2 ulp."""
    return _tangent(x, _reduce(x))


def _is_large(x: Scalar) -> Scalar:
    return x.abs().compare("ge", LARGE)


def sin_usual(x: Scalar) -> Scalar:
    """sin, by the C library for large arguments."""
    return rarely("sin", _is_large(x), [x], _quadrant(x, 0, _reduce_small(x)))


def cos_usual(x: Scalar) -> Scalar:
    """cos, by the C library for large arguments."""
    return rarely("cos", _is_large(x), [x], _quadrant(x, 1, _reduce_small(x)))


def tan_usual(x: Scalar) -> Scalar:
    """tan, by the C library for large arguments."""
    return rarely("tan", _is_large(x), [x], _tangent(x, _reduce_small(x)))


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """The angle of the point (x, y), in [-pi, pi]. Error below 2 ulp; signed zeros and infinities as in IEEE 754."""
    size_y, size_x = y.abs(), x.abs()
    steep = size_y.compare("gt", size_x)
    smaller, larger = steep.select(size_x, size_y), steep.select(size_y, size_x)
    # Scale both by a power of two, so that their sum does not overflow and their quotient loses no bits to denormals.
    scale = larger.compare("gt", 2.0**1000).select(
        x.constant(2.0**-100), larger.compare("lt", 2.0**-900).select(x.constant(2.0**120), 1.0)
    )
    both_zero, both_infinite = larger.compare("eq", 0.0), smaller.compare("eq", math.inf)
    s = both_infinite.select(1.0, smaller * scale)
    l = both_infinite.select(1.0, both_zero.select(1.0, larger * scale))
    # atan(s / l) = atan c + atan((s - c l) / (l + c s)) with c = 0, 1/2 or 1.
    near_zero, near_half = s.compare("lt", l * 0.4375), s.compare("lt", l * 0.6875)
    numerator = near_zero.select(s, near_half.select(s.fma(2.0, -l), s - l))
    denominator = near_zero.select(l, near_half.select(l.fma(2.0, s), l + s))
    t = numerator / denominator
    high, low = (
        near_zero.select(x.constant(0.0), near_half.select(x.constant(half), one))
        for half, one in zip(ATAN_HALF, ATAN_ONE, strict=True)
    )
    z = t * t
    correction = t * (z * polynomial(z, ATAN))
    # The angle is high + rest; for near_zero high is 0.
    rest = (low - correction) + t
    flipped_high = steep.select(HALF_PI[0] - high, high)
    flipped_rest = steep.select(HALF_PI[1] - rest, rest)
    lost = steep.select((HALF_PI[0] - flipped_high) - high, x.constant(0.0))
    negative = x.bits().compare("lt", 0)
    pi, pi_low = 2 * HALF_PI[0], 2 * HALF_PI[1]
    far = pi - flipped_high
    far_lost = (pi - far) - flipped_high
    angle = negative.select(far + ((far_lost + pi_low) - (flipped_rest + lost)), flipped_high + (flipped_rest + lost))
    unordered = y.compare("uno", x)
    return unordered.select(math.nan, angle).copysign(y)
