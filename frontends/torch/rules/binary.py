"""Functions of two elements, comparisons and choices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...builder.builder import Value
from ..api import torch
from ..dtypes import Unlowered, converted, dtype_of
from ..registry import lowers
from ..step import Step
from .elementwise import truncated

Function = Callable[[Step, Value, Value], Value]


def _names(aten: str, prims: str = "") -> str:
    return " ".join([*(f"aten.{name}" for name in aten.split()), *(f"prims.{name}" for name in prims.split())])


def binary(names: str, function: Function) -> None:
    """Register a function of two values of the dtype that the result is computed in."""

    def rule(step: Step, x: Any, y: Any) -> Value:
        return function(step, step.working(x), step.working(y))

    lowers(names)(rule)


def _scaled(step: Step, x: Value, factor: Any) -> Value:
    return x if factor == 1 else x * step.full(factor, dtype_of(x), x.shape)


@lowers(_names("add.Tensor add.Scalar", "add"))
def add(step: Step, x: Any, y: Any, alpha: Any = 1) -> Value:
    return step.working(x) + _scaled(step, step.working(y), alpha)


@lowers(_names("sub.Tensor sub.Scalar", "sub"))
def subtract(step: Step, x: Any, y: Any, alpha: Any = 1) -> Value:
    return step.working(x) - _scaled(step, step.working(y), alpha)


@lowers(_names("rsub.Tensor rsub.Scalar"))
def subtract_from(step: Step, x: Any, y: Any, alpha: Any = 1) -> Value:
    return step.working(y) - _scaled(step, step.working(x), alpha)


binary(_names("mul.Tensor mul.Scalar", "mul"), lambda step, x, y: x * y)
binary(_names("atan2", "atan2"), lambda step, x, y: x.atan2(y))
binary(_names("maximum", "maximum"), lambda step, x, y: x.maximum(y))
binary(_names("minimum", "minimum"), lambda step, x, y: x.minimum(y))
binary("aten.bitwise_and.Tensor aten.bitwise_and.Scalar prims.bitwise_and", lambda step, x, y: x & y)
binary("aten.bitwise_or.Tensor aten.bitwise_or.Scalar prims.bitwise_or", lambda step, x, y: x | y)
binary("aten.bitwise_xor.Tensor aten.bitwise_xor.Scalar prims.bitwise_xor", lambda step, x, y: x ^ y)
binary("prims.hypot", lambda step, x, y: _hypot(step, x, y))


def _hypot(step: Step, x: Value, y: Value) -> Value:
    return step.builder.abs(step.builder.complex(x, y))


def _is_float(x: Value) -> bool:
    return dtype_of(x).is_floating_point


def guarded(x: Value) -> Value:
    """A divisor of integers without zeros: torch's result there is an error or undefined."""
    return x if _is_float(x) or dtype_of(x).is_complex else x.compare("EQ", 0).select(1, x)


@lowers("aten.div.Tensor aten.div.Scalar aten.true_divide.Tensor")
def divide(step: Step, x: Any, y: Any) -> Value:
    return step.working(x) / step.working(y)


@lowers("prims.div")
def divide_as_c(step: Step, x: Any, y: Any) -> Value:
    return step.working(x) / guarded(step.working(y))


@lowers("aten.div.Tensor_mode aten.div.Scalar_mode")
def divide_rounded(step: Step, x: Any, y: Any, *, rounding_mode: str | None = None) -> Value:
    left, right = step.working(x), step.working(y)
    if rounding_mode is None:
        return left / right
    if rounding_mode == "trunc":
        return truncated(step, left / guarded(right))
    return floor_divided(left, right)


@lowers("aten.floor_divide aten.floor_divide.Scalar")
def floor_divide(step: Step, x: Any, y: Any) -> Value:
    return floor_divided(step.working(x), step.working(y))


def floor_divided(x: Value, y: Value) -> Value:
    """The quotient rounded down, as c10::div_floor_floating computes it."""
    if not _is_float(x):
        quotient = x / guarded(y)
        if not dtype_of(x).is_signed:
            return quotient
        remainder = x - quotient * y
        wrong = remainder.compare("NE", 0) & ((remainder < 0) ^ (y < 0))
        return wrong.select(quotient - 1, quotient)
    modulus = x % y
    quotient = (x - modulus) / y
    wrong = modulus.compare("NE", 0.0) & ((y < 0.0) ^ (modulus < 0.0))
    quotient = wrong.select(quotient - 1.0, quotient)
    down = quotient.floor()
    down = (quotient - down > 0.5).select(down + 1.0, down)
    down = quotient.equals(0.0).select((x / y).like(0.0).copysign(x / y), down)
    return y.equals(0.0).select(x / y, down)


