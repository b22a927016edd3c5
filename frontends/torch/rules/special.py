"""Bessel and Airy functions, erfcx, ndtri and incomplete gamma functions, in f64, rounded to the result's dtype."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...builder.builder import Value
from ..api import torch
from ..dtypes import Unlowered
from ..registry import lowers
from ..step import Step, count
from . import special_tables as tables

Function = Callable[[Step, Value], Value]


def _unary(names: str, function: Function) -> None:
    """Register a function of an f64 value."""

    def rule(step: Step, x: Value) -> Value:
        return function(step, step.value(x, torch.float64, step.shape))

    lowers(names)(rule)


def _series(t: Value, coefficients: Sequence[float]) -> Value:
    """A Chebyshev series at `t` in [-1, 1], by Clenshaw's recurrence."""
    twice = t + t
    now, before = t.like(coefficients[-1]), t.like(0.0)
    for one in reversed(coefficients[1:-1]):
        now, before = twice * now - before + one, now
    return t * now - before + coefficients[0]


def _sign(x: Value) -> Value:
    return x.like(1.0).copysign(x)


def _exp(x: Value) -> Value:
    return x.exponential()


# Modified Bessel functions.


def _i0(step: Step, x: Value, scaled: bool) -> Value:
    size = abs(x)
    low, high = size.minimum(8.0), size.maximum(8.0)
    growth = size.like(1.0) if scaled else _exp(size)
    near = growth * _series(low / 4.0 - 1.0, tables.I0_NEAR)
    return (size <= 8.0).select(near, growth * _series(16.0 / high - 1.0, tables.I0_FAR) / high.sqrt())


def _i1(step: Step, x: Value, scaled: bool) -> Value:
    size = abs(x)
    low, high = size.minimum(8.0), size.maximum(8.0)
    growth = size.like(1.0) if scaled else _exp(size)
    near = growth * size * _series(low / 4.0 - 1.0, tables.I1_NEAR)
    far = growth * _series(16.0 / high - 1.0, tables.I1_FAR) / high.sqrt()
    return (size <= 8.0).select(near, far) * _sign(x)


def _at_zero(x: Value, found: Value, limit: float) -> Value:
    """A function of positive numbers, with its limit at zero."""
    found = x.equals(0.0).select(x.like(limit), found)
    return (x < 0.0).select(x.like(math.nan), found)


def _k0(step: Step, x: Value, scaled: bool) -> Value:
    low, high = x.maximum(1e-300).minimum(2.0), x.maximum(2.0)
    near = _series(low * low / 2.0 - 1.0, tables.K0_NEAR) - (low / 2.0).log() * _i0(step, low, False)
    far = _series(4.0 / high - 1.0, tables.K0_FAR) / high.sqrt()
    found = (x <= 2.0).select(near * _exp(low) if scaled else near, far if scaled else far * _exp(-high))
    return _at_zero(x, found, math.inf)


def _k1(step: Step, x: Value, scaled: bool) -> Value:
    low, high = x.maximum(1e-300).minimum(2.0), x.maximum(2.0)
    near = (low / 2.0).log() * _i1(step, low, False) + _series(low * low / 2.0 - 1.0, tables.K1_NEAR) / low
    far = _series(4.0 / high - 1.0, tables.K1_FAR) / high.sqrt()
    found = (x <= 2.0).select(near * _exp(low) if scaled else near, far if scaled else far * _exp(-high))
    return _at_zero(x, found, math.inf)


def _scaled(function: Callable[[Step, Value, bool], Value], scaled: bool) -> Function:
    return lambda step, x: function(step, x, scaled)


_unary("prims.bessel_i0 aten.special_modified_bessel_i0", _scaled(_i0, False))
_unary("prims.bessel_i0e", _scaled(_i0, True))
_unary("prims.bessel_i1 aten.special_modified_bessel_i1", _scaled(_i1, False))
_unary("prims.bessel_i1e", _scaled(_i1, True))
_unary("aten.special_modified_bessel_k0", _scaled(_k0, False))
_unary("aten.special_scaled_modified_bessel_k0", _scaled(_k0, True))
_unary("aten.special_modified_bessel_k1", _scaled(_k1, False))
_unary("aten.special_scaled_modified_bessel_k1", _scaled(_k1, True))


# Bessel functions: up to 8 series in the square, beyond amplitude and phase in 8 / x.


def _wave(size: Value, quarters: float, p: Sequence[float], q: Sequence[float], first: bool) -> Value:
    far = size.maximum(8.0)
    z = 8.0 / far
    t = 2.0 * z * z - 1.0
    even, odd, angle = _series(t, p), z * _series(t, q), far - quarters * math.pi / 4
    cosine, sine = angle.cosine(), angle.sine()
    found = even * cosine - odd * sine if first else even * sine + odd * cosine
    found = found * (2 / math.pi / far).sqrt()
    return far.is_infinite().select(far.like(0.0), found)


