"""
Each operation on complex numbers in terms of the real and the imaginary parts.

A rule returns both parts, or one tensor if the result is real; None if it does not apply to the operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ComplexType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...hlo_dialect.expressions.complex import Complex
from ...hlo_dialect.expressions.tensor import Builder, Tensor, concatenate
from ...hlo_dialect.ops.conversion import BitcastConvertOp, ComplexOp, ConvertOp, ImagOp, RealOp
from ...hlo_dialect.ops.convolution import ConvolutionOp, DynamicConvOp
from ...hlo_dialect.ops.creation import ConstantOp, IotaOp
from ...hlo_dialect.ops.dynamism.dimension_sizes import GetDimensionSizeOp
from ...hlo_dialect.ops.elementwise_binary import MultiplyOp
from ...hlo_dialect.ops.elementwise_unary import AbsOp, part_type
from ...hlo_dialect.rules import Rules
from ...hlo_dialect.types import HloTensor, bit_width, element_of, make_tensor, numpy_dtype, shape_of

Parts: TypeAlias = tuple[SSAValue, SSAValue]


class PartsBuilder(Builder):
    """Builds the real operations of a complex one, before it; `parts` holds the parts of each complex value."""

    def __init__(self, op: Operation, parts: dict[SSAValue, Parts]):
        super().__init__(InsertPoint.before(op), op.location)
        self.complex_op = op
        self.parts = parts

    def operand(self, index: int) -> Complex:
        """The parts of an operand."""
        return Complex(*self.tensors(self.parts[self.complex_op.operands[index]]))

    @property
    def real_type(self) -> HloTensor:
        """The type of one part of the result, or the result's own type if that is real."""
        result = self.complex_op.results[0]
        return make_tensor(shape_of(result), part_type(element_of(result)))


Rule = Callable[[Operation, PartsBuilder], Complex | Tensor | None]
split_rules = Rules[Rule]("split-complex", __package__)
"""
Rules of operations that are not `LINEAR`; the pass itself handles control flow, returns and operations with regions.
"""


def each_part(op: Operation, b: PartsBuilder) -> Complex:
    """The same operation on the real parts and on the imaginary parts; real operands (indices) serve both."""

    def part(index: int) -> Tensor:
        operands = [b.parts[value][index] if value in b.parts else value for value in op.operands]
        return b.op(type(op), operands, b.real_type, **op.properties)

    return Complex(part(0), part(1))


@split_rules.on(ConstantOp)
def _constant(op: Operation, b: PartsBuilder) -> Complex:
    value: Any = op.properties["value"]
    data: Any = np.frombuffer(value.data.data, dtype=numpy_dtype(value.get_element_type()))
    return Complex(b.constant(data.real, b.real_type), b.constant(data.imag, b.real_type))


@split_rules.on(MultiplyOp)
def _multiply(op: Operation, b: PartsBuilder) -> Complex:
    return b.operand(0) * b.operand(1)


def hypot(z: Complex) -> Tensor:
    """|z| without overflow: the larger part times sqrt(1 + (smaller / larger)**2); infinite if a part is."""
    a, b = map(abs, z)
    large, small = a.maximum(b), a.minimum(b)
    ratio = small / large
    size = large.equals(0.0).select(large, large * (ratio * ratio + 1.0).sqrt())
    return (a.equals(math.inf) | b.equals(math.inf)).select(math.inf, size)


@split_rules.on(AbsOp)
def _abs(op: Operation, b: PartsBuilder) -> Tensor:
    return hypot(b.operand(0))


@split_rules.on(ComplexOp)
def _complex(op: Operation, b: PartsBuilder) -> Complex:
    return Complex(*b.tensors(op.operands))


@split_rules.on(RealOp)
def _real(op: Operation, b: PartsBuilder) -> Tensor:
    return b.operand(0).re


@split_rules.on(ImagOp)
def _imag(op: Operation, b: PartsBuilder) -> Tensor:
    return b.operand(0).im


@split_rules.on(ConvertOp)
def _convert(op: Operation, b: PartsBuilder) -> Complex | Tensor:
    """
    Conversion to complex: of each part, or of the real operand with imaginary part 0. To other types: of the real part.
    """
    operand, target = op.operands[0], b.real_type
    if not isinstance(element_of(op.results[0]), ComplexType):
        return b.op(ConvertOp, [b.operand(0).re], target)
    if operand in b.parts:
        return b.operand(0).each(lambda part: b.op(ConvertOp, [part], target))
    return Complex(Tensor(b, operand).convert(target.element_type), b.splat(0.0, target))


@split_rules.on(ConvolutionOp, DynamicConvOp)
def bilinear(op: Operation, b: PartsBuilder) -> Complex:
    """A contraction or convolution becomes four on the parts."""
    x, y = b.operand(0), b.operand(1)

    def dot(lhs: Tensor, rhs: Tensor) -> Tensor:
        return b.op(type(op), [lhs, rhs, *op.operands[2:]], b.real_type, **op.properties)

    return Complex(dot(x.re, y.re) - dot(x.im, y.im), dot(x.re, y.im) + dot(x.im, y.re))


@split_rules.on(IotaOp)
def _iota(op: Operation, b: PartsBuilder) -> Complex:
    return Complex(b.op(IotaOp, (), b.real_type, **op.properties), b.splat(0.0, b.real_type))


@split_rules.on(BitcastConvertOp)
def _bitcast(op: Operation, b: PartsBuilder) -> Complex:
    """
    complex<f64> to two complex<f32>: the halves of the real part, then those of the imaginary one; and back.

    In memory a complex<f64> is the f32s re0, re1, im0, im1, so that (re0, re1), (im0, im1) are the two numbers: their
    real parts are re0 and im0.
    """
    source, target = b.operand(0), b.real_type
    if source.re.element == target.element_type:
        return source
    if bit_width(source.re.element) > bit_width(target.element_type):
        return _exchanged(source.each(lambda part: b.op(BitcastConvertOp, [part], target)))
    return _exchanged(source).each(lambda part: b.op(BitcastConvertOp, [part], target))


def _exchanged(z: Complex) -> Complex:
    """For parts of shape (.., 2), the tensor of both first columns and the tensor of both second ones."""
    last = len(z.re.shape) - 1
    first, second = (concatenate([part.part(last, i, i + 1) for part in z], last) for i in (0, 1))
    return Complex(first, second)


split_rules.add(
    {GetDimensionSizeOp: lambda op, b: b.op(type(op), [b.operand(0).re], op.results[0].type, **op.properties)}
)
