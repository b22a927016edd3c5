"""The operations of NumPy's universal functions, on operands of the dtypes of one of their loops."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...hlo_dialect.types import numpy_dtype
from ..builder.builder import Builder, Value
from .errors import TraceError

Formula = Callable[..., Any]
"""From a builder and the operands, of the loop's dtypes and of one shape, to the result, or results."""

UFUNCS: dict[np.ufunc, Formula] = {}


def compiles(*ufuncs: np.ufunc) -> Callable[[Formula], Formula]:
    def register(formula: Formula) -> Formula:
        for ufunc in ufuncs:
            UFUNCS[ufunc] = formula
        return formula

    return register


def _operation(name: str) -> Formula:
    return lambda b, *operands: b.operation(name, *operands)


def _comparison(direction: str) -> Formula:
    def formula(b: Builder, x: Value, y: Value) -> Value:
        if is_complex(x) and direction not in ("EQ", "NE"):
            raise TraceError("complex numbers are not ordered", "compare their real parts or absolute values")
        return x.compare(direction, y) if x.element == y.element else _comparison_of_signs(b, direction, x, y)

    return formula


def _comparison_of_signs(b: Builder, direction: str, x: Value, y: Value) -> Value:
    """Compare a signed with an unsigned integer, one of 64 bits: negative ones are less."""
    signed, unsigned = (x, y) if _kind(x) == "i" else (y, x)
    others = x.convert(unsigned.element).compare(direction, y.convert(unsigned.element))
    if direction in (("NE", "LT", "LE") if signed is x else ("NE", "GT", "GE")):
        return b.or_(signed < 0, others)
    return b.and_(signed >= 0, others)


for _ufuncs, _name in (
    ((np.add,), "add"),
    ((np.subtract,), "subtract"),
    ((np.multiply,), "multiply"),
    ((np.divide,), "divide"),
    ((np.maximum,), "maximum"),
    ((np.minimum,), "minimum"),
    ((np.power, np.float_power), "power"),
    ((np.negative,), "negate"),
    ((np.exp,), "exponential"),
    ((np.expm1,), "exponential_minus_one"),
    ((np.log,), "log"),
    ((np.log1p,), "log_plus_one"),
    ((np.sqrt,), "sqrt"),
    ((np.cbrt,), "cbrt"),
    ((np.sin,), "sine"),
    ((np.cos,), "cosine"),
    ((np.tan,), "tan"),
    ((np.tanh,), "tanh"),
    ((np.sinh,), "chlo.sinh"),
    ((np.cosh,), "chlo.cosh"),
    ((np.arcsin,), "chlo.asin"),
    ((np.arccos,), "chlo.acos"),
    ((np.arctan,), "chlo.atan"),
    ((np.arcsinh,), "chlo.asinh"),
    ((np.arccosh,), "chlo.acosh"),
    ((np.arctanh,), "chlo.atanh"),
    ((np.arctan2,), "atan2"),
    ((np.nextafter,), "chlo.next_after"),
    ((np.bitwise_and, np.logical_and), "and"),
    ((np.bitwise_or, np.logical_or), "or"),
    ((np.bitwise_xor, np.logical_xor), "xor"),
    ((np.invert, np.logical_not), "not"),
    ((np.left_shift,), "shift_left"),
):
    compiles(*_ufuncs)(_operation(_name))

for _ufunc, _direction in (
    (np.equal, "EQ"),
    (np.not_equal, "NE"),
    (np.less, "LT"),
    (np.less_equal, "LE"),
    (np.greater, "GT"),
    (np.greater_equal, "GE"),
):
    compiles(_ufunc)(_comparison(_direction))

LOGICAL = (np.logical_and, np.logical_or, np.logical_xor, np.logical_not)


def dtype_of(x: Value) -> np.dtype[Any]:
    found = numpy_dtype(x.element)
    assert found is not None
    return found


def is_complex(x: Value) -> bool:
    return dtype_of(x).kind == "c"


def _kind(x: Value) -> str:
    return dtype_of(x).kind


@compiles(np.positive)
def _positive(b: Builder, x: Value) -> Value:
    return x


@compiles(np.absolute, np.fabs)
def _absolute(b: Builder, x: Value) -> Value:
    return x if _kind(x) in "bu" else abs(x) if not is_complex(x) else b.abs(x)


@compiles(np.bitwise_count)
def _bitwise_count(b: Builder, x: Value) -> Value:
    """The bits of the absolute value."""
    return b.popcnt(_absolute(b, x))


@compiles(np.square)
def _square(b: Builder, x: Value) -> Value:
    return x * x


@compiles(np.reciprocal)
def _reciprocal(b: Builder, x: Value) -> Value:
    return x.like(1) / x


@compiles(np.conjugate)
def _conjugate(b: Builder, x: Value) -> Value:
    return b.operation("chlo.conj", x) if is_complex(x) else x


