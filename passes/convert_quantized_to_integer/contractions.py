"""
Dot products and convolutions of quantized tensors: sums of products of integers, scaled once.

`sum((l - zl) * (r - zr))` is `sum(l * r) - zr * sum(l) - zl * sum(r) + n * zl * zr`: the products are those of the
stored integers, so that kernels for i8 compute them, and the other sums have fewer terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute

from ...hlo_dialect.expressions.tensor import Tensor
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.convolution import ConvolutionOp, DynamicConvOp
from ...hlo_dialect.ops.older_contractions import DotOp
from ...hlo_dialect.ops.quantized.arithmetic import Contraction, zero_points
from ...hlo_dialect.ops.quantized.types import UniformQuantizedType
from ...hlo_dialect.types import Array, f64, i32, is_unsigned, make_tensor, shape_of
from .numbers import rounded, spread, wide, within, without_zero
from .transform import Conversion, integer_rules

SUMS_I32 = 1 << 31
"""Sums below this fit i32."""

i8 = IntegerType(8)
_ZERO = np.zeros(1, np.int64)


@dataclass(frozen=True)
class Factor:
    """An operand of a product of integers, whose numbers are `stored - zeros`."""

    stored: Tensor
    zeros: Array
    """One for each scale; all 0 unless `stored` has 8 bits."""

    @property
    def shifted(self) -> bool:
        return bool(self.zeros.any())

    def sum(self, dims: Sequence[int]) -> Tensor:
        """The sums of the stored integers along dimensions."""
        return self.stored.convert(i32).sum(dims)


def _factors(conversion: Conversion, contraction: Contraction) -> tuple[Factor, Factor]:
    """Both operands in i8, if it can hold them and i32 the sums; else without zero points, in the type of the sums."""
    sums = _type_of_sums(contraction)
    narrow = sums == i32 and all(one.storage.width.data <= 8 for one in (contraction.lhs, contraction.rhs))
    pairs = zip(conversion.operands, (contraction.lhs, contraction.rhs), strict=False)
    lhs, rhs = (_narrow(x, one) if narrow else Factor(_difference(x, one).convert(sums), _ZERO) for x, one in pairs)
    return lhs, rhs


def _narrow(operand: Tensor, element: UniformQuantizedType) -> Factor:
    zeros = zero_points(element, element.axis.data + 1).reshape(-1)
    low, high = element.limits
    if low - zeros.max() >= -128 and high - zeros.min() <= 127:
        return Factor(without_zero(operand, element, i8), _ZERO)
    if is_unsigned(element.storage):
        return Factor(operand.convert(i8) + -128, zeros - 128)  # both modulo 256
    return Factor(operand, zeros)


def _difference(operand: Tensor, element: UniformQuantizedType) -> Tensor:
    return without_zero(operand, element, wide(element))


def _type_of_sums(contraction: Contraction) -> Attribute:
    return i32 if contraction.bound < SUMS_I32 else f64


@integer_rules.on(DotGeneralOp, DotOp)
def _dot(op: DotGeneralOp | DotOp, conversion: Conversion) -> bool:
    """
    Before: `dot_general %a, %b : (tensor<4x8x!quant.uniform<i8:f32, 0.5:3>>, tensor<8x2x!quant..<i8:f32, 0.5>>) -> ..`
    After:  `%0 = dot_general %a, %b : (tensor<4x8xi8>, tensor<8x2xi8>) -> tensor<4x2xi32>`, less 3 times the sums of %b
            over its contracted dimensions, times 0.25 / the scale of the result
    """
    contraction = Contraction.of(op, (*conversion.sources, *conversion.targets))
    if contraction is None:
        return False
    lhs, rhs = _factors(conversion, contraction)
    numbers, shape = op.dot_dimension_numbers, shape_of(op.result)
    total = lhs.stored.dot(rhs.stored, numbers, _type_of_sums(contraction))

    def summed(factor: Factor, batching: Sequence[int], contracting: Sequence[int], first: int) -> Tensor:
        """The sums over the contracted dimensions; the other dimensions but for batching ones begin at `first`."""
        free = [dim for dim in range(len(factor.stored.shape)) if dim not in (*batching, *contracting)]
        kept = [dim for dim in range(len(factor.stored.shape)) if dim not in contracting]
        places = [batching.index(dim) if dim in batching else first + free.index(dim) for dim in kept]
        return factor.sum(contracting).broadcast(shape, places)

    batch = len(numbers.lhs_batching)
    lhs_sum = partial(summed, lhs, numbers.lhs_batching, numbers.lhs_contracting, batch)
    lhs_free = len(lhs.stored.shape) - batch - len(numbers.lhs_contracting)
    rhs_sum = partial(summed, rhs, numbers.rhs_batching, numbers.rhs_contracting, batch + lhs_free)
    conversion.replace(_scaled(_without_zeros(total, (lhs, lhs_sum), (rhs, rhs_sum), contraction), contraction))
    return True


@integer_rules.on(DynamicConvOp)
def _dynamic_convolution(op: DynamicConvOp, conversion: Conversion) -> bool:
    new = op.of_constant_padding()
    if new is None or None in (*conversion.sources[:2], *conversion.targets):
        return False
    conversion.builder.insert(new)
    conversion.replace(Tensor(conversion.builder, new.result))
    return _convolution(new, Conversion(new, conversion.elements))


@integer_rules.on(ConvolutionOp)
def _convolution(op: ConvolutionOp, conversion: Conversion) -> bool:
    """
    Before: `convolution(%x, %w) .. : (tensor<1x8x3x!quant.uniform<i8:f32, 0.5:3>>, tensor<2x3x4x!quant..>) -> ..`
    After:  `%0 = convolution(%x, %w) .. : (tensor<1x8x3xi8>, tensor<2x3x4xi8>) -> tensor<1x7x4xi32>`, less 3 times the
            sums of each of the four kernels of %w, times the scale
    Padding holds the zero point of %x.
    """
    contraction = Contraction.of(op, (*conversion.sources, *conversion.targets))
    if contraction is None:
        return False
    lhs, rhs = _factors(conversion, contraction)
    properties = {name: value for name, value in op.properties.items() if name != "precision_config"}
    if lhs.shifted and op.window.is_padded:
        padding = conversion.builder.splat(lhs.zeros.item(), make_tensor((), i8))
        lhs = replace(lhs, stored=lhs.stored.pad(padding, *op.lhs_padding))
        properties = {name: value for name, value in properties.items() if name not in ("padding", "lhs_dilation")}
    shape, place = shape_of(op.result), op.dimension_numbers.output.feature

    def convolved(kernel: Tensor, features: int) -> Tensor:
        type_ = make_tensor((*shape[:place], features, *shape[place + 1 :]), _type_of_sums(contraction))
        return conversion.builder.op(ConvolutionOp, [lhs.stored, kernel], type_, **properties)

    def lhs_sum() -> Tensor:
        """The sums over windows, of which the features of a group have the same."""
        groups, feature = op.feature_groups * op.batch_groups, op.dimension_numbers.kernel.feature
        kernel = (*rhs.stored.shape[:feature], groups, *rhs.stored.shape[feature + 1 :])
        sums = convolved(conversion.builder.splat(1, make_tensor(kernel, i8)), groups)
        each = (*shape[:place], groups, shape[place] // groups, *shape[place + 1 :])
        return sums.broadcast(each, [dim for dim in range(len(each)) if dim != place + 1]).reshape(shape)

    def rhs_sum() -> Tensor:
        feature = op.dimension_numbers.kernel.feature
        return rhs.sum([dim for dim in range(len(shape)) if dim != feature]).broadcast(shape, [place])

    total = convolved(rhs.stored, shape[place])
    conversion.replace(_scaled(_without_zeros(total, (lhs, lhs_sum), (rhs, rhs_sum), contraction), contraction))
    return True


Sums: TypeAlias = tuple[Factor, Callable[[], Tensor]]
"""A factor, and its sums of stored integers for each element of the result."""


def _without_zeros(total: Tensor, lhs: Sums, rhs: Sums, contraction: Contraction) -> Tensor:
    """`sum((l - zl) * (r - zr))`, given `sum(l * r)`."""
    (left, lhs_sum), (right, rhs_sum) = lhs, rhs
    if right.shifted:
        zeros = spread(total, contraction.along_rhs(right.zeros))
        inner = lhs_sum()
        shift = contraction.terms * left.zeros.item()
        total = total - (inner - shift if shift else inner) * zeros
    return total - rhs_sum() * left.zeros.item() if left.shifted else total


def _scaled(total: Tensor, contraction: Contraction) -> Tensor:
    """The sums as the result's stored integers; without arithmetic in floats if their scales are almost equal."""
    element, multiplier = contraction.result, contraction.multiplier
    zeros = zero_points(element, element.axis.data + 1)
    fits = contraction.bound + int(np.abs(zeros).max()) < SUMS_I32
    if fits and np.abs(multiplier - 1).max() * contraction.bound < 0.25:
        return within(total, element)
    scaled = total.convert(f64)
    return rounded(scaled * spread(scaled, multiplier), element)
