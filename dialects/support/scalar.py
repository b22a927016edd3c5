"""
A small notation for straight-line arithmetic: `Scalar` overloads the operators, each of which emits one arith
operation.

It is independent of the target. `KernelScalar` (`lowering/loop_nests/kernel_builder.py`) derives from it: it shares a
kernel's constants and inserts at a builder's insertion point.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import copysign
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    f32,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from .attributes import MAY_WRAP, integer_attr
from .classes import one_of
from .creation import append, append_new, create_op

FLOATS = (BFloat16Type, Float16Type, Float32Type, Float64Type)
NO_FASTMATH = arith.FastMathFlagsAttr("none")

_FLOAT_PREDICATES = {"eq": 1, "gt": 2, "ge": 3, "lt": 4, "le": 5, "uge": 10, "ne": 13, "uno": 14}
INTEGER_PREDICATES = {
    "eq": 0,
    "ne": 1,
    "lt": 2,
    "le": 3,
    "gt": 4,
    "ge": 5,
    "ult": 6,
    "ule": 7,
    "ugt": 8,
    "uge": 9,
}

_is_float = one_of(*FLOATS)


def _float_attr(value: float, type_: Attribute) -> FloatAttr[Any]:
    return _cached_float_attr(value, copysign(1.0, value), type_)


@lru_cache(maxsize=1024)
def _cached_float_attr(value: float, sign: float, type_: Attribute) -> FloatAttr[Any]:
    # The sign is a separate key, because 0.0 and -0.0 are equal in Python.
    return FloatAttr(value, cast(Any, type_))


def width_of(type_: Attribute) -> int:
    """Bits of a scalar type."""
    return 64 if isinstance(type_, IndexType) else cast(Any, type_).bitwidth


def constant(block: Block, value: float | int, type_: Attribute) -> Scalar:
    """`arith.constant` of a scalar type at the end of `block`."""
    properties = {"value": scalar_attr(value, type_)}
    return Scalar(block, append_new(block, arith.ConstantOp, (), type_, properties))


def scalar_attr(value: float | int, type_: Attribute) -> IntegerAttr[Any] | FloatAttr[Any]:
    return _float_attr(float(value), type_) if _is_float(type_) else integer_attr(int(value), type_)


class Scalar:
    """A value under construction in `block`; operators append operations to the block."""

    __slots__ = ("block", "value")

    def __init__(self, block: Block, value: SSAValue):
        self.block = block
        self.value = value

    @property
    def type(self) -> Attribute:
        return self.value.type

    @property
    def is_float(self) -> bool:
        return _is_float(self.value.type)

    def _emit(
        self,
        cls: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        **properties: Attribute,
    ) -> Scalar:
        op = create_op(cls, operands=operands, result_types=[result], properties=properties)
        self._insert(op)
        return self._at(op.results[0])

    def _insert(self, op: Operation) -> None:
        append(self.block, op)

    def _at(self, value: SSAValue) -> Scalar:
        """Another value under construction in the same block."""
        return Scalar(self.block, value)

    def constant(self, value: float | int, type_: Attribute | None = None) -> Scalar:
        """A constant of this value's type, or of `type_`."""
        return constant(self.block, value, self.type if type_ is None else type_)

    def lift(self, other: Operand) -> Scalar:
        if isinstance(other, Scalar):
            return other
        return self._at(other) if isinstance(other, SSAValue) else self.constant(other)

    def _binary(self, float_op: type[Operation], int_op: type[Operation] | None, other: Operand) -> Scalar:
        right = self.lift(other)
        if self.is_float:
            return self._emit(float_op, (self.value, right.value), self.type, fastmath=NO_FASTMATH)
        assert int_op is not None, f"{float_op.name} has no integer form"
        properties: dict[str, Attribute] = {}
        if int_op in (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.ShLIOp):
            properties["overflowFlags"] = MAY_WRAP
        return self._emit(int_op, (self.value, right.value), self.type, **properties)

    def __add__(self, other: Operand) -> Scalar:
        return self._binary(arith.AddfOp, arith.AddiOp, other)

    def __sub__(self, other: Operand) -> Scalar:
        return self._binary(arith.SubfOp, arith.SubiOp, other)

    def __rsub__(self, other: float) -> Scalar:
        return self.constant(other) - self

    def __mul__(self, other: Operand) -> Scalar:
        return self._binary(arith.MulfOp, arith.MuliOp, other)

    def __truediv__(self, other: Operand) -> Scalar:
        return self._binary(arith.DivfOp, None, other)

    def __rtruediv__(self, other: float) -> Scalar:
        return self.constant(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Scalar:
        if self.is_float:
            return self._emit(arith.NegfOp, (self.value,), self.type, fastmath=NO_FASTMATH)
        return self.constant(0) - self

    def __and__(self, other: Operand) -> Scalar:
        return self._emit(arith.AndIOp, (self.value, self.lift(other).value), self.type)

    def __or__(self, other: Operand) -> Scalar:
        return self._emit(arith.OrIOp, (self.value, self.lift(other).value), self.type)

    def __xor__(self, other: Operand) -> Scalar:
        return self._emit(arith.XOrIOp, (self.value, self.lift(other).value), self.type)

    def __lshift__(self, other: Operand) -> Scalar:
        return self._binary(arith.ShLIOp, arith.ShLIOp, other)

    def __rshift__(self, other: Operand) -> Scalar:
        """Arithmetic right shift."""
        return self._emit(arith.ShRSIOp, (self.value, self.lift(other).value), self.type)

    def shift_right_logical(self, other: int) -> Scalar:
        return self._emit(arith.ShRUIOp, (self.value, self.lift(other).value), self.type)

    def apply(self, cls: type[Operation], *others: Operand) -> Scalar:
        """An operation whose operands and result have this type; float ones without fast-math."""
        operands = (self.value, *(self.lift(other).value for other in others))
        if self.is_float:
            return self._emit(cls, operands, self.type, fastmath=NO_FASTMATH)
        return self._emit(cls, operands, self.type)

    def fma(self, multiplier: Operand, addend: Operand) -> Scalar:
        """self * multiplier + addend, rounded once."""
        operands = (self.value, self.lift(multiplier).value, self.lift(addend).value)
        return self._emit(math.FmaOp, operands, self.type, fastmath=NO_FASTMATH)

    def abs(self) -> Scalar:
        return self._emit(math.AbsFOp, (self.value,), self.type, fastmath=NO_FASTMATH)

    def sqrt(self) -> Scalar:
        return self._emit(math.SqrtOp, (self.value,), self.type, fastmath=NO_FASTMATH)

    def copysign(self, sign: Scalar) -> Scalar:
        return self._emit(math.CopySignOp, (self.value, sign.value), self.type, fastmath=NO_FASTMATH)

    def trunc(self) -> Scalar:
        return self._emit(math.TruncOp, (self.value,), self.type, fastmath=NO_FASTMATH)

    def round_even(self) -> Scalar:
        return self._emit(math.RoundEvenOp, (self.value,), self.type, fastmath=NO_FASTMATH)

    def compare(self, predicate: str, other: Operand) -> Scalar:
        """
        An ordered comparison (signed for integers): lt, le, gt, ge, eq; ne and uno are unordered, as is uge, which of
        integers is unsigned.
        """
        operands = (self.value, self.lift(other).value)
        if self.is_float:
            code = integer_attr(_FLOAT_PREDICATES[predicate], i64)
            return self._emit(arith.CmpfOp, operands, i1, predicate=code, fastmath=NO_FASTMATH)
        return self._emit(arith.CmpiOp, operands, i1, predicate=integer_attr(INTEGER_PREDICATES[predicate], i64))

    def select(self, if_true: Operand, if_false: Operand) -> Scalar:
        """self ? if_true : if_false; at least one of the two must be a value."""
        model = if_true if isinstance(if_true, (Scalar, SSAValue)) else if_false
        assert isinstance(model, (Scalar, SSAValue))
        model = self.lift(model)
        left, right = model.lift(if_true), model.lift(if_false)
        return self._emit(arith.SelectOp, (self.value, left.value, right.value), left.type)

    def bitcast(self, type_: Attribute) -> Scalar:
        return self._emit(arith.BitcastOp, (self.value,), type_)

    def bits(self) -> Scalar:
        """The float's bit pattern as an integer of the same width."""
        return self.bitcast(IntegerType(width_of(self.type)))

    def to_float(self, type_: Attribute) -> Scalar:
        """A signed integer as a float, rounded to nearest even."""
        return self._emit(arith.SIToFPOp, (self.value,), type_)

    def cast(self, cls: type[Operation], type_: Attribute) -> Scalar:
        """A conversion operation to `type_`."""
        return self._emit(cls, (self.value,), type_)

    def extend(self, type_: Attribute) -> Scalar:
        """To a wider float, or sign-extended to a wider integer."""
        if self.is_float:
            return self._emit(arith.ExtFOp, (self.value,), type_)
        return self._emit(arith.ExtSIOp, (self.value,), type_)

    def truncate(self, type_: Attribute) -> Scalar:
        """To a narrower float, rounded to nearest even; or an integer's low bits."""
        if self.is_float:
            return self._emit(arith.TruncFOp, (self.value,), type_)
        return self._emit(arith.TruncIOp, (self.value,), type_)


Operand: TypeAlias = Scalar | SSAValue | float
"""Operands of the operators besides a Scalar; a number becomes a constant of its type."""


LOG_FOR_SINGLE = (0.6666666346410806, 0.4000087579195163, 0.2850445573514684, 0.24152111788715866)
"""P in log((1+s)/(1-s)) = 2s + s^3 P(s^2) for |s| <= 1/5, whose error relative to 2s is 4e-11: in f64, for f32."""


def polynomial(x: Scalar, coefficients: Sequence[float]) -> Scalar:
    """c0 + c1 x + c2 x^2 + .. by Horner's rule in fused multiply-adds."""
    result = x.constant(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = result.fma(x, coefficient)
    return result


def power_of_two(exponent: Scalar, type_: Attribute) -> Scalar:
    """2**exponent as a float, for an integer exponent of the float's width in the normal range."""
    bias, shift = (1023, 52) if width_of(type_) == 64 else (127, 23)
    return ((exponent + bias) << shift).bitcast(type_)


def is_double(x: Scalar) -> bool:
    return width_of(x.type) == 64


def in_double(x: Scalar) -> Scalar:
    """An f32 as f64."""
    return x.extend(f64)


def to_single(x: Scalar) -> Scalar:
    return x.truncate(f32)
