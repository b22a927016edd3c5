"""
sin, cos, tan and atan2 of f32, computed in f64 so that no reduction needs more than two constants, and atan.

Arguments up to 2^50 are reduced by multiples of pi/2 (Cody and Waite), larger ones by the bits of 2/pi that matter
(Payne and Hanek, 1983), both always: computing the unused one costs less than a branch, which would prevent
vectorization. The functions whose names end in `_usual` leave larger ones to the C library.

Coefficients are minimax fits (Remez exchange in 40 digits) for the reduced ranges given.
"""

from __future__ import annotations

import math

from xdsl.dialects import arith
from xdsl.dialects import math as math_ops
from xdsl.dialects.builtin import Float32Type, FloatAttr
from xdsl.ir import Operation

from ...dialects.support.scalar import Scalar, in_double, polynomial, to_single
from .rare import rarely

# pi/2 as the sum of two f64; what is left counts for 1e-9 of the remainder at most.
HALF_PI = (1.5707963267948966, 6.123233995736766e-17)
MAGIC = 6755399441055744.0  # 1.5 * 2^52
# 2/pi without the leading bits whose product with an x >= 2^start is a multiple of 4: for x < 2^(start + 26).
# In three f64: 27 bits, whose product with an f32 is exact, the next 27, and the rest.
TWO_OVER_PI = (
    (2.0**50, (2.568255319523871e-08, 7.166494800120787e-17, 1.1109428143316804e-24)),
    (2.0**76, (2.9370955127187795e-16, 2.7653040292560713e-24, 1.018166438749971e-32)),
    (2.0**102, (6.074026479468182e-24, 1.0181664073134233e-32, 3.1436547554916045e-40)),
)

LARGE = TWO_OVER_PI[0][0]
"""From this magnitude on, arguments are reduced by bits of 2/pi."""

# sin r = r (1 + z S(z)), error 1.3e-11; cos r = 1 + z C(z), error 1.6e-10; for z = r^2, |r| <= pi/4 + 0.07: the
# quadrant of a large number may be the one beside.
SIN = (-0.1666666661523587, 0.008333326596131353, -0.00019838513845777016, 2.711129866930803e-06)
COS = (-0.49999999383032795, 0.041666588457100626, -0.0013885764092001266, 2.430468939572339e-05)
# atan t = t + t^3 A(t^2) for 0 <= t <= 1, error 4e-10.
ATAN = (
    -0.3333332689969224, 0.19999671128832247, -0.14279833137216208, 0.11058224291682203, -0.08811093836946242,
    0.06741603139654005, -0.044690031570983293, 0.022539947810466213, -0.007317996532378372, 0.0011137971421420422,
)  # fmt: skip
# The same for 0 <= t <= 2/3 in f32, error 9e-9.
ATAN_32 = (
    -0.3333321213722229, 0.19994422793388367, -0.14199937880039215, 0.10487890243530273, -0.06672662496566772,
    0.024343887344002724,
)  # fmt: skip
# pi/4 as the sum of two f32.
QUARTER_PI = (0.7853981852531433, -2.1855694143368965e-08)


def _reduce_usual(x: Scalar) -> tuple[Scalar, Scalar]:
    """
    The quadrant n mod 4 (i64; upper bits undefined) and r with x = n pi/2 + r, for |x| < LARGE.

    x - n HALF_PI[0] is exact: it has no bits below 2^-52 and is less than 1.
    """
    shifted = x.fma(2 / math.pi, MAGIC)
    n = shifted - MAGIC
    return shifted.bits(), n.fma(-HALF_PI[1], n.fma(-HALF_PI[0], x))


def _reduce(x: Scalar) -> tuple[Scalar, Scalar]:
    """The quadrant n mod 4 (i64; upper bits undefined) and r with x = n pi/2 + r, for an f64 converted from f32."""
    n, r = _reduce_usual(x)
    size = x.abs()
    quadrant_of_large, r_of_large = _reduce_large(x, size)
    large = size.compare("ge", LARGE)
    return large.select(quadrant_of_large, n), large.select(r_of_large, r)


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


def _quadrant(x: Scalar, offset: int, reduced: tuple[Scalar, Scalar]) -> Scalar:
    """sin(x + offset pi/2) in one polynomial, whose coefficients are chosen; tiny x and zeros stay as they are."""
    n, r = reduced
    if offset:
        n = n + offset
    even = (n & 1).compare("eq", 0)
    z = r * r
    coefficients = [even.select(x.constant(s, r.type), c) for s, c in zip(SIN, COS, strict=True)]
    value = coefficients.pop()
    for coefficient in reversed(coefficients):
        value = value.fma(z, coefficient)
    value = even.select(r, 1.0) * z.fma(value, 1.0)
    value = (n & 2).compare("eq", 0).select(value, -value)
    return to_single(value)


def _tangent(reduced: tuple[Scalar, Scalar]) -> Scalar:
    n, r = reduced
    z = r * r
    sine, cosine = r * z.fma(polynomial(z, SIN), 1.0), z.fma(polynomial(z, COS), 1.0)
    even = (n & 1).compare("eq", 0)
    return to_single(even.select(sine, -cosine) / even.select(cosine, sine))


def sin(x: Scalar) -> Scalar:
    """Error below 1 ulp."""
    return _quadrant(x, 0, _reduce(in_double(x)))


def cos(x: Scalar) -> Scalar:
    """Error below 1 ulp."""
    return _quadrant(x, 1, _reduce(in_double(x)))


def tan(x: Scalar) -> Scalar:
    """Error below 1 ulp."""
    return _tangent(_reduce(in_double(x)))


def sin_usual(x: Scalar) -> Scalar:
    """The same; the C library's for large or infinite x."""
    return rarely("sin", x.abs().compare("ge", LARGE), [x], _quadrant(x, 0, _reduce_usual(in_double(x))))


def cos_usual(x: Scalar) -> Scalar:
    """The same; the C library's for large or infinite x."""
    return rarely("cos", x.abs().compare("ge", LARGE), [x], _quadrant(x, 1, _reduce_usual(in_double(x))))


def tan_usual(x: Scalar) -> Scalar:
    """The same; the C library's for large or infinite x."""
    return rarely("tan", x.abs().compare("ge", LARGE), [x], _tangent(_reduce_usual(in_double(x))))


def is_arctangent(op: Operation) -> bool:
    """Whether an operation is the arctangent of a single f32, `atan2(y, 1)`."""
    if type(op) is not math_ops.Atan2Op or not isinstance(op.results[0].type, Float32Type):
        return False
    x = op.operands[1].owner
    return isinstance(x, arith.ConstantOp) and isinstance(x.value, FloatAttr) and x.value.value.data == 1.0


def atan(x: Scalar) -> Scalar:
    """
    Error below 1.1 ulp, all in f32: atan x up to 2/3, pi/4 + atan((x - 1) / (x + 1)) up to 3/2, where x - 1 is exact,
    and pi/2 + atan(-1 / x) beyond.
    """
    size = x.abs()
    middle, steep = size.compare("gt", 2 / 3), size.compare("gt", 1.5)
    above = steep.select(x.constant(-1.0), middle.select(size - 1.0, size))
    q = above / steep.select(size, middle.select(size + 1.0, 1.0))
    curved = q.abs().compare("lt", 2.0**-13).select(0.0, q)
    z = curved * curved
    high, low = (steep.select(x.constant(2 * part), middle.select(x.constant(part), 0.0)) for part in QUARTER_PI)
    angle = high + (q + (z * q).fma(polynomial(z, ATAN_32), low))
    return angle.copysign(x)


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
