"""
What each operation on complex numbers is in terms of the real and the imaginary parts.

A rule returns the pair of parts, or one value where the result is real; None where it does not take the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import ComplexType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...hlo_dialect.attributes import int_array, int_attr
from ...hlo_dialect.ops.comparison import CompareOp, SelectOp, comparison_direction, comparison_type
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.conversion import BitcastConvertOp, ComplexOp, ConvertOp, ImagOp, RealOp
from ...hlo_dialect.ops.creation import ConstantOp, IotaOp
from ...hlo_dialect.ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp
from ...hlo_dialect.ops.elementwise_binary import AddOp, DivideOp, MaximumOp, MinimumOp, MultiplyOp, OrOp, SubtractOp
from ...hlo_dialect.ops.elementwise_unary import AbsOp, NegateOp, SqrtOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp, ReverseOp, TransposeOp
from ...hlo_dialect.ops.slicing import ConcatenateOp, PadOp, SliceOp
from ...hlo_dialect.types import (
    Array,
    HloTensor,
    bit_width,
    dense_constant,
    element_of,
    i1,
    make_tensor,
    numpy_dtype,
    shape_of,
    tensor_type,
)

Parts: TypeAlias = tuple[SSAValue, SSAValue]


class PartsBuilder:
    """Adds real operations in front of the complex one, or of another place."""

    def __init__(self, op: Operation, parts: dict[SSAValue, Parts], before: Operation | None = None):
        self.op = op
        self.parts = parts
        self.before = before or op

    def insert(self, op: Operation) -> None:
        """One more operation in front."""
        cast(Block, self.before.parent).insert_op_before(op, self.before)

    def of(self, index: int) -> Parts:
        """The parts of an operand."""
        return self.parts[self.op.operands[index]]

    @property
    def real_type(self) -> HloTensor:
        """The type of one part of the result, or the result's own where that is real."""
        type_ = tensor_type(self.op.results[0])
        element = type_.element_type
        if not isinstance(element, ComplexType):
            return type_
        return make_tensor(type_.get_shape(), cast("Any", element).element_type)

    def add(
        self,
        op_type: type[Operation],
        operands: Sequence[SSAValue],
        type_: Attribute | None = None,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        """One more operation; its result has the first operand's type unless `type_` is given."""
        new = op_type.create(
            operands=operands,
            result_types=[operands[0].type if type_ is None else type_],
            properties=properties or {},
            location=self.op.location,
        )
        self.insert(new)
        return new.results[0]

    def splat(self, number: float, type_: HloTensor) -> SSAValue:
        array: Array = np.full((1,), number, dtype=numpy_dtype(type_.element_type))
        return self.add(ConstantOp, (), type_, {"value": dense_constant(array, type_)})

    def compare(self, direction: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        properties: dict[str, Attribute] = {
            "comparison_direction": comparison_direction(direction),
            "compare_type": comparison_type("FLOAT"),
        }
        return self.add(CompareOp, (lhs, rhs), make_tensor(shape_of(lhs), i1), properties)

    def select(self, pred: SSAValue, on_true: SSAValue, on_false: SSAValue) -> SSAValue:
        return self.add(SelectOp, (pred, on_true, on_false), on_true.type)

    def magnitude(self, re: SSAValue, im: SSAValue) -> SSAValue:
        """sqrt(re^2 + im^2) without overflow: the larger times sqrt(1 + (smaller / larger)^2)."""
        type_ = tensor_type(re)
        a, b = self.add(AbsOp, (re,)), self.add(AbsOp, (im,))
        large, small = self.add(MaximumOp, (a, b)), self.add(MinimumOp, (a, b))
        ratio = self.add(DivideOp, (small, large))
        root = self.add(SqrtOp, (self.add(AddOp, (self.splat(1.0, type_), self.add(MultiplyOp, (ratio, ratio)))),))
        product = self.add(MultiplyOp, (large, root))
        zero, infinity = self.splat(0.0, type_), self.splat(float("inf"), type_)
        product = self.select(self.compare("EQ", large, zero), zero, product)
        infinite = self.add(OrOp, (self.compare("EQ", a, infinity), self.compare("EQ", b, infinity)))
        return self.select(infinite, infinity, product)


Rule = Callable[[Operation, PartsBuilder], Parts | SSAValue | None]


def _each(op: Operation, b: PartsBuilder) -> Parts:
    """The same operation on the real parts and on the imaginary parts; real operands (indices) serve both."""
    type_ = b.real_type
    re, im = (
        b.add(type(op), [b.parts[v][part] if v in b.parts else v for v in op.operands], type_, dict(op.properties))
        for part in (0, 1)
    )
    return re, im


def _constant(op: Operation, b: PartsBuilder) -> Parts:
    value: Any = op.properties["value"]
    data: Any = np.frombuffer(value.data.data, dtype=numpy_dtype(value.get_element_type()))
    type_ = b.real_type
    re, im = (
        b.add(ConstantOp, (), type_, {"value": dense_constant(np.ascontiguousarray(part), type_)})
        for part in (data.real, data.imag)
    )
    return re, im


def _multiply(op: Operation, b: PartsBuilder) -> Parts:
    (a_re, a_im), (b_re, b_im) = b.of(0), b.of(1)
    return _product(b, a_re, a_im, b_re, b_im)


def _product(b: PartsBuilder, a_re: SSAValue, a_im: SSAValue, b_re: SSAValue, b_im: SSAValue) -> Parts:
    re = b.add(SubtractOp, (b.add(MultiplyOp, (a_re, b_re)), b.add(MultiplyOp, (a_im, b_im))))
    im = b.add(AddOp, (b.add(MultiplyOp, (a_re, b_im)), b.add(MultiplyOp, (a_im, b_re))))
    return re, im


def _abs(op: Operation, b: PartsBuilder) -> SSAValue:
    return b.magnitude(*b.of(0))


def _complex(op: Operation, b: PartsBuilder) -> Parts:
    return op.operands[0], op.operands[1]


def _real(op: Operation, b: PartsBuilder) -> SSAValue:
    return b.of(0)[0]


def _imag(op: Operation, b: PartsBuilder) -> SSAValue:
    return b.of(0)[1]


def _convert(op: Operation, b: PartsBuilder) -> Parts | SSAValue:
    """To complex: each part, or the real one and 0. To anything else: the real part."""
    operand, target = op.operands[0], b.real_type
    if not isinstance(element_of(op.results[0]), ComplexType):
        return b.add(ConvertOp, (b.of(0)[0],), op.results[0].type)
    if operand in b.parts:
        re, im = (b.add(ConvertOp, (part,), target) for part in b.of(0))
        return re, im
    re = operand if operand.type == target else b.add(ConvertOp, (operand,), target)
    return re, b.splat(0.0, target)


def _bilinear(op: Operation, b: PartsBuilder) -> Parts:
    """A contraction or convolution is four of the parts."""
    (a_re, a_im), (b_re, b_im) = b.of(0), b.of(1)

    def dot(lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return b.add(type(op), (lhs, rhs, *op.operands[2:]), b.real_type, dict(op.properties))

    return (
        b.add(SubtractOp, (dot(a_re, b_re), dot(a_im, b_im))),
        b.add(AddOp, (dot(a_re, b_im), dot(a_im, b_re))),
    )


def _iota(op: Operation, b: PartsBuilder) -> Parts:
    return b.add(IotaOp, (), b.real_type, dict(op.properties)), b.splat(0.0, b.real_type)


def _bitcast(op: Operation, b: PartsBuilder) -> Parts:
    """
    complex<f64> to two complex<f32>: the halves of the real part, then those of the imaginary one; and back.

    In memory a complex<f64> is the f32s re0, re1, im0, im1, so that (re0, re1), (im0, im1) are the two numbers: their
    real parts are re0 and im0.
    """
    source, target = tensor_type(b.of(0)[0]), b.real_type
    if source.element_type == target.element_type:
        return b.of(0)
    if bit_width(source.element_type) > bit_width(target.element_type):
        first, second = (b.add(BitcastConvertOp, (part,), target) for part in b.of(0))
        return _exchanged(b, first, second)
    first, second = (b.add(BitcastConvertOp, (part,), target) for part in _exchanged(b, *b.of(0)))
    return first, second


def _exchanged(b: PartsBuilder, first: SSAValue, second: SSAValue) -> Parts:
    """Of (.., 2) and (.., 2) the tensor of both beginnings, and that of both ends."""
    type_ = tensor_type(first)
    *shape, _ = type_.get_shape()

    def column(value: SSAValue, index: int) -> SSAValue:
        properties: dict[str, Attribute] = {
            "start_indices": int_array([0] * len(shape) + [index]),
            "limit_indices": int_array([*shape, index + 1]),
            "strides": int_array([1] * (len(shape) + 1)),
        }
        return b.add(SliceOp, (value,), make_tensor((*shape, 1), type_.element_type), properties)

    def joined(index: int) -> SSAValue:
        columns = [column(value, index) for value in (first, second)]
        return b.add(ConcatenateOp, columns, type_, {"dimension": int_attr(len(shape))})

    return joined(0), joined(1)


RULES: dict[type[Operation], Rule] = {
    ConstantOp: _constant,
    MultiplyOp: _multiply,
    AbsOp: _abs,
    ComplexOp: _complex,
    RealOp: _real,
    ImagOp: _imag,
    ConvertOp: _convert,
    BitcastConvertOp: _bitcast,
    IotaOp: _iota,
    DotGeneralOp: _bilinear,
    **dict.fromkeys((AddOp, SubtractOp, NegateOp, SelectOp), _each),
    **dict.fromkeys(
        (BroadcastInDimOp, ReshapeOp, TransposeOp, SliceOp, ConcatenateOp, PadOp, ReverseOp, DynamicSliceOp), _each
    ),
    DynamicUpdateSliceOp: _each,
}
"""By class; control flow, returns and operations with regions are the pass's own."""

RULES_BY_NAME: dict[str, Rule] = {
    **{f"hlo.{name}": _bilinear for name in ("convolution", "dynamic_conv")},
    **{
        f"hlo.{name}": _each
        for name in (
            "broadcast",
            "collective_broadcast",
            "collective_permute",
            "dynamic_broadcast_in_dim",
            "dynamic_gather",
            "dynamic_pad",
            "dynamic_reshape",
            "gather",
            "real_dynamic_slice",
            "set_dimension_size",
            "torch_index_select",
        )
    },
    "hlo.get_dimension_size": lambda op, b: b.add(type(op), (b.of(0)[0],), op.results[0].type, dict(op.properties)),
}
"""Operations that move whole elements, or are linear in each operand."""
