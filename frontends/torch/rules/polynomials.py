"""Orthogonal polynomials of a degree for each element, by their recurrences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...builder.builder import Value
from ..api import torch
from ..dtypes import converted, dtype_of
from ..registry import lowers
from ..step import Step, count

Next = Callable[[Value, Value, Value, Value], Value]
"""The polynomial of the next degree, from x, the degree k, the polynomial of that degree and the one before."""


def _chebyshev(x: Value, k: Value, now: Value, before: Value) -> Value:
    return (x + x) * now - before


def _hermite(x: Value, k: Value, now: Value, before: Value) -> Value:
    return (x + x) * now - (k + k) * before


def _hermite_of_probability(x: Value, k: Value, now: Value, before: Value) -> Value:
    return x * now - k * before


def _laguerre(x: Value, k: Value, now: Value, before: Value) -> Value:
    return (((k + k) + (1.0 - x)) * now - k * before) / (k + 1.0)


def _legendre(x: Value, k: Value, now: Value, before: Value) -> Value:
    return ((k + k + 1.0) * x * now - k * before) / (k + 1.0)


def _recurred(step: Step, x: Value, degree: Value, first: Value, advance: Next, until_nan: bool) -> Value:
    """The polynomial of each element's degree, which begins with 1 and `first`; zero for negative ones."""
    dtype, shape = dtype_of(x), x.shape
    one = x.like(1.0)
    most = step.builder.reduce(
        degree,
        step.full(0, torch.int64),
        dimensions=list(range(len(shape))),
        body=step.builder.maximum,
    )

    def goes_on(number: Value, *_: Value) -> Value:
        return number < most

    def following(number: Value, now: Value, before: Value) -> tuple[Value, ...]:
        k = converted(number, dtype).broadcast(shape)
        goes = number.broadcast(shape) < degree
        if until_nan:
            goes = goes & ~now.is_nan()
        return number + 1, goes.select(advance(x, k, now, before), now), goes.select(now, before)

    found = step.builder.while_loop(goes_on, following, step.full(1, torch.int64), first, one)[1]
    found = degree.equals(0).select(one, found)
    return (degree < 0).select(x.like(0.0), found)


def _prepared(step: Step, x: Any, n: Any) -> tuple[Value, Value]:
    degree = step.working(n)
    if dtype_of(degree).is_floating_point:
        # Degrees that no integer holds give zero.
        degree = step.builder.is_finite(degree).select(degree, -1.0)
    return step.working(x), converted(degree, torch.int64)


def _names(name: str) -> str:
    full = f"aten.special_{name}"
    return f"{full} {full}.x_scalar {full}.n_scalar"


def _even(degree: Value) -> Value:
    return (degree & 1).equals(0)


def _at_ends(kind: str, x: Value, degree: Value) -> tuple[Value, Value]:
    """The values at 1 and at -1."""
    k = converted(degree, dtype_of(x))
    one = x.like(1.0)
    sign = _even(degree).select(one, -one)
    if kind == "t":
        return one, sign
    if kind == "u":
        return k + 1.0, sign * (k + 1.0)
    long = k + k + 1.0
    return (one, sign * long) if kind == "v" else (long, sign)


def _by_angle(step: Step, kind: str, x: Value, degree: Value, ends: tuple[Value, Value]) -> Value:
    """Between -1 and 1, from the angle whose cosine is x; where the divisor is zero, the value at the end."""
    angle, k = step.builder.acos(x), converted(degree, dtype_of(x))
    if kind == "t":
        return (k * angle).cosine()
    if kind == "u":
        divisor = angle.sine()
        fallback = (x > 0.0).select(*ends)
        return divisor.compare("NE", 0.0).select(((k + 1.0) * angle).sine() / divisor, fallback)
    half = angle / 2.0
    if kind == "v":
        return half.sine().compare("NE", 1.0).select(((k + 0.5) * angle).cosine() / half.cosine(), ends[1])
    return half.cosine().compare("NE", 1.0).select(((k + 0.5) * angle).sine() / half.sine(), ends[0])


_DEGREES_BY_ANGLE = {"t": 6, "u": 8, "v": 8, "w": 8}
_FIRST: dict[str, Callable[[Value], Value]] = {
    "t": lambda x: x,
    "u": lambda x: x + x,
    "v": lambda x: x + x - 1.0,
    "w": lambda x: x + x + 1.0,
}


def _register_chebyshev(kind: str, shifted: bool) -> None:
    prefix = "shifted_" if shifted else ""

    @lowers(_names(f"{prefix}chebyshev_polynomial_{kind}"))
    def rule(step: Step, x: Any, n: Any) -> Value:
        given, degree = _prepared(step, x, n)
        if not count(given.shape):
            return given
        value = given + given - 1.0 if shifted else given
        ends = _at_ends(kind, value, degree)
        found = _recurred(step, value, degree, _FIRST[kind](value), _chebyshev, True)
        inner = (degree > _DEGREES_BY_ANGLE[kind]) & (abs(value) < 1.0)
        found = inner.select(_by_angle(step, kind, value, degree, ends), found)
        found = value.equals(1.0).select(ends[0], value.equals(-1.0).select(ends[1], found))
        return (degree < 0).select(value.like(0.0), found)

    del rule


for _kind in "tuvw":
    _register_chebyshev(_kind, False)
    _register_chebyshev(_kind, True)


def _register(name: str, first: Callable[[Value], Value], advance: Next) -> None:
    hermite = name.startswith("hermite")

    @lowers(_names(name))
    def rule(step: Step, x: Any, n: Any) -> Value:
        value, degree = _prepared(step, x, n)
        if not count(value.shape):
            return value
        if hermite:
            # Higher degrees are NaN in torch.
            limit = 512 if dtype_of(value) == torch.float64 else 128
            found = _recurred(step, value, degree.minimum(limit), first(value), advance, False)
            return (degree > limit).select(value.like(math.nan), found)
        found = _recurred(step, value, degree, first(value), advance, True)
        if name.startswith("legendre"):
            sign = _even(degree).select(value.like(1.0), value.like(-1.0))
            at_ends = value.equals(1.0).select(value.like(1.0), sign)
            found = abs(value).equals(1.0).select(at_ends, found)
        return (degree < 0).select(value.like(0.0), found)

    del rule


_register("hermite_polynomial_h", lambda x: x + x, _hermite)
_register("hermite_polynomial_he", lambda x: x, _hermite_of_probability)
_register("laguerre_polynomial_l", lambda x: 1.0 - x, _laguerre)
_register("legendre_polynomial_p", lambda x: x, _legendre)
