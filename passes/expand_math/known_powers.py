"""Powers whose exponent is a known multiple of one half: products, roots and quotients."""

from __future__ import annotations

import math
from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import Float32Type, Float64Type, FloatAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.support.scalar import Scalar, in_double, to_single

LARGEST = 16.0
"""The largest exponent, by its size: f64 holds the products of f32 numbers with bits to spare."""


def exponent_of(op: Operation) -> float | None:
    """The exponent of a power that `power_by` has a function for."""
    if type(op) is not math_dialect.PowFOp:
        return None
    exponent = _constant(op.operands[1])
    if exponent is None or not 0 < abs(exponent) <= LARGEST or 2 * exponent != int(2 * exponent):
        return None
    element = op.results[0].type
    if isinstance(element, Float32Type):
        return exponent
    return exponent if isinstance(element, Float64Type) and exponent in _OF_DOUBLES else None


def _constant(value: SSAValue) -> float | None:
    """The number that a value is known to be; what widens it keeps it."""
    owner = value.owner
    if isinstance(owner, arith.ExtFOp):
        return _constant(owner.operands[0])
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, FloatAttr):
        return owner.value.value.data
    return None


def name_of(exponent: float, element: Attribute) -> str:
    sign = "minus_" * (exponent < 0)
    return f"powf_{sign}{int(abs(2 * exponent))}_halves_{element}"


def power_by(exponent: float) -> Callable[..., Scalar]:
    """
    The function x ** exponent of x and the exponent, with the special cases of IEEE 754 pow.

    In f32 it computes in f64, where at most 20 roundings leave an error of 0.501 ulp; products that overflow or
    underflow there belong to results that do so in f32. In f64 the error is at most 2 ulp: up to two roundings, or more
    of which the remainders are added again.
    """

    def power(x: Scalar, _: Scalar) -> Scalar:
        if exponent != math.trunc(exponent):
            # -inf has powers as inf has; other negative numbers have none, and -0 gives the zero or the infinity of 0.
            x = x.compare("eq", -math.inf).select(math.inf, x)
        if isinstance(x.type, Float64Type):
            result = _OF_DOUBLES[exponent](x)
        elif exponent in _ROUNDED_ONCE:
            result = _ROUNDED_ONCE[exponent](x)
        else:
            result = to_single(_by_products(in_double(x), exponent))
        return result if exponent == math.trunc(exponent) else result.abs()

    return power


def _by_products(x: Scalar, exponent: float) -> Scalar:
    """By squares, and the root for a half."""
    whole = int(abs(exponent))
    power = x.sqrt() if whole != abs(exponent) else None
    square = x
    while whole:
        if whole & 1:
            power = square if power is None else power * square
        whole >>= 1
        square = square * square if whole else square
    assert power is not None
    return power if exponent > 0 else 1.0 / power


def _with_remainder(power: Scalar, remainder: Scalar, product: Scalar) -> Scalar:
    """
    The sum, where the product whose remainder was taken is neither zero nor infinite, nor nearly so: there the
    remainder may be NaN or lack digits.
    """
    size = product.abs()
    usual = size.compare("gt", 1e-290) & size.compare("lt", 1e290)
    return usual.select(power + remainder, power)


def _fourth(x: Scalar) -> Scalar:
    square = x * x
    power = square * square
    of_square = x.fma(x, -square)
    return _with_remainder(power, square.fma(of_square * 2.0, square.fma(square, -power)), power)


def _inverse_square(x: Scalar) -> Scalar:
    inverse = 1.0 / x
    power = inverse * inverse
    of_inverse = (-inverse).fma(x, inverse.constant(1.0))
    return _with_remainder(power, power.fma(of_inverse * 2.0, inverse.fma(inverse, -power)), power)


def _inverse_of_root_times(x: Scalar) -> Scalar:
    """x ** -1.5: the reciprocal divided by the root, since x ** 1.5 overflows where the result is not yet zero."""
    root = x.sqrt()
    power = (1.0 / x) / root
    product = x * root
    of_product = (root * 0.5).fma((-root).fma(root, x), x.fma(root, -product))
    of_power = (-power).fma(of_product, (-power).fma(product, power.constant(1.0)))
    return _with_remainder(power, power * of_power, product)


_ROUNDED_ONCE: dict[float, Callable[[Scalar], Scalar]] = {
    -1.0: lambda x: 1.0 / x,
    0.5: lambda x: x.sqrt(),
    1.0: lambda x: x,
    2.0: lambda x: x * x,
}

_OF_DOUBLES: dict[float, Callable[[Scalar], Scalar]] = {
    **_ROUNDED_ONCE,
    -2.0: _inverse_square,
    -1.5: _inverse_of_root_times,
    -0.5: lambda x: 1.0 / x.sqrt(),
    1.5: lambda x: x * x.sqrt(),
    3.0: lambda x: x * x * x,
    4.0: _fourth,
}
