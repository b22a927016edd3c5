"""Powers whose exponent is a number of the program: as near as those of any exponent, in a small part of the time."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..builder.builder import Builder, Value


def _root(b: Builder, x: Value) -> Value:
    """The square root, but 0 at -0 and infinite at -infinity, as powers are."""
    return b.sqrt(x.compare("EQ", -math.inf).select(math.inf, x + 0.0))


def _square(x: Value) -> Value:
    return x * x


SIMPLE_POWERS: dict[float, Callable[[Builder, Value, Value], Value]] = {
    -2: lambda b, x, y: _square(1.0 / x),
    -1: lambda b, x, y: 1.0 / x,
    -0.5: lambda b, x, y: 1.0 / _root(b, x),
    0.5: lambda b, x, y: b.sqrt(x),  # NumPy's own, at -0 and -infinity too
    1.5: lambda b, x, y: abs(x) * _root(b, x),
    2: lambda b, x, y: x * x,
    3: lambda b, x, y: x * x * x,
    4: lambda b, x, y: _square(x * x),
}
"""By the exponent, for floats of 32 and 64 bits; within 2 ulp."""