def _near(size: Value) -> tuple[Value, Value]:
    low = size.minimum(8.0)
    return low, low * low / 32.0 - 1.0


def _j0(step: Step, x: Value) -> Value:
    size = abs(x)
    _, t = _near(size)
    return (size <= 8.0).select(_series(t, tables.J0_NEAR), _wave(size, 1, tables.J0_P, tables.J0_Q, True))


def _j1(step: Step, x: Value) -> Value:
    size = abs(x)
    low, t = _near(size)
    near = low * _series(t, tables.J1_NEAR)
    return (size <= 8.0).select(near, _wave(size, 3, tables.J1_P, tables.J1_Q, True)) * _sign(x)


def _y0(step: Step, x: Value) -> Value:
    low, t = _near(x.maximum(1e-300))
    near = _series(t, tables.Y0_NEAR) + 2 / math.pi * low.log() * _series(t, tables.J0_NEAR)
    found = (x <= 8.0).select(near, _wave(x, 1, tables.J0_P, tables.J0_Q, False))
    return _at_zero(x, found, -math.inf)


def _y1(step: Step, x: Value) -> Value:
    low, t = _near(x.maximum(1e-300))
    near = low * _series(t, tables.Y1_NEAR)
    near = near + 2 / math.pi * (low.log() * low * _series(t, tables.J1_NEAR) - 1.0 / low)
    found = (x <= 8.0).select(near, _wave(x, 3, tables.J1_P, tables.J1_Q, False))
    return _at_zero(x, found, -math.inf)


def _spherical_j0(step: Step, x: Value) -> Value:
    square = x * x
    near = square.polynomial([1.0, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880, -1 / 39916800])
    found = (abs(x) < 0.5).select(near, x.sine() / x)
    return x.is_infinite().select(x.like(0.0), found)


_unary("prims.bessel_j0", _j0)
_unary("prims.bessel_j1", _j1)
_unary("aten.special_bessel_y0", _y0)
_unary("aten.special_bessel_y1", _y1)
_unary("prims.spherical_bessel_j0", _spherical_j0)


# erfcx and Airy's function.


def _erfcx(step: Step, x: Value) -> Value:
    """(1 + x) erfcx(x) in 4 / (4 + x); for negative numbers by reflection."""
    size = abs(x)
    found = _series(8.0 / (4.0 + size) - 1.0, tables.ERFCX) / (1.0 + size)
    return (x < 0.0).select(2.0 * _exp(x * x) - found, found)


_AIRY = 2 / 3 * 2**1.5


def _airy(step: Step, x: Value) -> Value:
    """Between -2 and 2 a series in x, beyond in the power 3/2 of its size."""
    size = abs(x).maximum(2.0)
    root = size.sqrt()
    phase = 2 / 3 * size * root
    ratio = _AIRY / phase
    decay = _series(2.0 * ratio - 1.0, tables.AIRY_FAR) * _exp(-phase) / (2 * math.sqrt(math.pi) * root.sqrt())
    angle, t = phase + math.pi / 4, 2.0 * ratio * ratio - 1.0
    wave = _series(t, tables.AIRY_P) * angle.sine() - ratio * _series(t, tables.AIRY_Q) * angle.cosine()
    wave = wave / (math.sqrt(math.pi) * root.sqrt())
    near = _series(x.maximum(-2.0).minimum(2.0) / 2.0, tables.AIRY_NEAR)
    found = (x > 2.0).select(decay, (x < -2.0).select(wave, near))
    return x.is_infinite().select(x.like(math.nan), found)


def _ndtri(step: Step, p: Value) -> Value:
    """
    The y below which a normal number is with probability p; with q = p or 1 - p, whichever is less.

    Around 1/2 it is a series in the distance from there. In the tails, q <= 0.1353 < e^-2, the size of y is
    z - (log z + SERIES(1 / z)) / z for z = sqrt(-2 log q), which no p is too small for.
    """
    q, distance = p.minimum(1.0 - p), p - 0.5
    near = distance * _series((distance * distance).minimum(0.134) * (2 / 0.134) - 1.0, tables.NORMAL_MIDDLE)
    z = (-2.0 * q.log()).sqrt().maximum(2.0)
    share = 1.0 / z
    tail = _series(share * (16 / 3) - 5 / 3, tables.NORMAL_TAIL)
    # For the interval from 1/39 to 1/8; beyond it, which q = 0 alone is, any number.
    far_tail = _series(share * (2 * 39 * 8 / 31) - 47 / 31, tables.NORMAL_FAR_TAIL)
    far = z - (z.log() + (z < 8.0).select(tail, far_tail)) * share
    far = q.equals(0.0).select(math.inf, far)
    return (q > 0.1353).select(near, far.copysign(distance))


