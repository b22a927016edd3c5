"""
sin, cos, tan and atan2 of f32, computed in f64 so that no reduction needs more than three constants.

Arguments up to 2^50 are reduced by multiples of pi/2 (Cody and Waite), larger ones by the bits of 2/pi that matter
(Payne and Hanek, 1983), both always: computing the unused one costs less than a branch, which would prevent
vectorization.

Coefficients are minimax fits (Remez exchange in 40 digits) for the reduced ranges given.
"""

from __future__ import annotations

import math

from ...dialects.support.scalar import Scalar, in_double, polynomial, to_single

# pi/2 as the sum of three f64.
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.497384905065873e-33)
MAGIC = 6755399441055744.0  # 1.5 * 2^52
# 2/pi without the leading bits whose product with an x >= 2^start is a multiple of 4: for x < 2^(start + 26).
# In three f64: 27 bits, whose product with an f32 is exact, the next 27, and the rest.
TWO_OVER_PI = (
    (2.0**50, (2.568255319523871e-08, 7.166494800120787e-17, 1.1109428143316804e-24)),
    (2.0**76, (2.9370955127187795e-16, 2.7653040292560713e-24, 1.018166438749971e-32)),
    (2.0**102, (6.074026479468182e-24, 1.0181664073134233e-32, 3.1436547554916045e-40)),
)

# sin r = r + r^3 S(r^2), error 5e-15; cos r = 1 - r^2/2 + r^4 C(r^2), error 1e-16; for |r| <= pi/4.
SIN = (
    -0.1666666666662984,
    0.008333333324950832,
    -0.00019841263644115197,
    2.7555319096975233e-06,
    -2.4758808018086882e-08,
)
COS = (
    0.041666666666598975,
    -0.0013888888877844345,
    2.4801580780412493e-05,
    -2.7555532043794036e-07,
    2.0645460063888538e-09,
)
# atan t = t + t^3 A(t^2) for 0 <= t <= 1, error 1.4e-12.
ATAN = (
    -0.3333333329596192,
    0.1999999688013878,
    -0.14285622909785745,
    0.1110975472231338,
    -0.09078917165327827,
    0.07623177676486222,
    -0.06391489216207462,
    0.050952531382574516,
    -0.035937612600775284,
    0.020548618678272502,
    -0.008602307205115478,
    0.00228675176118938,
    -0.0002854855366718225,
)


def _reduce(x: Scalar) -> tuple[Scalar, Scalar]:
    """The quadrant n mod 4 (i64; upper bits undefined) and r with x = n pi/2 + r, for an f64 converted from f32."""
    shifted = x.fma(2 / math.pi, MAGIC)
    n = shifted - MAGIC
    r = n.fma(-HALF_PI[0], x)
    r = n.fma(-HALF_PI[1], r)
    r = n.fma(-HALF_PI[2], r)
    size = x.abs()
    quadrant_of_large, r_of_large = _reduce_large(x, size)
    large = size.compare("ge", TWO_OVER_PI[0][0])
    return large.select(quadrant_of_large, shifted.bits()), large.select(r_of_large, r)


def _fraction(x: Scalar, factor: Scalar) -> tuple[Scalar, Scalar]:
    """x * factor, a product of at most 53 bits below 2^51, as an integer (in the low bits of an i64) and a fraction."""
    shifted = x.fma(factor, MAGIC)
    return shifted.bits(), x.fma(factor, -(shifted - MAGIC))


def _reduce_large(x: Scalar, size: Scalar) -> tuple[Scalar, Scalar]:
    """
    The same for |x| >= 2^50; |r| < 1.

    Multiplies by the selected bits of 2/pi, in three products. The fractions of the first two have at most 53 bits
    together, so their sum is exact; the third is below 1/8 with a rounding error of 2^-56. No f32 is closer to a
    multiple of pi/2 than 2^-30 of it.
    """
    (_, low), (middle_start, middle), (high_start, high) = TWO_OVER_PI
    is_high, is_low = size.compare("ge", high_start), size.compare("lt", middle_start)
    first, second, third = (
        is_high.select(h, is_low.select(x.constant(l), m)) for l, m, h in zip(low, middle, high, strict=True)
    )
    n1, fraction1 = _fraction(x, first)
    n2, fraction2 = _fraction(x, second)
    n3, fraction3 = _fraction(fraction1 + fraction2, x.constant(1.0))
    return n1 + n2 + n3, x.fma(third, fraction3) * (math.pi / 2)


def _sin_cos(r: Scalar) -> tuple[Scalar, Scalar]:
    z = r * r
    sine = (z * r).fma(polynomial(z, SIN), r)
    cosine = (z * z).fma(polynomial(z, COS), z.fma(-0.5, 1.0))
    return sine, cosine


def _quadrant(x: Scalar, offset: int) -> Scalar:
    """sin(x + offset pi/2)."""
    wide = in_double(x)
    n, r = _reduce(wide)
    if offset:
        n = n + offset
    sine, cosine = _sin_cos(r)
    value = (n & 1).compare("eq", 0).select(sine, cosine)
    value = (n & 2).compare("eq", 0).select(value, -value)
    return to_single(value)


def sin(x: Scalar) -> Scalar:
    """Error below 1 ulp."""
    return x.abs().compare("lt", 1e-8).select(x, _quadrant(x, 0))


def cos(x: Scalar) -> Scalar:
    """Error below 1 ulp."""
    return _quadrant(x, 1)


def tan(x: Scalar) -> Scalar:
    """Error below 1 ulp."""
    n, r = _reduce(in_double(x))
    sine, cosine = _sin_cos(r)
    even = (n & 1).compare("eq", 0)
    result = even.select(sine, -cosine) / even.select(cosine, sine)
    return x.abs().compare("lt", 1e-8).select(x, to_single(result))


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """The angle of the point (x, y), in [-pi, pi]. Error below 1 ulp; signed zeros and infinities as in IEEE 754."""
    wide_y, wide_x = in_double(y), in_double(x)
    size_y, size_x = wide_y.abs(), wide_x.abs()
    steep = size_y.compare("gt", size_x)
    smaller, larger = steep.select(size_x, size_y), steep.select(size_y, size_x)
    both_zero = larger.compare("eq", 0.0)
    both_infinite = smaller.compare("eq", math.inf)
    t = smaller / both_zero.select(1.0, larger)
    t = both_infinite.select(1.0, t)
    z = t * t
    angle = (z * t).fma(polynomial(z, ATAN), t)
    angle = steep.select(math.pi / 2 - angle, angle)
    negative = wide_x.bits().compare("lt", 0)
    angle = negative.select(math.pi - angle, angle)
    unordered = wide_y.compare("uno", wide_x)
    # Copy the sign as f32: LLVM moves roundings past an f64 copysign, and rounds the sign to f16 by a call.
    return to_single(unordered.select(math.nan, angle)).copysign(y)
