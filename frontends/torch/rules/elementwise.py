"""Functions of one element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...builder.builder import Value
from ..api import torch
from ..dtypes import Unlowered, converted, dtype_of, element_of_dtype, parts, working_dtype
from ..registry import lowers
from ..step import Step

Function = Callable[[Step, Value], Value]


def unary(names: str, function: Function) -> None:
    """Register a function of values of the dtype that the result is computed in."""

    def rule(step: Step, x: Any, **_: Any) -> Value:
        return function(step, step.working(x))

    lowers(" ".join(f"aten.{name} prims.{name}" for name in names.split()))(rule)


def _aten(names: str, function: Function) -> None:
    def rule(step: Step, x: Any, **_: Any) -> Value:
        return function(step, step.working(x))

    lowers(" ".join(f"aten.{name}" for name in names.split()))(rule)


def direct(names: str, function: Function) -> None:
    """Register a function of the operand as it is; a number, as in gradients of products with one, is a tensor."""

    def rule(step: Step, x: Any, **_: Any) -> Value:
        return function(step, x if isinstance(x, Value) else step.full(x, step.dtype))

    lowers(names)(rule)


def _method(name: str) -> Function:
    return lambda step, x: getattr(step.builder, name)(x)


def _log_of_base(base: int) -> Function:
    def rule(step: Step, x: Value) -> Value:
        found, dtype = step.builder.log(x), dtype_of(x)
        if not dtype.is_complex:
            return found * step.full(1 / math.log(base), dtype, x.shape)
        # Part by part: a product of complex numbers makes NaN of an infinite part.
        factor = step.full(1 / math.log(base), dtype.to_real(), x.shape)
        return step.builder.complex(step.builder.real(found) * factor, step.builder.imag(found) * factor)

    return rule


for _names, _method_name in {
    "acos": "acos", "acosh": "acosh", "asin": "asin", "asinh": "asinh", "atan": "atan", "atanh": "atanh",
    "cosh": "cosh", "sinh": "sinh", "tan": "tan", "cos": "cosine", "sin": "sine", "tanh": "tanh",
    "exp": "exponential", "expm1": "exponential_minus_one", "log": "log", "log1p": "log_plus_one",
    "sqrt": "sqrt", "erf": "erf", "erfc": "erfc", "lgamma": "lgamma",
    "neg": "negate",
}.items():  # fmt: skip
    unary(_names, _method(_method_name))

unary("digamma", lambda step, x: x.equals(0.0).select(x.like(math.inf).copysign(-x), step.builder.digamma(x)))
unary("exp2", lambda step, x: step.builder.power(step.full(2.0, dtype_of(x), x.shape), x))
unary("log2", _log_of_base(2))
unary("log10", _log_of_base(10))
unary("reciprocal", lambda step, x: step.full(1, dtype_of(x), x.shape) / x)
direct("prims.cbrt", lambda step, x: step.working(x).cbrt())
direct("prims.erf_inv aten.erfinv", lambda step, x: step.builder.erf_inv(step.working(x)))
_aten("sigmoid", lambda step, x: step.builder.logistic(x))


@lowers("aten.rsqrt prims.rsqrt")
def rsqrt(step: Step, x: Value) -> Value:
    value = step.working(x)
    return step.full(1, dtype_of(value), value.shape) / value.sqrt()


def _is_real(x: Value) -> bool:
    dtype = dtype_of(x)
    return dtype.is_floating_point or dtype.is_complex


def _rounding(names: str, method: str) -> None:
    """Integers are round."""
    unary(names, lambda step, x: getattr(step.builder, method)(x) if _is_real(x) else x)


_rounding("ceil", "ceil")
_rounding("floor", "floor")
_rounding("round", "round_nearest_even")


def truncated(step: Step, x: Value) -> Value:
    """Rounded towards zero."""
    return (x < 0).select(step.builder.ceil(x), x.floor()) if _is_real(x) else x


unary("trunc", truncated)


@lowers("aten.abs prims.abs")
def absolute(step: Step, x: Value) -> Value:
    dtype = dtype_of(x)
    if dtype.is_complex:
        return step.builder.abs(x)
    return abs(step.working(x)) if dtype.is_signed else x


def _sign(step: Step, x: Value) -> Value:
    dtype = dtype_of(x)
    if dtype == torch.bool:
        return x
    if dtype.is_complex:
        return step.builder.sign(x)
    if not dtype.is_signed:
        return converted(x.compare("NE", 0), dtype)
    sign = step.builder.sign(x)
    return x.is_nan().select(0.0, sign) if dtype.is_floating_point else sign


unary("sign", _sign)
_aten("sgn", _sign)


@lowers("aten.isnan")
def is_nan(step: Step, x: Value) -> Value:
    if not _is_real(x):
        return step.full(False, torch.bool, x.shape)
    if dtype_of(x).is_complex:
        real, imaginary = parts(x)
        return real.is_nan() | imaginary.is_nan()
    return x.is_nan()


@lowers("aten.isinf")
def is_infinite(step: Step, x: Value) -> Value:
    if not _is_real(x):
        return step.full(False, torch.bool, x.shape)
    if dtype_of(x).is_complex:
        real, imaginary = parts(x)
        return real.is_infinite() | imaginary.is_infinite()
    return x.is_infinite()


@lowers("prims.isfinite")
def is_finite(step: Step, x: Value) -> Value:
    if not _is_real(x):
        return step.full(True, torch.bool, x.shape)
    if dtype_of(x).is_complex:
        real, imaginary = parts(x)
        return step.builder.is_finite(real) & step.builder.is_finite(imaginary)
    return step.builder.is_finite(x)


@lowers("prims.signbit aten.signbit")
def sign_bit(step: Step, x: Value) -> Value:
    dtype = dtype_of(x)
    if dtype == torch.bool or not dtype.is_signed:
        return step.full(False, torch.bool, x.shape)
    if not dtype.is_floating_point:
        return x < 0
    integer = {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    return x.bits_as(element_of_dtype(integer)) < 0


direct("aten.logical_not", lambda step, x: ~converted(x, torch.bool))
direct("aten.bitwise_not prims.bitwise_not", lambda step, x: ~x)
direct(
    "aten.conj_physical prims.conj_physical aten._conj_physical aten._conj aten._conj_copy",
    lambda step, x: step.builder.conj(x) if dtype_of(x).is_complex else x,
)
direct("aten._neg_view aten._neg_view_copy", lambda step, x: -x)
direct("aten.real prims.real", lambda step, x: parts(x).re if dtype_of(x).is_complex else x)
direct("aten.imag prims.imag", lambda step, x: parts(x).im)


@lowers("aten.relu")
def relu(step: Step, x: Value) -> Value:
    return x.maximum(0 if not dtype_of(x).is_floating_point else 0.0)


@lowers("aten.angle")
def angle(step: Step, x: Value) -> Value:
    if dtype_of(x).is_complex:
        real, imaginary = parts(x)
        return imaginary.atan2(real)
    value = step.working(x)
    chosen = (value < 0).select(step.full(math.pi, dtype_of(value), value.shape), value.like(0.0))
    return value.is_nan().select(value, chosen)


@lowers("aten.complex prims.complex")
def complex_(step: Step, real: Any, imaginary: Any) -> Value:
    part = torch.float32 if step.dtype == torch.complex64 else torch.float64
    both = [step.value(one, part, step.shape) for one in (real, imaginary)]
    return step.builder.complex(*both)


@lowers("aten.view_as_real aten.view_as_real_copy")
def view_as_real(step: Step, x: Value) -> Value:
    pair = [one.reshape((*x.shape, 1)) for one in parts(x)]
    return step.builder.concatenate(pair, dimension=len(x.shape))


@lowers("aten.view_as_complex aten.view_as_complex_copy")
def view_as_complex(step: Step, x: Value) -> Value:
    last = len(x.shape) - 1
    return step.builder.complex(x.take(last, 0), x.take(last, 1))


@lowers("prims.frexp aten.frexp.Tensor")
def frexp(step: Step, x: Value) -> tuple[Value, Value]:
    """The mantissa in [1/2, 1) and the exponent, from the bits; subnormal numbers are scaled first."""
    dtype = dtype_of(x)
    if dtype == torch.float64:
        integer, width, bias = torch.int64, 52, 1022
    else:
        integer, width, bias = torch.int32, 23, 126
    value = converted(x, working_dtype(dtype))
    size = abs(value)
    tiny = size < step.full(2.0 ** (1 - bias), dtype_of(value), value.shape)
    scaled = tiny.select(value * step.full(2.0**width, dtype_of(value), value.shape), value)
    element, mask = element_of_dtype(integer), (1 << (bias.bit_length() + 1)) - 1
    bits = scaled.bits_as(element)
    exponent = ((bits >> width) & mask) - bias
    exponent = tiny.select(exponent - width, exponent)
    mantissa = ((bits & ~(mask << width)) | (bias << width)).bits_as(value.element)
    plain = step.builder.is_finite(value) & value.compare("NE", 0.0)
    return plain.select(mantissa, value), converted(plain.select(exponent, 0), torch.int32)


@lowers("aten.polygamma")
def polygamma(step: Step, order: int, x: Value) -> Value:
    value = step.working(x)
    if order == 0:
        return value.equals(0.0).select(value.like(math.inf).copysign(-value), step.builder.digamma(value))
    found = step.builder.polygamma(step.full(order, dtype_of(value), value.shape), value)
    at_poles = (value <= 0.0) & value.compare("EQ", value.floor())
    return at_poles.select(math.inf if order % 2 else -math.inf, found)


@lowers("aten._local_scalar_dense prims.item")
def item(step: Step, x: Value) -> Value:
    raise Unlowered("a number in Python is read from a tensor")