_unary("prims.erfcx", _erfcx)
_unary("prims.ndtri aten.special_ndtri", _ndtri)
_unary("aten.special_airy_ai", _airy)


# Incomplete gamma functions.

_MOST = 2000
_OF_F32 = 2.0**-36
"""The relative change below which nothing more changes a result of f32."""


def _factor(step: Step, a: Value, x: Value) -> Value:
    """x**a exp(-x) / gamma(a + 1)."""
    return _exp(a * x.log() - x - step.builder.lgamma(a + 1.0))


def _iterated(
    step: Step, body: Callable[[Value, Any], tuple[Value, ...]], state: Sequence[Value], of_f64: float
) -> Value:
    """
    Iterate until the last value of the state, what an iteration added, is small beside the first one: `of_f64` of it if
    the result is f64.
    """
    shape = state[0].shape
    dims = list(range(len(shape)))
    least = of_f64 if step.dtype == torch.float64 else _OF_F32

    def goes_on(number: Value, *values: Value) -> Value:
        going = abs(values[-1]) > least * abs(values[0])
        some = step.builder.reduce(going, step.full(False, torch.bool), dimensions=dims, body=step.builder.or_)
        return some & (number < _MOST)

    def following(number: Value, *values: Value) -> tuple[Value, ...]:
        return number + 1, *body(number.convert(values[0].element).broadcast(shape), values)

    return step.builder.while_loop(goes_on, following, step.full(1, torch.int32), *state)[1]


def _lower(step: Step, a: Value, x: Value) -> Value:
    """P by its power series, for x up to a + 1."""

    def body(number: Value, values: Any) -> tuple[Value, ...]:
        total, term = values
        term = term * x / (a + number)
        return total + term, term

    return _factor(step, a, x) * _iterated(step, body, [x.like(1.0), x.like(1.0)], 2.0**-53)


def _upper(step: Step, a: Value, x: Value) -> Value:
    """Q by its continued fraction with Lentz's method, for larger x."""
    begin = x + 1.0 - a
    inverse = 1.0 / begin

    def body(number: Value, values: Any) -> tuple[Value, ...]:
        total, c, d, _ = values
        numerator, divisor = number * (a - number), begin + 2.0 * number
        c, d = divisor + numerator / c, 1.0 / (divisor + numerator * d)
        return total * c * d, c, d, total * (c * d - 1.0)

    # The fraction's first value is 1 / begin, which is its last denominator too.
    start = [inverse, x.like(1e300), inverse, inverse]
    # Factors end within some roundings of 1, not at 1.
    return _factor(step, a, x) * a * _iterated(step, body, start, 2.0**-51)


def _incomplete(step: Step, a: Any, x: Any, lower: bool) -> Value:
    """By the series or by the fraction, whichever converges; the limits at zero and infinity."""
    a, x = (step.value(one, torch.float64, step.shape) for one in (a, x))
    if not count(step.shape):
        return x
    if step.dtype == torch.float16:
        raise Unlowered("incomplete gamma functions of f16")
    by_fraction = (x > 1.0) & (x > a)
    plain = (a > 0.0) & (x > 0.0) & ~a.is_infinite() & ~x.is_infinite()
    # Elements that the other method computes get arguments for which this one ends at once.
    series = _lower(step, (plain & ~by_fraction).select(a, 1.0), (plain & ~by_fraction).select(x, 0.5))
    fraction = _upper(step, (plain & by_fraction).select(a, 1.0), (plain & by_fraction).select(x, 2.0))
    if lower:
        found = by_fraction.select(1.0 - fraction, series)
    else:
        found = by_fraction.select(fraction, 1.0 - series)
    none, whole = (x.like(0.0), x.like(1.0)) if lower else (x.like(1.0), x.like(0.0))
    found = x.is_infinite().select(whole, found)
    found = a.is_infinite().select(x.is_infinite().select(x.like(math.nan), none), found)
    found = x.equals(0.0).select(none, found)
    found = a.equals(0.0).select((x > 0.0).select(whole, x.like(math.nan)), found)
    wrong = (x < 0.0) | (a < 0.0) | x.is_nan() | a.is_nan()
    return wrong.select(x.like(math.nan), found)


@lowers("prims.igamma aten.igamma aten.special_gammainc")
def igamma(step: Step, a: Any, x: Any) -> Value:
    return _incomplete(step, a, x, True)


@lowers("prims.igammac aten.igammac aten.special_gammaincc")
def igammac(step: Step, a: Any, x: Any) -> Value:
    return _incomplete(step, a, x, False)