@compiles(np.sign)
def _sign(b: Builder, x: Value) -> Value:
    if _kind(x) in "bu":
        return x.compare("NE", 0).select(x.like(1), x.like(0))
    # The sign of a negative zero is 0.
    return x.compare("EQ", 0).select(x.like(0), b.sign(x))


@compiles(np.exp2)
def _exp2(b: Builder, x: Value) -> Value:
    return x.like(2.0) ** x


@compiles(np.log2)
def _log2(b: Builder, x: Value) -> Value:
    return b.log(x) * (1 / math.log(2))


@compiles(np.log10)
def _log10(b: Builder, x: Value) -> Value:
    return b.log(x) * (1 / math.log(10))


@compiles(np.degrees, np.rad2deg)
def _degrees(b: Builder, x: Value) -> Value:
    return x * (180 / math.pi)


@compiles(np.radians, np.deg2rad)
def _radians(b: Builder, x: Value) -> Value:
    return x * (math.pi / 180)


def _rounding(name: str) -> Formula:
    """Integers are themselves; a complex number's parts are rounded."""

    def formula(b: Builder, x: Value) -> Value:
        if _kind(x) in "biu":
            return x
        return b.complex(formula(b, b.real(x)), formula(b, b.imag(x))) if is_complex(x) else b.operation(name, x)

    return formula


for _ufunc, _name in ((np.ceil, "ceil"), (np.floor, "floor"), (np.rint, "round_nearest_even")):
    compiles(_ufunc)(_rounding(_name))


@compiles(np.trunc)
def _trunc(b: Builder, x: Value) -> Value:
    return x if _kind(x) in "biu" else (x < 0.0).select(b.ceil(x), b.floor(x))


@compiles(np.isfinite)
def _isfinite(b: Builder, x: Value) -> Value:
    if is_complex(x):
        return b.and_(b.is_finite(b.real(x)), b.is_finite(b.imag(x)))
    return x.like(0).compare("EQ", 0) if _kind(x) in "biu" else b.is_finite(x)


@compiles(np.isnan)
def _isnan(b: Builder, x: Value) -> Value:
    return x.compare("NE", x)


@compiles(np.isinf)
def _isinf(b: Builder, x: Value) -> Value:
    if is_complex(x):
        return b.or_(_isinf(b, b.real(x)), _isinf(b, b.imag(x)))
    return x.like(0).compare("NE", 0) if _kind(x) in "biu" else x.is_infinite()


@compiles(np.signbit)
def _signbit(b: Builder, x: Value) -> Value:
    return b.bitcast_convert(x, result_type=f"i{8 * dtype_of(x).itemsize}").compare("LT", 0)


@compiles(np.copysign)
def _copysign(b: Builder, x: Value, y: Value) -> Value:
    return b.xor(_signbit(b, x), _signbit(b, y)).select(-x, x)


@compiles(np.fmax)
def _fmax(b: Builder, x: Value, y: Value) -> Value:
    return _isnan(b, x).select(y, _isnan(b, y).select(x, x.maximum(y)))


@compiles(np.fmin)
def _fmin(b: Builder, x: Value, y: Value) -> Value:
    return _isnan(b, x).select(y, _isnan(b, y).select(x, x.minimum(y)))


@compiles(np.hypot)
def _hypot(b: Builder, x: Value, y: Value) -> Value:
    """Scaled, so that no square overflows; infinite if either is, also with a NaN."""
    large, small = abs(x).maximum(abs(y)), abs(x).minimum(abs(y))
    ratio = small / large.compare("EQ", 0.0).select(large.like(1.0), large)
    infinite = b.or_(x.is_infinite(), y.is_infinite())
    return infinite.select(x.like(math.inf), large * b.sqrt(ratio * ratio + 1.0))


@compiles(np.logaddexp)
def _logaddexp(b: Builder, x: Value, y: Value) -> Value:
    """Equal infinities have no difference."""
    return x.compare("EQ", y).select(x + math.log(2), x.maximum(y) + b.log_plus_one(b.exponential(-abs(x - y))))


@compiles(np.logaddexp2)
def _logaddexp2(b: Builder, x: Value, y: Value) -> Value:
    log2 = math.log(2)
    return _logaddexp(b, x * log2, y * log2) / log2


@compiles(np.heaviside)
def _heaviside(b: Builder, x: Value, y: Value) -> Value:
    step = (x < 0.0).select(x.like(0.0), (x > 0.0).select(x.like(1.0), y))
    return _isnan(b, x).select(x, step)


@compiles(np.right_shift)
def _right_shift(b: Builder, x: Value, y: Value) -> Value:
    return b.shift_right_logical(x, y) if _kind(x) == "u" else b.shift_right_arithmetic(x, y)


@compiles(np.ldexp)
def _ldexp(b: Builder, x: Value, y: Value) -> Value:
    """
    In three steps, since 2 ** y alone may overflow; the smallest comes first, so that only the last rounds a result.
    """
    most = int(np.finfo(dtype_of(x)).maxexp) - 2
    exponent = b.clamp(y.like(1 - 3 * most), y, y.like(3 * most - 1))
    first = b.remainder(exponent, y.like(most))
    rest = exponent - first
    second = b.clamp(y.like(-most), rest, y.like(most))
    for part in (first, second, rest - second):
        x = x * x.like(2.0) ** part.convert(x.element)
    return x