@lowers(_names("fmod.Tensor fmod.Scalar", "fmod"))
def remainder_as_c(step: Step, x: Any, y: Any) -> Value:
    return step.working(x) % guarded(step.working(y))


@lowers(_names("remainder.Tensor remainder.Scalar remainder.Scalar_Tensor", "remainder"))
def remainder(step: Step, x: Any, y: Any) -> Value:
    """The remainder with the sign of the divisor."""
    left, right = step.working(x), guarded(step.working(y))
    found = left % right
    if not dtype_of(left).is_signed:
        return found
    zero = 0.0 if _is_float(left) else 0
    wrong = found.compare("NE", zero) & ((found < zero) ^ (right < zero))
    return wrong.select(found + right, found)


@lowers("aten.pow.Tensor_Tensor aten.pow.Tensor_Scalar aten.pow.Scalar prims.pow")
def power(step: Step, x: Any, y: Any) -> Value:
    base = step.working(x)
    dtype = dtype_of(base)
    if isinstance(y, bool | int | float) and not dtype.is_complex:
        if y == 1:
            return base
        if y == 2:
            return base * base
        if y == 3:
            return base * base * base
        if dtype.is_floating_point and y == 0.5:
            return base.sqrt()
        if dtype.is_floating_point and y == -1:
            return step.full(1, dtype, base.shape) / base
        if dtype.is_floating_point and y == -2:
            return step.full(1, dtype, base.shape) / (base * base)
        if dtype.is_floating_point and y == -0.5:
            return step.full(1, dtype, base.shape) / base.sqrt()
    exponent = step.working(y)
    if dtype == torch.bool:
        return base | ~exponent
    if not dtype.is_floating_point and not dtype.is_complex:
        return _integer_power(base, exponent)
    return step.builder.power(base, exponent)


def _integer_power(base: Value, exponent: Value) -> Value:
    """A negative power of 1 and -1 is theirs, of others 0."""
    if not dtype_of(base).is_signed:
        return base**exponent
    odd = (exponent & 1).compare("NE", 0)
    unit = base.equals(-1).select(odd.select(base.like(-1), base.like(1)), base.equals(1).select(base, base.like(0)))
    return (exponent < 0).select(unit, base ** exponent.maximum(0))


@lowers("aten.fmax prims.fmax")
def fmax(step: Step, x: Any, y: Any) -> Value:
    left, right = step.working(x), step.working(y)
    if not _is_float(left):
        return left.maximum(right)
    return left.is_nan().select(right, right.is_nan().select(left, left.maximum(right)))


@lowers("aten.fmin prims.fmin")
def fmin(step: Step, x: Any, y: Any) -> Value:
    left, right = step.working(x), step.working(y)
    if not _is_float(left):
        return left.minimum(right)
    return left.is_nan().select(right, right.is_nan().select(left, left.minimum(right)))


@lowers("aten.nextafter prims.nextafter")
def next_after(step: Step, x: Any, y: Any) -> Value:
    """In the dtype itself: the neighbour in f32 is another one."""
    return step.builder.next_after(step.value(x, step.dtype, step.shape), step.value(y, step.dtype, step.shape))


@lowers("aten.copysign.Tensor aten.copysign.Scalar")
def copy_sign(step: Step, x: Any, y: Any) -> Value:
    return step.working(x).copysign(step.working(y))


# Shifts.


_SHIFT_LEFT = "aten.__lshift__.Scalar aten.__lshift__.Tensor aten.bitwise_left_shift.Tensor"
_SHIFT_RIGHT = "aten.__rshift__.Scalar aten.__rshift__.Tensor aten.bitwise_right_shift.Tensor"


@lowers(f"{_SHIFT_LEFT} aten.bitwise_left_shift.Tensor_Scalar aten.bitwise_left_shift.Scalar_Tensor prims.shift_left")
def shift_left(step: Step, x: Any, y: Any) -> Value:
    if step.dtype.is_floating_point:
        raise Unlowered("floats are shifted")
    left, right = step.working(x), step.working(y)
    return _negative(right, (left << right), left.like(0))


