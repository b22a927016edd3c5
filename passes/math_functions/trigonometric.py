"""
sin, cos, tan and atan2 of f32, computed in f64 so that no reduction needs more than three constants.

Coefficients are minimax fits (Remez exchange in 40 digits) for the reduced ranges given.
"""

from __future__ import annotations

import math

from ...dialects.scalar import Scalar, in_double, polynomial, to_single

# pi/2 as the sum of three f64.
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.497384905065873e-33)
MAGIC = 6755399441055744.0  # 1.5 * 2^52

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
    """The quadrant n mod 4 (i64) and r with x = n pi/2 + r, |r| <= pi/4, for a finite f64 that was an f32."""
    shifted = x.fma(2 / math.pi, MAGIC)
    n = shifted - MAGIC
    r = n.fma(-HALF_PI[0], x)
    r = n.fma(-HALF_PI[1], r)
    r = n.fma(-HALF_PI[2], r)
    return shifted.bits() & 3, r


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
    """Error below 1 ulp for |x| < 2^50."""
    return x.abs().compare("lt", 1e-8).select(x, _quadrant(x, 0))


def cos(x: Scalar) -> Scalar:
    """Error below 1 ulp for |x| < 2^50."""
    return _quadrant(x, 1)


def tan(x: Scalar) -> Scalar:
    """Error below 1 ulp for |x| < 2^50."""
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
    return to_single(unordered.select(math.nan, angle).copysign(wide_y))