@compiles(np.fmod)
def _fmod(b: Builder, x: Value, y: Value) -> Value:
    if _kind(x) in "iu":
        zero = y.compare("EQ", 0)
        return zero.select(x.like(0), b.remainder(x, zero.select(y.like(1), y)))
    return b.remainder(x, y)


@compiles(np.divmod)
def _divmod(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    return (_divmod_of_integers if _kind(x) in "iu" else _divmod_of_floats)(b, x, y)


def _divmod_of_integers(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """Rounded down; both are 0 where the divisor is."""
    zero = y.compare("EQ", 0)
    divisor = zero.select(y.like(1), y)
    quotient, rest = b.divide(x, divisor), b.remainder(x, divisor)
    if _kind(x) == "i":
        below = b.and_(rest.compare("NE", 0), b.xor(rest < 0, divisor < 0))
        quotient, rest = below.select(quotient - 1, quotient), below.select(rest + divisor, rest)
    return zero.select(x.like(0), quotient), zero.select(x.like(0), rest)


def _divmod_of_floats(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """As npy_divmod computes them: the quotient from the exact remainder."""
    rest = b.remainder(x, y)
    quotient = (x - rest) / y
    other_sign = b.and_(rest.compare("NE", 0.0), b.xor(rest < 0.0, y < 0.0))
    rest, quotient = other_sign.select(rest + y, rest), other_sign.select(quotient - 1.0, quotient)
    rest = rest.compare("EQ", 0.0).select(_copysign(b, rest.like(0.0), y), rest)
    whole = b.floor(quotient)
    whole = (quotient - whole > 0.5).select(whole + 1.0, whole)
    whole = quotient.compare("EQ", 0.0).select(_copysign(b, x.like(0.0), x / y), whole)
    return y.compare("EQ", 0.0).select(x / y, whole), rest


@compiles(np.floor_divide)
def _floor_divide(b: Builder, x: Value, y: Value) -> Value:
    return _divmod(b, x, y)[0]


@compiles(np.remainder)
def _remainder(b: Builder, x: Value, y: Value) -> Value:
    return _divmod(b, x, y)[1]


@compiles(np.modf)
def _modf(b: Builder, x: Value) -> tuple[Value, Value]:
    whole = _trunc(b, x)
    part = x.is_infinite().select(x.like(0.0), x - whole)
    return _copysign(b, part, x), whole


@compiles(np.gcd)
def _gcd(b: Builder, x: Value, y: Value) -> Value:
    return _gcd_of_sizes(b, *_sizes(b, x, y)).convert(x.element)


@compiles(np.lcm)
def _lcm(b: Builder, x: Value, y: Value) -> Value:
    first, second = _sizes(b, x, y)
    divisor = _gcd_of_sizes(b, first, second)
    safe = divisor.compare("EQ", 0).select(divisor.like(1), divisor)
    return (b.divide(first, safe) * second).convert(x.element)


def _sizes(b: Builder, *operands: Value) -> list[Value]:
    """The absolute values, which only unsigned integers hold all of."""
    return [x if _kind(x) == "u" else b.convert(abs(x), result_type=f"ui{8 * dtype_of(x).itemsize}") for x in operands]


def _gcd_of_sizes(b: Builder, x: Value, y: Value) -> Value:
    """Euclid's algorithm, for all elements until the last is done."""

    def goes_on(first: Value, second: Value) -> Value:
        rest = second.compare("NE", 0)
        return b.reduce(rest, False, dimensions=list(range(len(rest.shape))), body=b.or_)

    def step(first: Value, second: Value) -> tuple[Value, Value]:
        done = second.compare("EQ", 0)
        rest = b.remainder(first, done.select(second.like(1), second))
        return done.select(first, second), done.select(second.like(0), rest)

    found, _ = b.while_loop(goes_on, step, x, y)
    return found


def _root(b: Builder, x: Value) -> Value:
    """The square root, but 0 at -0 and infinite at -infinity, as powers are."""
    return b.sqrt(x.compare("EQ", -math.inf).select(math.inf, x + 0.0))


SIMPLE_POWERS: dict[float, Callable[[Builder, Value, Value], Value]] = {
    -2: lambda b, x, y: _square(b, 1.0 / x),
    -1: lambda b, x, y: 1.0 / x,
    -0.5: lambda b, x, y: 1.0 / _root(b, x),
    0.5: lambda b, x, y: b.sqrt(x),  # NumPy's own, at -0 and -infinity too
    1.5: lambda b, x, y: abs(x) * _root(b, x),
    2: lambda b, x, y: x * x,
    3: lambda b, x, y: x * x * x,
    4: lambda b, x, y: _square(b, x * x),
}
"""Powers whose exponent is a number of the program, by it, for floats of 32 and 64 bits: within 2 ulp, in a small part
of the time of any exponent."""
