"""
The numbers of quantized tensors, as arrays of their stored integers.

A quantized number denotes `(stored - zero_point) * scale`, in the expressed type, in which the scale is rounded too.
`dequantize` and `quantize` are the specification's formulas, step by step in the expressed type. Sums of products
(`Contraction`) are exact integers, scaled once in f64.

Spec: https://openxla.org/stablehlo/spec, Quantization computations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ...numbers.number_semantics import convert, round_to
from ...op import HloOp
from ...types import Array, element_of, make_tensor, numpy_dtype, shape_of
from ..contraction import DotGeneralOp
from ..convolution import ConvolutionBase
from ..older_contractions import DotOp
from .types import UniformQuantizedType


def quantized_element(type_: Attribute) -> UniformQuantizedType | None:
    """The element type of a quantized tensor type; None for any other type."""
    if not isinstance(type_, TensorType):
        return None
    element = element_of(cast(Attribute, type_))
    return element if isinstance(element, UniformQuantizedType) else None


def expressed_type(type_: Attribute) -> Attribute:
    """The type with quantized elements replaced by the expressed type."""
    element = quantized_element(type_)
    return type_ if element is None else make_tensor(shape_of(type_), element.expressed)


def storage_type(type_: Attribute) -> Attribute:
    """The type with quantized elements replaced by the integers that store them."""
    element = quantized_element(type_)
    return type_ if element is None else make_tensor(shape_of(type_), element.storage)


def along_axis(element: UniformQuantizedType, values: Sequence[float | int], rank: int) -> Array:
    """Scales or zero points, shaped to broadcast against a tensor of this rank."""
    axis = element.axis.data
    array = np.asarray(values)
    return array.reshape(()) if axis < 0 else array.reshape((-1,) + (1,) * (rank - axis - 1))


def zero_points(element: UniformQuantizedType, rank: int) -> Array:
    """The zero points in int64, shaped to broadcast against a tensor of this rank."""
    return along_axis(element, [zero.data for zero in element.zero_points], rank).astype(np.int64)


def scales(element: UniformQuantizedType, rank: int) -> Array:
    """The scales in the expressed type, shaped to broadcast against a tensor of this rank."""
    values = along_axis(element, [scale.data for scale in element.scales], rank)
    return round_to(values, cast("np.dtype[Any]", numpy_dtype(element.expressed)))


def dequantize(stored: Array, element: UniformQuantizedType) -> Array:
    """The values of stored integers, in the expressed type."""
    steps = scales(element, stored.ndim)
    with np.errstate(all="ignore"):
        return convert(stored.astype(np.int64) - zero_points(element, stored.ndim), steps.dtype) * steps


def quantize(values: Array, element: UniformQuantizedType) -> Array:
    """
    The stored integers nearest to values of the expressed type, halves to even, within the storage range; NaN becomes 0
    or the end of the range nearest to it.
    """
    steps = scales(element, values.ndim)
    with np.errstate(all="ignore"):
        placed = values / steps + convert(zero_points(element, values.ndim), steps.dtype)
    return _stored(placed.astype(np.float64), element)


def _stored(values: Array, element: UniformQuantizedType) -> Array:
    whole = convert(np.rint(values), np.dtype(np.int64))
    return np.clip(whole, *element.limits).astype(cast("np.dtype[Any]", numpy_dtype(element)))


@dataclass(frozen=True)
class Contraction:
    """
    A sum of products of quantized numbers, `sum((l - zl) * (r - zr)) * multiplier`, rounded to the result's type.

    The sum is an integer, exact as far as `bound` is below 2^53. The multiplier, `lhs scale * rhs scale / result scale`
    in f64, and the result's zero points are shaped to broadcast against the result.
    """

    lhs: UniformQuantizedType
    rhs: UniformQuantizedType
    result: UniformQuantizedType
    rank: int
    rhs_place: int | None
    """The dimension of the result along which rhs has scales of its own."""
    terms: int
    """The number of products in a sum."""

    @staticmethod
    def of(op: HloOp, elements: Sequence[UniformQuantizedType | None]) -> Contraction | None:
        """
        The contraction that an operation computes, given the element types of operands and result.

        None for other operations, and unless all are quantized.
        """
        if not isinstance(op, (DotGeneralOp, DotOp, ConvolutionBase)):
            return None
        lhs, rhs, result = *elements[:2], elements[-1]
        if lhs is None or rhs is None or result is None:
            return None
        rank = len(shape_of(op.results[0]))
        place = _rhs_place(op, rhs.axis.data, rank) if rhs.per_axis else None
        return Contraction(lhs, rhs, result, rank, place, _terms(op))

    @property
    def bound(self) -> int:
        """No sum is greater, whatever the operands."""
        return self.terms * math.prod(_greatest(element) for element in (self.lhs, self.rhs))

    @property
    def multiplier(self) -> Array:
        left, right, result = (
            scales(element, rank).astype(np.float64)
            for element, rank in ((self.lhs, 0), (self.rhs, self.rhs.axis.data + 1), (self.result, self.rank))
        )
        return left * self.along_rhs(right) / result

    def along_rhs(self, values: Array) -> Array:
        """A value for each scale of rhs, shaped to broadcast against the result."""
        if self.rhs_place is None:
            return values.reshape(())
        return values.reshape((-1,) + (1,) * (self.rank - self.rhs_place - 1))

    def requantize(self, total: Array) -> Array:
        """The stored integers of the result, from sums in f64."""
        return _stored(total * self.multiplier + zero_points(self.result, self.rank), self.result)


def _greatest(element: UniformQuantizedType) -> int:
    """The greatest `|stored - zero point|`."""
    return max(abs(limit - zero.data) for limit in element.limits for zero in element.zero_points)


def _rhs_place(op: DotGeneralOp | DotOp | ConvolutionBase, axis: int, rank: int) -> int:
    """The dimension of the result that a dimension of rhs becomes, which the verifier has checked not to be summed."""
    if isinstance(op, ConvolutionBase):
        return op.dimension_numbers.output.feature
    numbers = op.dot_dimension_numbers
    if axis in numbers.rhs_batching:
        return numbers.rhs_batching.index(axis)
    taken = (*numbers.rhs_batching, *numbers.rhs_contracting)
    return rank - len([dim for dim in range(axis, len(shape_of(op.operands[1]))) if dim not in taken])


def _terms(op: DotGeneralOp | DotOp | ConvolutionBase) -> int:
    shape = shape_of(op.operands[1])
    if isinstance(op, ConvolutionBase):
        summed = [dim for dim in range(len(shape)) if dim != op.dimension_numbers.kernel.feature]
    else:
        summed = op.dot_dimension_numbers.rhs_contracting
    return math.prod(max(shape[dim], 0) for dim in summed)
