"""From stored integers to values and back, in hlo: the formulas of hlo_dialect/ops/quantized/arithmetic.py."""

from __future__ import annotations

from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute

from ...hlo_dialect.expressions.tensor import Tensor
from ...hlo_dialect.numbers.number_semantics import convert, integer_bounds
from ...hlo_dialect.ops.comparison import ClampOp
from ...hlo_dialect.ops.quantized.arithmetic import scales, zero_points
from ...hlo_dialect.ops.quantized.types import UniformQuantizedType
from ...hlo_dialect.types import Array, i32, i64, is_integer, make_tensor, numpy_dtype

NARROW_STORAGE = 16
"""Up to this width differences and sums of a few stored integers fit i32."""


def wide(*elements: UniformQuantizedType) -> IntegerType:
    """A type for differences and sums of a few stored integers."""
    return i32 if all(element.storage.width.data <= NARROW_STORAGE for element in elements) else i64


def spread(x: Tensor, numbers: Array) -> Tensor:
    """Numbers that broadcast against `x`, as a tensor of its type."""
    dtype = numpy_dtype(x.element)
    assert dtype is not None, "integers and floats have a dtype"
    numbers = convert(numbers, dtype)
    if numbers.size == 1:
        return x.like(numbers.item())
    first = len(x.shape) - numbers.ndim
    dims = [first + dim for dim, size in enumerate(numbers.shape) if size > 1]
    return x.builder.constant(numbers.squeeze()).broadcast(x.shape, dims)


def clamped(x: Tensor, low: int, high: int) -> Tensor:
    """`x` within bounds; NaN stays."""
    dtype = numpy_dtype(x.element)
    if dtype is not None and is_integer(x.element) and (low, high) == integer_bounds(dtype):
        return x
    scalar = make_tensor((), x.element)
    as_number = int if is_integer(x.element) else float
    bounds = [x.builder.splat(as_number(bound), scalar) for bound in (low, high)]
    return x.builder.op(ClampOp, [bounds[0], x, bounds[1]], x.type)


def without_zero(stored: Tensor, element: UniformQuantizedType, type_: Attribute) -> Tensor:
    """`stored - zero_point`, in a wider integer type."""
    zeros = zero_points(element, len(stored.shape))
    difference = stored.convert(type_)
    return difference - spread(difference, zeros) if zeros.any() else difference


def dequantize(stored: Tensor, element: UniformQuantizedType) -> Tensor:
    """The values of stored integers, in the expressed type."""
    difference = without_zero(stored, element, wide(element)).convert(element.expressed)
    return difference * spread(difference, scales(element, len(stored.shape)))


def quantize(values: Tensor, element: UniformQuantizedType) -> Tensor:
    """The stored integers nearest to values of the expressed type."""
    return rounded(values / spread(values, scales(element, len(values.shape))), element)


def rounded(scaled: Tensor, element: UniformQuantizedType) -> Tensor:
    """Floats in units of the scale as stored integers: zero points added, within their range, rounded to even."""
    zeros = zero_points(element, len(scaled.shape))
    if zeros.any():
        scaled = scaled + spread(scaled, zeros)
    dtype, (low, high) = numpy_dtype(scaled.element), element.limits
    assert dtype is not None, "floats have a dtype"
    whole = clamped(scaled, low, high).round()
    if low <= 0 <= high and all(float(convert(np.asarray(limit), dtype)) == limit for limit in (low, high)):
        return whole.convert(element.storage)
    # NaN, or limits rounded in the expressed type, may be out of range.
    return clamped(whole.convert(i64), low, high).convert(element.storage)


def requantize(value: Tensor, source: UniformQuantizedType, target: UniformQuantizedType) -> Tensor:
    """Stored integers of one quantized type as those of another that is nearest."""
    if same_scales(source, target):
        return within(without_zero(value, source, wide(source, target)), target)
    return quantize(dequantize(value, source), target)


# -- integers ------------------------------------------------------------------------------------------


def same_scales(*elements: UniformQuantizedType) -> bool:
    """
    Whether sums and differences of two numbers of these types are whole multiples of one scale, and are found as such
    by the formulas: dequantizing, adding, dividing and adding the zero point in the expressed type are off by less than
    half a unit together, each by at most 2^-p of numbers below 3 n, without overflow or underflow.
    """
    first = elements[0]
    if any((one.expressed, one.axis, one.scales) != (first.expressed, first.axis, first.scales) for one in elements):
        return False
    dtype = numpy_dtype(first.expressed)
    assert dtype is not None, "the expressed types are floats"
    facts = cast(Any, ml_dtypes).finfo(dtype)
    steps = scales(first, first.axis.data + 1).astype(np.float64)
    largest = max(abs(limit - zero.data) for one in elements for limit in one.limits for zero in one.zero_points)
    inside = float(facts.tiny) * 2**16 <= steps.min() and steps.max() * largest < float(facts.max) / 16
    return bool(inside) and largest <= 2.0 ** (facts.nmant - 5)


def within(difference: Tensor, element: UniformQuantizedType) -> Tensor:
    """Integers in units of the scale as stored integers: zero points added, and within their range."""
    zeros = zero_points(element, len(difference.shape))
    moved = difference + spread(difference, zeros) if zeros.any() else difference
    return clamped(moved, *element.limits).convert(element.storage)
