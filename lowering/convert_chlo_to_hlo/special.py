"""
erf_inv, lgamma, digamma and bessel_i1e as hlo arithmetic.

Results in f32 and narrower are computed in f64 and rounded once. Error bounds in ulp, if hlo's f64 functions are
accurate to 1 ulp (measured on the CPU over all magnitudes):

| operation  | f32, f16, bf16 | f64 | where it is worse                                                         |
| erf_inv    | 0.6            | 4   |                                                                           |
| lgamma     | 0.6            | 6   | at x < 0 the error is absolute, 6 ulp of 1 + |lgamma(1 - x)|; in f32 next |
|            |                |     | to zeros 0.7 ulp of 2^-12                                                 |
| digamma    | 0.6            | 6   | at x < 0 the error is absolute, 8 ulp of 1 + |digamma(1 - x)|             |
| bessel_i1e | 0.6            | 4   |                                                                           |

* erf_inv: a polynomial of w = -log(1 - x x); for f64 one step of Halley's iteration on erf or erfc.
* lgamma: log of the quotient Gamma(x) / Gamma(y), y in [1.5, 2.5], and a polynomial around 2; Stirling's series from 8
  on; Gamma(x) Gamma(1 - x) = pi / sin(pi x) for negative x.
* digamma: a polynomial around its root 1.46.. and digamma(x + 1) = digamma(x) + 1 / x; an asymptotic series from 8 on;
  digamma(1 - x) - digamma(x) = pi cot(pi x) for negative x.
* bessel_i1e: two polynomials.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...dialects.support.scalar import LOG_FOR_SINGLE
from ...hlo_dialect.chlo import special as chlo
from ...hlo_dialect.expressions.real import Number
from ...hlo_dialect.numbers.special_functions import bernoulli
from ...hlo_dialect.types import f64, i64
from . import special_tables as tables
from .error_functions import DOUBLE, near_zero, tail_in_double
from .rules import Function, functions

LARGE = 8.0
"""The argument from which the asymptotic series of the gamma functions are used."""

LARGE_SINGLE = 4.5
"""The same for log Gamma in f32, with a polynomial in the place of the series."""

DIGAMMA_ROOT = (1.4616321449683622, 9.549995429965697e-17)
"""The positive root of digamma, in two parts."""


def erf_inv(x: Number, exact: bool) -> Number:
    size = abs(x)
    complement = (1.0 - size) * (1.0 + size)
    w = -(complement.log() if exact else _log_for_single(complement, LOG_FOR_SINGLE))
    if exact:
        near = (w * (1 / 2.5) - 1.0).polynomial(tables.ERF_INV_NEAR)
        far = ((w.sqrt() - tables.ERF_INV_FAR_MIDDLE) * tables.ERF_INV_FAR_SCALE).polynomial(tables.ERF_INV_FAR)
    else:
        near = (w * (1 / 2.5) - 1.0).polynomial(tables.ERF_INV_NEAR_SINGLE)
        far = (w * (1 / 5.85) - 10.85 / 5.85).polynomial(tables.ERF_INV_FAR_SINGLE)
    result = size * (w < 5.0).select(near, far)
    if exact:
        result = _halley(size, result)
    else:
        result = (size > 1.0).select(math.nan, result)
    return size.equals(1.0).select(math.inf, result).copysign(x)


def _log_for_single(x: Number, coefficients: Sequence[float]) -> Number:
    """
    The logarithm in f64 of a number that is normal and positive, or NaN; else any number. It is infinity or any large
    number for infinity.

    With x = 2^n m, 2/3 <= m < 4/3, and s = (m - 1) / (m + 1), it is n log 2 + 2 s + s^3 P(s^2); `coefficients` are P's.
    AVX2 has no conversion of 64-bit integers: n + 1023, which is positive, is put into the lowest bits of 2^52 instead.
    """
    biased, fraction = x.bits_as(i64) + ((1023 << 52) - tables.TWO_THIRDS), (1 << 52) - 1
    f = ((biased & fraction) + tables.TWO_THIRDS).bits_as(f64) - 1.0
    n = ((biased >> 52) | tables.TWO_TO_52).bits_as(f64) - (2.0**52 + 1023)
    s = f / (f + 2.0)
    square = s * s
    return n.multiply_add(math.log(2), (s * square).multiply_add(square.polynomial(coefficients), s + s))


def _halley(size: Number, y: Number) -> Number:
    """One step towards erf(y) = size, using erfc if that is small."""
    excess = (size < 0.75).select(near_zero(y, DOUBLE.near) - size, (1.0 - size) - tail_in_double(y))
    step = excess * (y * y).exponential() * (math.sqrt(math.pi) / 2)
    return y - step / (y * step + 1.0)


def lgamma(x: Number, exact: bool) -> Number:
    size = abs(x)
    positive = x > 0.0
    right = (_lgamma_of_positive if exact else _lgamma_for_single)(positive.select(x, size + 1.0))
    rest = abs(size - size.round())
    if exact:
        # pi times a denormal would be rounded; for these sin(pi x) / pi is x.
        log = (rest < 1e-150).select(rest, (rest * math.pi).sine() * (1 / math.pi)).log()
    else:
        log = _log_for_single(rest * (rest * rest).polynomial(tables.SINE_PI_SINGLE), tables.LOG_SINGLE)
    left = x.equals(x.floor()).select(math.inf, -log - right)
    return positive.select(right, left)


def _lgamma_of_positive(x: Number) -> Number:
    below, t, quotient = _around_two(x, 6)
    log = quotient.log()
    near = t * t.polynomial(tables.LOG_GAMMA_DOUBLE) + below.select(-log, log)
    series = [float(bernoulli(2 * k) / (2 * k * (2 * k - 1))) for k in range(1, 11)]
    return (x < LARGE).select(near, _stirling(x, x.log(), series))


def _lgamma_for_single(x: Number) -> Number:
    """The same for a result in f32, with one logarithm: that of the quotient, or of large x itself."""
    is_near = x < LARGE_SINGLE
    below, t, quotient = _around_two(x, 2)
    log = _log_for_single(is_near.select(quotient, x), tables.LOG_SINGLE)
    near = t * t.polynomial(tables.LOG_GAMMA_SINGLE) + below.select(-log, log)
    return is_near.select(near, _stirling(x, log, tables.STIRLING_SINGLE))


def _around_two(x: Number, steps: int) -> tuple[Number, Number, Number]:
    """
    t and q with log Gamma(x) = log Gamma(2 + t) + log q for 3/2 <= x < 5/2 + steps, |t| <= 1/2.

    Below 3/2, which the first result says, it is log Gamma(2 + t) - log q.
    """
    y, product = x, x.like(1.0)
    for _ in range(steps):
        above = y >= 2.5
        y = above.select(y - 1.0, y)
        product = above.select(product * y, product)
    tiny, below = x < 0.5, x < 1.5
    t = tiny.select(x, below.select(x - 1.0, y - 2.0))
    return below, t, tiny.select(x * (x + 1.0), below.select(x, product))


def _stirling(x: Number, log: Number, series: Sequence[float]) -> Number:
    """log Gamma(x) of large x, from its logarithm and the series of its remainder by 1 / x^2."""
    inverse = 1.0 / x
    rest = inverse * (inverse * inverse).polynomial(series) + (math.log(2 * math.pi) - 1) / 2
    return (x - 0.5) * (log - 1.0) + rest


def digamma(x: Number, exact: bool) -> Number:
    positive = x > 0.0
    right = _digamma_of_positive(positive.select(x, 1.0 - x), exact)
    left = x.equals(x.floor()).select(math.nan, right - cotangent_pi(x) * math.pi)
    return positive.select(right, left)


def cotangent_pi(x: Number) -> Number:
    """1 / tan(pi x) with exact range reduction, from the distance to the nearest pole or zero."""
    rest = x - x.round()
    size = abs(rest)
    near = size < 0.25
    tangent = (near.select(size, 0.5 - size) * math.pi).tan()
    return near.select(1.0 / tangent, tangent).copysign(rest)


def _digamma_of_positive(x: Number, exact: bool) -> Number:
    polynomial = tables.DIGAMMA_DOUBLE if exact else tables.DIGAMMA_SINGLE
    below = x < 1.0
    y = below.select(x + 1.0, x)
    # The sum of 1 / y over the steps down to [1, 2), as one fraction.
    numerator, denominator = x.like(0.0), x.like(1.0)
    for _ in range(6):
        above = y >= 2.0
        y = above.select(y - 1.0, y)
        numerator = above.select(numerator * y + denominator, numerator)
        denominator = above.select(denominator * y, denominator)
    numerator, denominator = below.select(-1.0, numerator), below.select(x, denominator)
    from_root = (y - DIGAMMA_ROOT[0]) - DIGAMMA_ROOT[1]
    near = from_root * (y - 1.5).polynomial(polynomial) + numerator / denominator
    series = [float(bernoulli(2 * k) / (2 * k)) for k in range(1, 12 if exact else 6)]
    inverse = 1.0 / x
    square = inverse * inverse
    far = x.log() - (inverse * 0.5 + square * square.polynomial(series))
    return (x < LARGE).select(near, far)


def bessel_i1e(x: Number, exact: bool) -> Number:
    size = abs(x)
    near = size * (size * 0.25 - 1.0).polynomial(tables.BESSEL_NEAR_DOUBLE if exact else tables.BESSEL_NEAR_SINGLE)
    far = (16.0 / size - 1.0).polynomial(tables.BESSEL_FAR_DOUBLE if exact else tables.BESSEL_FAR_SINGLE) / size.sqrt()
    return (size < 8.0).select(near, far).copysign(x)


functions.add(
    {
        chlo.ErfInvOp: Function(erf_inv, of_doubles=True),
        chlo.LgammaOp: Function(lgamma, of_doubles=True),
        chlo.DigammaOp: Function(digamma, of_doubles=True),
        chlo.BesselI1eOp: Function(bessel_i1e, of_doubles=True),
    }
)
