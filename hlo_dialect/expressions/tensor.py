"""
A small notation for elementwise hlo: `Tensor` overloads the operators, each makes one hlo operation.

`a * 2.0 + b` makes the constant, the product and the sum. All values of one expression have one shape; constants are
splats of the other operand's type, made once for each block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from ..numbers.number_semantics import round_to
from ..op import replace_op
from ..ops import elementwise_binary as binary
from ..ops import elementwise_unary as unary
from ..ops.comparison import CompareOp, SelectOp, comparison_direction
from ..ops.conversion import BitcastConvertOp, ConvertOp
from ..ops.creation import ConstantOp
from ..types import HloTensor, element_of, i1, make_tensor, numpy_dtype, shape_of, tensor_type


@dataclass
class Builder:
    """Collects the operations of one decomposition in their order."""

    ops: list[Operation] = field(default_factory=list[Operation])
    constants: dict[tuple[float, float, HloTensor], SSAValue] = field(
        default_factory=dict[tuple[float, float, HloTensor], SSAValue]
    )

    def add(self, op: Operation) -> Tensor:
        self.ops.append(op)
        return Tensor(self, op.results[0])

    def constant(self, number: float, type_: HloTensor) -> SSAValue:
        """A splat of `number`, rounded to the element type."""
        key = (number, math.copysign(1.0, number), type_)  # to Python 0.0 and -0.0 are equal
        found = self.constants.get(key)
        if found is None:
            dtype: Any = numpy_dtype(type_.element_type)
            element = round_to(np.float64(number), dtype) if isinstance(number, float) else np.asarray(number, dtype)
            found = self.constants[key] = self.add(ConstantOp.of(element.reshape(1), type_)).value
        return found


@dataclass(frozen=True)
class Tensor:
    """A value under construction."""

    builder: Builder
    value: SSAValue

    @property
    def type(self) -> HloTensor:
        return tensor_type(self.value)

    def _apply(self, op: type[Operation], *operands: SSAValue, type_: HloTensor | None = None) -> Tensor:
        return self.builder.add(op.create(operands=operands, result_types=[type_ or self.type]))

    def _with(self, op: type[Operation], other: Tensor | float, reverse: bool = False) -> Tensor:
        value = other.value if isinstance(other, Tensor) else self.builder.constant(other, self.type)
        return self._apply(op, value, self.value) if reverse else self._apply(op, self.value, value)

    def __add__(self, other: Tensor | float) -> Tensor:
        return self._with(binary.AddOp, other)

    def __sub__(self, other: Tensor | float) -> Tensor:
        return self._with(binary.SubtractOp, other)

    def __rsub__(self, other: float) -> Tensor:
        return self._with(binary.SubtractOp, other, reverse=True)

    def __mul__(self, other: Tensor | float) -> Tensor:
        return self._with(binary.MultiplyOp, other)

    def __truediv__(self, other: Tensor | float) -> Tensor:
        return self._with(binary.DivideOp, other)

    def __and__(self, other: Tensor | int) -> Tensor:
        return self._with(binary.AndOp, other)

    def __neg__(self) -> Tensor:
        return self._apply(unary.NegateOp, self.value)

    def __abs__(self) -> Tensor:
        return self._apply(unary.AbsOp, self.value)

    def __or__(self, other: Tensor | int) -> Tensor:
        return self._with(binary.OrOp, other)

    def __xor__(self, other: Tensor | int) -> Tensor:
        return self._with(binary.XorOp, other)

    def __invert__(self) -> Tensor:
        return self._apply(unary.NotOp, self.value)

    def __radd__(self, other: float) -> Tensor:
        return self._with(binary.AddOp, other, reverse=True)

    def __rmul__(self, other: float) -> Tensor:
        return self._with(binary.MultiplyOp, other, reverse=True)

    def __rtruediv__(self, other: float) -> Tensor:
        return self._with(binary.DivideOp, other, reverse=True)

    def __pow__(self, other: Tensor | float) -> Tensor:
        return self._with(binary.PowerOp, other)

    def __lt__(self, other: Tensor | float) -> Tensor:
        """i1 tensor; false where either is NaN."""
        return self.compare("LT", other)

    def __le__(self, other: Tensor | float) -> Tensor:
        return self.compare("LE", other)

    def __gt__(self, other: Tensor | float) -> Tensor:
        return self.compare("GT", other)

    def __ge__(self, other: Tensor | float) -> Tensor:
        return self.compare("GE", other)

    def equals(self, other: Tensor | float) -> Tensor:
        """i1 tensor (`==` compares the notation's own objects)."""
        return self.compare("EQ", other)

    def is_nan(self) -> Tensor:
        return self.compare("NE", self)

    def compare(self, direction: str, other: Tensor | float) -> Tensor:
        """i1 tensor of the relation EQ, NE, LT, LE, GT or GE; where either is NaN only NE holds."""
        right = other if isinstance(other, Tensor) else Tensor(self.builder, self.builder.constant(other, self.type))
        compare = CompareOp.create(
            operands=[self.value, right.value],
            result_types=[make_tensor(shape_of(self.value), i1)],
            properties={"comparison_direction": comparison_direction(direction)},
        )
        return self.builder.add(compare)

    def apply(self, op: type[Operation], *others: Tensor | float) -> Tensor:
        """An operation of this value and others of its type, without properties, whose result has this type."""
        values = [one.value if isinstance(one, Tensor) else self.builder.constant(one, self.type) for one in others]
        return self._apply(op, self.value, *values)

    def like(self, number: float) -> Tensor:
        """A splat of this value's type."""
        return Tensor(self.builder, self.builder.constant(number, self.type))

    def minimum(self, other: float) -> Tensor:
        """NaN stays."""
        return self._with(binary.MinimumOp, other)

    def exponential(self) -> Tensor:
        return self._apply(unary.ExponentialOp, self.value)

    def exponential_minus_one(self) -> Tensor:
        return self._apply(unary.ExponentialMinusOneOp, self.value)

    def log(self) -> Tensor:
        return self._apply(unary.LogOp, self.value)

    def log_plus_one(self) -> Tensor:
        return self._apply(unary.LogPlusOneOp, self.value)

    def sqrt(self) -> Tensor:
        return self._apply(unary.SqrtOp, self.value)

    def floor(self) -> Tensor:
        return self._apply(unary.FloorOp, self.value)

    def round(self) -> Tensor:
        """To the nearest whole number, halves to the even one."""
        return self._apply(unary.RoundNearestEvenOp, self.value)

    def sine(self) -> Tensor:
        return self._apply(unary.SineOp, self.value)

    def cosine(self) -> Tensor:
        return self._apply(unary.CosineOp, self.value)

    def atan2(self, x: Tensor | float) -> Tensor:
        """The angle of the point (x, self)."""
        return self._with(binary.Atan2Op, x)

    def select(self, on_true: Tensor | float, on_false: Tensor | float) -> Tensor:
        """By this i1 tensor; one of the two may be a number."""
        model = on_true if isinstance(on_true, Tensor) else on_false
        assert isinstance(model, Tensor), "select of two numbers has no type"
        chosen = [one if isinstance(one, Tensor) else model.like(one) for one in (on_true, on_false)]
        return model._apply(SelectOp, self.value, chosen[0].value, chosen[1].value)

    def copysign(self, sign: Tensor) -> Tensor:
        """The size of this value, the sign of the other (of zeros too; a NaN counts as positive)."""
        size = abs(self)
        negative = (sign < 0.0) | (sign.equals(0.0) & ((1.0 / sign) < 0.0))
        return negative.select(-size, size)

    def convert(self, element_type: Attribute) -> Tensor:
        if element_of(self.value) == element_type:
            return self
        return self._apply(ConvertOp, self.value, type_=make_tensor(shape_of(self.value), element_type))

    def bits_as(self, element_type: Attribute) -> Tensor:
        """The same bits, of an element type of the same width."""
        return self._apply(BitcastConvertOp, self.value, type_=make_tensor(shape_of(self.value), element_type))

    def polynomial(self, coefficients: Sequence[float]) -> Tensor:
        """c0 + c1 x + c2 x**2 + .., by Horner's rule."""
        last, *rest = reversed(coefficients)
        result = self * last + rest[0]
        for coefficient in rest[1:]:
            result = result * self + coefficient
        return result


Decomposition: TypeAlias = Callable[[Any], Sequence[Operation]]
"""Replaces an operation where it stands (see `decomposed`); the new operations, none where it stays."""


def decomposed(op: Operation, builder: Builder, *results: Tensor) -> Sequence[Operation]:
    """Put what `builder` collected in the place of `op`; the new operations."""
    replace_op(op, builder.ops, [result.value for result in results])
    return builder.ops
