"""
Circular and hyperbolic functions and their inverses as hlo arithmetic.

Error bounds in ulp, measured on the CPU over all magnitudes:

| operation   | as                                              | f32 | f64 | complex64 | complex128 |
| tan         | hlo.tan                                         | 0.6 | 1.5 | 4.5       | 4.5        |
| asin        | atan2(x, sqrt((1 - x) (1 + x))); f32: ASIN      | 2.0 | 1.5 | 0.6       | 3.5        |
| acos        | atan2(sqrt((1 - x) (1 + x)), x); f32: ASIN      | 1.5 | 1.5 | 0.6       | 3.5        |
| atan        | atan2(x, 1)                                     | 1.1 | 1.5 | 0.6       | 3.5        |
| sinh        | (e - 1 / e) / 2; SINH; f64: (e + e / (e + 1)) / 2 | 2.5 | 2.5 | 0.6       | 3.5        |
| cosh        | (e + 1 / e) / 2, e = e^|x|                      | 1.5 | 1.5 | 0.6       | 3.5        |
| asinh       | log1p(a + a a / (1 + sqrt(1 + a^2))), a = |x|   | 1.8 | 1.5 | 0.6       | 3.5        |
| acosh       | log1p(t + sqrt(t (t + 2))), t = x - 1           | 2.5 | 2.5 | 0.6       | 3.5        |
| atanh       | log1p(2 a / (1 - a)) / 2, a = |x|               | 2.5 | 1.5 | 0.6       | 3.5        |

A bound of a complex function holds for each part; sinh z is -i sin(i z), cosh z cos(i z). f16, bf16 and narrower floats
are computed in f32 and rounded once, complex<f32> (except for tan) in f64. Complex inverse functions are Kahan's
(Branch Cuts for Complex Elementary Functions, 1987): their square roots keep the signs of zeros, which distinguishes
both sides of each cut, and none of their sums cancels.
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import Float64Type

from ...hlo_dialect.chlo import elementary as chlo
from ...hlo_dialect.expressions.complex import Complex
from ...hlo_dialect.expressions.real import Number, Real
from ...hlo_dialect.expressions.tensor import Tensor
from .rules import Function, by_kind, conversions, functions, of_complex, of_floats

LARGE = 1e18
"""From this magnitude on, 1 + z z rounds to z z in f64."""

ASIN = (0.16666752099990845, 0.07495297491550446, 0.045470379292964935, 0.024179507046937943, 0.042166318744421005)
"""asin t = t + t^3 ASIN(t^2) in f32 for 0 <= t <= 1/2: a minimax fit (Remez exchange in 40 digits), error 5e-9."""

SINH = (0.1666666716337204, 0.008333349600434303, 0.0001983615948120132, 2.8169513370812638e-06)
"""sinh t = t + t^3 SINH(t^2) in f32 for 0 <= t <= 1, error 6e-11."""

_LOG_2 = math.log(2.0)
_HALF_PI = (1.5707963705062866, -4.371138828673793e-08)
"""pi/2 as the sum of two f32."""


def _is_double(x: Real) -> bool:
    return isinstance(x.element, Float64Type)


def tan(x: Number) -> Number:
    return x.tan()


def asin(x: Number) -> Number:
    if _is_double(x):
        return x.atan2(_cosine_of_asin(x))
    size = abs(x)
    near, root, tail = _reduced_asin(size)
    # pi/2 - 2 (root + tail), the large parts first.
    far = (_HALF_PI[0] - root * 2.0) - (tail * 2.0 - _HALF_PI[1])
    return near.select(root + tail, far).copysign(x)


def acos(x: Number) -> Number:
    if _is_double(x):
        return _cosine_of_asin(x).atan2(x)
    near, root, tail = _reduced_asin(abs(x))
    angle = root + tail
    signed = angle.copysign(x)
    across = _HALF_PI[0] - (signed - _HALF_PI[1])
    twice = angle * 2.0
    beyond = (x < 0.0).select(2 * _HALF_PI[0] - (twice - 2 * _HALF_PI[1]), twice)
    return near.select(across, beyond)


def _reduced_asin(size: Number) -> tuple[Number, Number, Number]:
    """
    Whether |x| <= 1/2, and in two parts, its sine and the rest, the angle asin |x| there; elsewhere the angle
    asin(sqrt((1 - |x|) / 2)), which is (pi/2 - asin |x|) / 2.
    """
    near = size <= 0.5
    curved = _without_tiny(size)
    square = near.select(curved * curved, (1.0 - size) * 0.5)
    root = near.select(size, square.sqrt())
    return near, root, (root * square) * square.polynomial(ASIN)


def _without_tiny(size: Number) -> Number:
    """0 for a size whose square is nothing beside 1 in f32: its powers would underflow, slowly."""
    return (size < 2.0**-13).select(0.0, size)


def _cosine_of_asin(x: Number) -> Number:
    return ((1.0 - x) * (1.0 + x)).sqrt()


def atan(x: Number) -> Number:
    return x.atan2(1.0)


def sinh(x: Number) -> Number:
    size = abs(x)
    if _is_double(x):
        grown = size.exponential_minus_one()
        near = (grown + grown / (grown + 1.0)) * 0.5
        root = (size * 0.5).exponential()
        return (size < _exponential_end(x)).select(near, (root * 0.5) * root).copysign(x)
    square = _without_tiny(size) * size
    small = size.multiply_add(square * square.polynomial(SINH), size)
    is_near, grown, far = _exponential_of(size)
    large = is_near.select((grown - 1.0 / grown) * 0.5, far)
    return (size < 1.0).select(small, large).copysign(x)


def cosh(x: Number) -> Number:
    is_near, grown, far = _exponential_of(abs(x))
    return is_near.select((grown + 1.0 / grown) * 0.5, far)


def _exponential_of(size: Number) -> tuple[Number, Number, Number]:
    """
    Whether e^x is far from overflow, and e^x there; elsewhere that of x / 2, and e^x / 2 from it, beside which e^-x is
    negligible.
    """
    is_near = size < _exponential_end(size)
    grown = is_near.select(size, size * 0.5).exponential()
    return is_near, grown, (grown * 0.5) * grown


def _exponential_end(x: Real) -> float:
    """A bound below which e^x does not overflow and above which e^-x is negligible beside it."""
    return 700.0 if _is_double(x) else 88.0


def asinh(x: Number) -> Number:
    """a a overflows long before the result does: above LARGE, the result is log(2 a)."""
    size = abs(x)
    above = size / (size.multiply_add(size, 1.0).sqrt() + 1.0)
    near = above.multiply_add(size, size).log_plus_one()
    return (size < LARGE).select(near, size.log() + _LOG_2).copysign(x)


def acosh(x: Number) -> Number:
    above = x - 1.0
    near = (above + (above * (above + 2.0)).sqrt()).log_plus_one()
    result = (x < LARGE).select(near, x.log() + _LOG_2)
    return (x < 1.0).select(math.nan, result)


def atanh(x: Number) -> Number:
    size = abs(x)
    return ((size + size) / (1.0 - size)).log_plus_one().copysign(x) * 0.5


def complex_sqrt(z: Complex) -> Complex:
    return Complex.of(z.joined().sqrt())


def _is_large(z: Complex) -> Tensor:
    """Whether a part is large or infinite."""
    return (abs(z.re) > LARGE) | (abs(z.im) > LARGE)


def _log_of_twice(z: Complex) -> Tensor:
    """log(2 |z|) of large numbers; infinite if either part is."""
    a, b = abs(z.re), abs(z.im)
    first = a > b
    larger, smaller = first.select(a, b), first.select(b, a)
    ratio = smaller / larger
    found = larger.log() + (ratio * ratio).log_plus_one() * 0.5 + _LOG_2
    return (a.equals(math.inf) | b.equals(math.inf)).select(math.inf, found)


def complex_asin(z: Complex) -> Complex:
    x, y = z
    below, above = complex_sqrt(Complex(1.0 - x, -y)), complex_sqrt(Complex(1.0 + x, y))
    re = x.atan2(below.re * above.re - below.im * above.im)
    im = abs(asinh(below.re * above.im - below.im * above.re)).copysign(y)
    large = _is_large(z)
    re = x.equals(0.0).select(x, large.select(x.atan2(abs(y)), re))
    return Complex(re, large.select(_log_of_twice(z).copysign(y), im))


def complex_acos(z: Complex) -> Complex:
    x, y = z
    below, above = complex_sqrt(Complex(1.0 - x, -y)), complex_sqrt(Complex(1.0 + x, y))
    re = below.re.atan2(above.re) * 2.0
    im = abs(asinh(above.re * below.im - above.im * below.re)).copysign(-y)
    large = _is_large(z)
    re = x.equals(0.0).select(math.pi / 2, large.select(abs(y).atan2(x), re))
    return Complex(re, large.select(_log_of_twice(z).copysign(-y), im))


def complex_acosh(z: Complex) -> Complex:
    x, y = z
    below, above = complex_sqrt(Complex(x - 1.0, y)), complex_sqrt(Complex(x + 1.0, y))
    re = asinh(below.re * above.re + below.im * above.im)
    im = below.im.atan2(above.re) * 2.0
    large = _is_large(z)
    im = x.equals(0.0).select(_quarter_turn(y), large.select(y.atan2(x), im))
    return Complex(large.select(_log_of_twice(z), re), im)


def complex_atanh(z: Complex) -> Complex:
    """
    log1p(4 |x| / ((1 - |x|)^2 + y^2)) / 4 with the sign of x; atan2(2 y, (1 - x) (1 + x) - y^2) / 2.

    Near the poles y y may underflow; far away the real part is x / |z|^2, computed from z divided by its larger part.
    """
    x, y = z
    size, height = abs(x), abs(y)
    distance = 1.0 - size
    near = (size * 4.0 / (distance * distance + y * y)).log_plus_one() * 0.25
    beside = (_LOG_2 - height.log()) * 0.5
    re = (distance.equals(0.0) & (height < 1e-100)).select(beside, near)
    im = (y * 2.0).atan2((1.0 - x) * (1.0 + x) - y * y) * 0.5
    larger = (size > height).select(size, height)
    u, v = size / larger, y / larger
    far = u / (u * u + v * v) / larger
    far = (size.equals(math.inf) | height.equals(math.inf)).select(0.0, far)
    large = _is_large(z)
    unknown = y.is_nan() | (x.is_nan() & (height < math.inf))
    re = x.equals(0.0).select(x, large.select(far, re).copysign(x))
    return Complex(re, large.select(unknown.select(math.nan, _quarter_turn(y)), im))


def _quarter_turn(sign: Tensor) -> Tensor:
    return sign.like(math.pi / 2).copysign(sign)


def complex_asinh(z: Complex) -> Complex:
    return complex_asin(z.turned()).turned_back()


def complex_atan(z: Complex) -> Complex:
    return complex_atanh(z.turned()).turned_back()


def complex_sinh(z: Complex) -> Complex:
    return Complex.of(z.turned().joined().sine()).turned_back()


def complex_cosh(z: Complex) -> Complex:
    return Complex.of(z.turned().joined().cosine())


def complex_tan(z: Complex) -> Complex:
    return Complex.of(z.joined().tan())


functions.add(
    {
        chlo.AcosOp: Function(acos),
        chlo.AcoshOp: Function(acosh),
        chlo.AsinOp: Function(asin),
        chlo.AsinhOp: Function(asinh),
        chlo.AtanhOp: Function(atanh),
        chlo.CoshOp: Function(cosh),
        chlo.SinhOp: Function(sinh),
    }
)
conversions.add(
    {
        chlo.AcosOp: of_complex(complex_acos),
        chlo.AcoshOp: of_complex(complex_acosh),
        chlo.AsinOp: of_complex(complex_asin),
        chlo.AsinhOp: of_complex(complex_asinh),
        chlo.AtanOp: by_kind(of_floats(atan), of_complex(complex_atan)),
        chlo.AtanhOp: of_complex(complex_atanh),
        chlo.CoshOp: of_complex(complex_cosh),
        chlo.SinhOp: of_complex(complex_sinh),
        chlo.TanOp: by_kind(of_floats(tan), of_complex(complex_tan, wide=False)),
    }
)
