# NumPy's stubs give Unknown for arrays of element types that only the program knows:
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
"""
Special functions in NumPy, for references: real arrays in, extended precision inside where the machine has it.

The inner precision (`np.longdouble`, 64 digits of mantissa on x86-64) makes results in f64 correct to about 0.51 ulp
away from the functions' zeros; near zeros the error is absolute, about 1e-19 of the terms that cancel.
Callers silence NumPy's floating-point warnings.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias

import numpy as np

Numbers: TypeAlias = Any
"""An array, or the NumPy scalar that arithmetic on rank 0 returns."""

_Wide: Any = np.longdouble
PI: Any = _Wide("3.14159265358979323846264338327950288419716939937510582097494459")
_LOG_TAU: Any = np.log(2 * PI)
_EULER: Any = _Wide("0.57721566490153286060651209008240243104215933593992359880576723")
_LARGE = 16
"""From this argument on, the asymptotic series of the gamma functions are exact with the terms in `_bernoulli`."""


@cache
def bernoulli(n: int) -> Fraction:
    """The Bernoulli number B_n (B_1 = -1/2)."""
    return Fraction(n == 0) - sum((math.comb(n, k) * bernoulli(k) / (n - k + 1) for k in range(n)), Fraction(0))


def _wide(x: Fraction) -> Any:
    return _Wide(x.numerator) / _Wide(x.denominator)


@cache
def _riemann_zeta(k: int) -> Any:
    """zeta(k) of an integer k >= 2."""
    return zeta(_Wide(k), _Wide(1))


def _sin_pi(x: Numbers) -> Numbers:
    """sin(pi x), exact in the reduction."""
    rest = x - np.rint(x)
    return np.where(np.rint(x) % 2 == 0, 1, -1) * np.sin(PI * rest)


def lgamma(x: Numbers) -> Numbers:
    """log |Gamma(x)|; infinite at 0, -1, -2, .. and at both infinities."""
    x = np.asarray(x, _Wide)
    size = np.abs(x)
    right = _lgamma_of_positive(np.where(x > 0, x, 1 + size))
    left = np.log(PI / np.abs(_sin_pi(size))) - right
    result = np.where(x > 0, right, np.where(x == np.floor(x), np.inf, left))
    return np.where(np.isinf(x), np.inf, np.where(np.isnan(x), x, result))


def _lgamma_of_positive(x: Numbers) -> Numbers:
    y, product = x, np.ones_like(x)
    for _ in range(_LARGE):
        small = y < _LARGE
        product = np.where(small, product * y, product)
        y = np.where(small, y + 1, y)
    series = sum(_wide(bernoulli(2 * k) / (2 * k * (2 * k - 1))) / y ** (2 * k - 1) for k in range(1, 12))
    far = (y - 0.5) * np.log(y) - y + _LOG_TAU / 2 + series - np.log(product)
    near_one, near_two = np.abs(x - 1) < 0.25, np.abs(x - 2) < 0.25
    t = np.where(near_one, x - 1, np.where(near_two, x - 2, 0))
    taylor = -_EULER * t + sum(_riemann_zeta(k) * (-t) ** k / k for k in range(2, 40))
    return np.where(near_one, taylor, np.where(near_two, taylor + np.log1p(t), far))


def digamma(x: Numbers) -> Numbers:
    """The derivative of log Gamma(x); NaN at 0, -1, -2, .. and at -inf."""
    x = np.asarray(x, _Wide)
    positive = x > 0
    y = np.where(positive, x, 1 - x)
    total = np.zeros_like(x)
    for _ in range(_LARGE):
        small = y < _LARGE
        total = np.where(small, total + 1 / y, total)
        y = np.where(small, y + 1, y)
    series = sum(_wide(bernoulli(2 * k) / (2 * k)) / y ** (2 * k) for k in range(1, 12))
    right = np.log(y) - 0.5 / y - series - total
    rest = x - np.rint(x)
    left = right - PI * np.cos(PI * rest) / np.sin(PI * rest)
    result = np.where(positive, right, np.where(x == np.floor(x), np.nan, left))
    return np.where(np.isposinf(x), np.inf, np.where(np.isneginf(x), np.nan, result))


def zeta(x: Numbers, q: Numbers) -> Numbers:
    """
    Hurwitz's sum of (q + n)**-x over n = 0, 1, ..: Euler and Maclaurin's formula from n = 24 on.

    Infinite at x = 1, and at q = 0, -1, .. where x is even; NaN for x < 1, at those q where x is not even, and
    for other negative q where x is no integer.
    """
    x, q = np.broadcast_arrays(np.asarray(x, _Wide), np.asarray(q, _Wide))
    total = np.zeros_like(x)
    for n in range(24):
        total = total + (q + n) ** -x
    end = q + 24
    power = end**-x
    tail = end * power / (x - 1) + power / 2
    factor = x * power / end
    for k in range(1, 13):
        tail = tail + _wide(bernoulli(2 * k) / math.factorial(2 * k)) * factor
        factor = factor * (x + 2 * k - 1) * (x + 2 * k) / (end * end)
    # For large x and q, power is 0 and so is the remainder, although its factor may be infinite.
    result = np.where((power == 0) & (q > 0), total, total + tail)
    result = np.where(np.isinf(q) & (q > 0) & (x > 1), 0, result)
    result = np.where(np.isposinf(x), np.where(q > 1, 0, np.where(q == 1, 1, np.inf)), result)
    whole = q == np.floor(q)
    pole = np.where(np.fmod(x, 2) == 0, np.inf, np.nan)
    result = np.where(q <= 0, np.where(whole, pole, np.where(x == np.floor(x), _zeta_left(x, q), np.nan)), result)
    result = np.where(x == 1, np.inf, np.where(x < 1, np.nan, result))
    return np.where(np.isnan(x) | np.isnan(q), np.nan, result)


def _zeta_left(x: Numbers, q: Numbers) -> Numbers:
    """The sum for negative q and integral x: the terms up to positive q, and the rest."""
    left = (q < 0) & (q > -(10**6)) & (q != np.floor(q)) & (x == np.floor(x)) & (x > 1) & np.isfinite(x)
    if not np.any(left):
        return np.full_like(x, np.nan)
    safe, exponent = np.where(left, q, 0.5), np.where(left, x, 2)
    total = np.zeros_like(x)
    for _ in range(int(np.max(np.ceil(-safe))) + 1):
        below = safe < 0
        total = np.where(below, total + safe**-exponent, total)
        safe = np.where(below, safe + 1, safe)
    return np.where(left, total + zeta(exponent, safe), np.nan)


def polygamma(n: Numbers, x: Numbers) -> Numbers:
    """
    The n-th derivative of digamma, n a whole number: (-1)**(n + 1) n! zeta(n + 1, x); NaN for other n.

    At x = 0, -1, .. infinite for odd n and NaN for even ones.
    """
    n, x = np.broadcast_arrays(np.asarray(n, _Wide), np.asarray(x, _Wide))
    sign = np.where(np.fmod(n, 2) == 0, -1, 1)
    result = sign * np.exp(lgamma(n + 1)) * zeta(n + 1, x)
    whole = (n == np.floor(n)) & (n >= 0) & np.isfinite(n)
    return np.where(n == 0, digamma(x), np.where(whole, result, np.nan))


def bessel_i1e(x: Numbers) -> Numbers:
    """e**-|x| I1(x), odd in x, the modified Bessel function of order 1 without its growth."""
    x = np.asarray(x, _Wide)
    size = np.abs(x)
    near = np.where(size < 20, size, 0)
    term = near / 2
    total = term
    for k in range(1, 70):
        term = term * (near * near / 4) / (k * (k + 1))
        total = total + term
    far = np.where(size < 20, 20, size)
    factor = np.ones_like(x)
    tail = factor
    for k in range(1, 38):
        factor = factor * -(4 - (2 * k - 1) ** 2) / (k * 8 * far)
        tail = tail + factor
    value = np.where(size < 20, total * np.exp(-near), tail / np.sqrt(2 * PI * far))
    return np.copysign(np.where(np.isnan(x), x, value), x)


def erf_inv(x: Numbers) -> Numbers:
    """The y with erf(y) = x; infinite at -1 and 1, NaN beyond. Halley's iteration from a rough start."""
    x = np.asarray(x, _Wide)
    size = np.abs(x)
    inside = np.where(size < 1, size, 0)
    w = np.log1p(-inside * inside)
    a = 2 / (PI * 0.147) + w / 2
    y = np.sqrt(np.sqrt(a * a - w / 0.147) - a)
    for _ in range(4):
        change = np.where(y < 2, inside - _erf(y), _erfc_tail(y) - (1 - inside)) * np.sqrt(PI) / 2 * np.exp(y * y)
        y = y + change / (1 - y * change)
    result = np.where(size < 1, y, np.where(size == 1, np.inf, np.nan))
    # Below, erf is linear; the iteration would lose subnormal numbers.
    result = np.where(size < 1e-12, size * np.sqrt(PI) / 2, result)
    return np.copysign(result, x)


def _erf(y: Numbers) -> Numbers:
    """erf(y) for 0 <= y <= 2 as a series of positive terms."""
    y = np.minimum(y, 2)
    term = y
    total = term
    for k in range(1, 60):
        term = term * 2 * y * y / (2 * k + 1)
        total = total + term
    return 2 / np.sqrt(PI) * np.exp(-y * y) * total


def _erfc_tail(y: Numbers) -> Numbers:
    """1 - erf(y) for y >= 2 by its continued fraction."""
    y = np.maximum(y, 2)
    tail = np.zeros_like(y)
    for k in range(120, 0, -1):
        tail = k / (2 * (y + tail))
    return np.exp(-y * y) / np.sqrt(PI) / (y + tail)
