"""chlo operations that are defined by bits, signs and comparisons, as exact hlo."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Attribute, Operation

from ...hlo_dialect.chlo import base
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.expressions.complex import Complex
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.elementwise_binary import MultiplyOp
from ...hlo_dialect.types import bit_width, element_of, f32, is_complex, is_narrow_float, is_unsigned, numpy_dtype
from .rules import conversions, of_floats, require_static


@conversions.on(base.SquareOp)
def _square(op: Operation) -> None:
    """`chlo.square %x` becomes `hlo.multiply %x, %x`; of complex numbers the square is (x - y) (x + y) + 2 i x y."""
    builder = Builder()
    if not is_complex(element_of(op.operands[0])):
        builder.replace(op, builder.op(MultiplyOp, [op.operands[0]] * 2, op.results[0].type))
        return
    require_static(op)
    x, y = Complex.of(Tensor(builder, op.operands[0]))
    # Where x + y overflows, x - y may be 0; two infinities have no difference.
    even = abs(x).equals(abs(y)) & (abs(x) < math.inf)
    builder.replace(op, Complex(even.select(0.0, (x - y) * (x + y)), x * y * 2.0).joined())


@conversions.on(base.ConjOp)
def _conj(op: Operation) -> None:
    if not is_complex(element_of(op.operands[0])):
        replace_op(op, [], op.operands)
        return
    builder = Builder()
    z = Complex.of(Tensor(builder, op.operands[0]))
    builder.replace(op, Complex(z.re, -z.im).joined())


def _is_neg_inf(x: Tensor) -> Tensor:
    return x.equals(-math.inf)


def _is_pos_inf(x: Tensor) -> Tensor:
    return x.equals(math.inf)


@conversions.on(base.NextAfterOp)
def _next_after(op: Operation) -> None:
    """
    Step the bits as an integer: away from zero if y is farther out than x on x's side, else toward zero.

    From zero, step to the smallest number with y's sign.
    """
    require_static(op)
    element_type = element_of(op.operands[0])
    dtype, width = numpy_dtype(element_type), bit_width(element_type)
    if dtype is None or width < 8 or str(element_type).endswith(("uz", "fnu")):
        fail(op, f"cannot be decomposed: the bits of {element_type} are not a sign and a size")
    builder = Builder()
    x, y = builder.tensors(op.operands)
    wide_x, wide_y = (value.convert(_compared(element_type)) for value in (x, y))
    bits = x.bits_as(IntegerType(width))
    sign_bit = -(1 << (width - 1))
    away = ((wide_x < wide_y) & (wide_x > 0.0)) | ((wide_y < wide_x) & (wide_x < 0.0))
    stepped = bits + away.select(bits.like(1), bits.like(-1))
    smallest = (y.bits_as(IntegerType(width)) & sign_bit) | 1
    moved = wide_x.equals(0.0).select(smallest, stepped).bits_as(element_type)
    # y if both are equal: it may be the zero of the other sign.
    result = wide_x.equals(wide_y).select(y, moved)
    builder.replace(op, wide_x.is_nan().select(x, wide_y.is_nan().select(y, result)))


def _compared(element_type: Attribute) -> Attribute:
    """The type for comparing narrow floats: f32 represents all their values."""
    return f32 if is_narrow_float(element_type) else element_type


@conversions.on(base.MulhiOp)
def _mulhi(op: Operation) -> None:
    """The high half of the product; of 64-bit integers, from four products of halves."""
    require_static(op)
    element_type = element_of(op.operands[0])
    width, unsigned = bit_width(element_type), is_unsigned(element_type)
    builder = Builder()
    x, y = builder.tensors(op.operands)
    shift = Tensor.__rshift__ if unsigned else Tensor.shift_right_arithmetic
    if width < 64:
        twice = IntegerType(64, Signedness.UNSIGNED if unsigned else Signedness.SIGNLESS)
        product = x.convert(twice) * y.convert(twice)
        result = shift(product, width).convert(element_type)
    else:
        low_mask = (1 << 32) - 1
        x_low, y_low = x & low_mask, y & low_mask
        x_high, y_high = shift(x, 32), shift(y, 32)
        low = (x_low * y_low) >> 32
        middle = x_high * y_low + low
        other = x_low * y_high + (middle & low_mask)
        result = x_high * y_high + shift(middle, 32) + shift(other, 32)
    builder.replace(op, result)


conversions.add(
    {
        base.IsInfOp: of_floats(Tensor.is_infinite),
        base.IsNegInfOp: of_floats(_is_neg_inf),
        base.IsPosInfOp: of_floats(_is_pos_inf),
    }
)