@lowers(
    f"{_SHIFT_RIGHT} aten.bitwise_right_shift.Tensor_Scalar aten.bitwise_right_shift.Scalar_Tensor "
    "prims.shift_right_arithmetic"
)
def shift_right(step: Step, x: Any, y: Any) -> Value:
    if step.dtype.is_floating_point:
        raise Unlowered("floats are shifted")
    left, right = step.working(x), step.working(y)
    if not dtype_of(left).is_signed:
        return left >> right
    most = dtype_of(left).itemsize * 8 - 1
    return _negative(right, left.shift_right_arithmetic(right.minimum(most)), left.shift_right_arithmetic(most))


def _negative(amount: Value, plain: Value, other: Value) -> Value:
    return (amount < 0).select(other, plain) if dtype_of(amount).is_signed else plain


# Comparisons.


def _compared(direction: str, *, ordered: bool = True) -> Callable[..., Value]:
    def rule(step: Step, x: Any, y: Any) -> Value:
        dtype = step.promoted()
        left, right = (step.value(one, dtype, step.shape) for one in (x, y))
        if dtype == torch.bool and ordered:
            left, right = converted(left, torch.uint8), converted(right, torch.uint8)
        return left.compare(direction, right)

    return rule


for _name, _direction in {"eq": "EQ", "ne": "NE", "lt": "LT", "le": "LE", "gt": "GT", "ge": "GE"}.items():
    lowers(f"aten.{_name}.Tensor aten.{_name}.Scalar prims.{_name}")(
        _compared(_direction, ordered=_name not in ("eq", "ne"))
    )


def _logical(name: str, function: Callable[[Value, Value], Value]) -> None:
    def rule(step: Step, x: Value, y: Value) -> Value:
        return function(step.value(x, torch.bool, step.shape), step.value(y, torch.bool, step.shape))

    lowers(f"aten.logical_{name}")(rule)


_logical("and", lambda x, y: x & y)
_logical("or", lambda x, y: x | y)
_logical("xor", lambda x, y: x ^ y)


# Choices.


@lowers("aten.where.self prims.where")
def where(step: Step, mask: Value, x: Any, y: Any) -> Value:
    chosen = step.value(mask, torch.bool, step.shape)
    return chosen.select(step.value(x, step.dtype, step.shape), step.value(y, step.dtype, step.shape))


@lowers("aten.clamp aten.clamp.Tensor")
def clamp(step: Step, x: Value, low: Any = None, high: Any = None) -> Value:
    value = step.working(x)
    if low is not None:
        value = value.maximum(step.working(low))
    return value if high is None else value.minimum(step.working(high))


@lowers("aten.gcd prims.gcd")
def gcd(step: Step, x: Any, y: Any) -> Value:
    """Euclid's algorithm, on all elements until the last one is done."""
    left, right = step.working(x), step.working(y)
    if dtype_of(left).is_signed:
        left, right = abs(left), abs(right)
    b = step.builder

    def goes_on(x: Value, y: Value) -> Value:
        every = list(range(len(y.shape)))
        return b.reduce(y.compare("NE", 0), b.constant(False, "i1"), dimensions=every, body=b.or_)

    def body(x: Value, y: Value) -> list[Value]:
        done = y.equals(0)
        return [done.select(x, y), done.select(y, x % guarded(y))]

    return b.while_loop(goes_on, body, left, right)[0]


@lowers("aten.polar")
def polar(step: Step, size: Value, angle: Value) -> Value:
    part = torch.float32 if step.dtype == torch.complex64 else torch.float64
    radius, turn = step.value(size, part, step.shape), step.value(angle, part, step.shape)
    return step.builder.complex(radius * turn.cosine(), radius * turn.sine())


@lowers("prims.fma")
def multiply_add(step: Step, x: Any, y: Any, z: Any) -> Value:
    return step.working(x) * step.working(y) + step.working(z)


@lowers("prims.zeta aten.special_zeta")
def zeta(step: Step, x: Any, q: Any) -> Value:
    """As Cephes: infinite at the poles, NaN where it is not real."""
    power, start = step.working(x), step.working(q)
    below = start <= 0.0
    real = power.compare("EQ", power.floor())
    at_poles = below & start.compare("EQ", start.floor())
    found = (below & ~real).select(math.nan, step.builder.zeta(power, start))
    return power.equals(1.0).select(math.inf, (power < 1.0).select(math.nan, at_poles.select(math.inf, found)))
