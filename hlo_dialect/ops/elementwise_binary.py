"""
Elementwise operations of two operands.

Spec: https://openxla.org/stablehlo/spec (one section for each class here, by the name of the operation)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition

from ..diagnostics import fail
from ..numbers import number_semantics
from ..op import CHEAP, DIVISION
from ..types import Array, element_of, is_boolean, is_unsigned
from .creation import is_splat_of, splat_like
from .elementwise import ElementwiseBinaryOp, Kind, kind_of

Folded = Sequence[SSAValue | Attribute] | None
_BITS = Kind.BOOLEAN | Kind.INTEGER


def _kept(op: ElementwiseBinaryOp, index: int) -> Folded:
    """Fold to operand `index`, if it has the result's type."""
    operand = op.operands[index]
    return (operand,) if operand.type == op.results[0].type else None


def _same_operands(op: ElementwiseBinaryOp) -> bool:
    return op.operands[0] is op.operands[1]


def _is_exact(op: ElementwiseBinaryOp) -> bool:
    """Whether the operands are booleans or integers, so that algebraic identities are exact."""
    return kind_of(element_of(op.results[0])) in _BITS


def _neutral(op: ElementwiseBinaryOp, number: complex, commutes: bool = True) -> Folded:
    """Fold `x op number` to x, and `number op x` if `op` commutes."""
    if is_splat_of(op.operands[1], number):
        return _kept(op, 0)
    return _kept(op, 1) if commutes and is_splat_of(op.operands[0], number) else None


@irdl_op_definition
class AddOp(ElementwiseBinaryOp):
    """
    Sum; booleans: or; integers modulo 2 ** width.

    Types: any (i1), operands and result the same (c1); c2..c7 are on quantized types.
    """

    name = "hlo.add"
    COST: ClassVar[int] = CHEAP
    LINEAR: ClassVar[bool] = True

    def compute(self, x: Any, y: Any) -> Any:
        return np.add(x, y)

    def fold(self) -> Folded:
        """x + 0 for integers; for floats only x + -0.0 is x for every x."""
        kind = kind_of(element_of(self.results[0]))
        if kind is Kind.COMPLEX:
            return None
        return _neutral(self, -0.0 if kind is Kind.FLOAT else 0)


@irdl_op_definition
class AndOp(ElementwiseBinaryOp):
    """Logical and of booleans, bitwise and of integers. Types: boolean or integer (i1)."""

    name = "hlo.and"
    KINDS: ClassVar[Kind] = _BITS
    COST: ClassVar[int] = CHEAP

    def compute(self, x: Any, y: Any) -> Any:
        return np.bitwise_and(x, y)

    def fold(self) -> Folded:
        if _same_operands(self):
            return _kept(self, 0)
        ones = _all_ones(self)
        if any(is_splat_of(operand, 0) for operand in self.operands):
            return splat_like(self.results[0], 0)
        return _neutral(self, ones)


@irdl_op_definition
class Atan2Op(ElementwiseBinaryOp):
    """The angle of the point (x = rhs, y = lhs) in [-pi, pi], C's atan2. Types: float or complex (i1)."""

    name = "hlo.atan2"
    KINDS: ClassVar[Kind] = Kind.FLOAT | Kind.COMPLEX
    WIDE: ClassVar[bool] = True

    def compute(self, x: Any, y: Any) -> Any:
        if x.dtype.kind == "c":
            return -1j * np.log((y + 1j * x) / np.sqrt(x * x + y * y))
        return np.arctan2(x, y)


@irdl_op_definition
class DivideOp(ElementwiseBinaryOp):
    """
    Quotient. Integers: toward zero; x / 0 has all bits set, the smallest / -1 is the smallest.

    Types: integer, float or complex (i1).
    """

    name = "hlo.divide"
    KINDS: ClassVar[Kind] = Kind.NUMBER
    COST: ClassVar[int] = DIVISION

    def compute(self, x: Any, y: Any) -> Any:
        return number_semantics.divide(x, y)

    def fold(self) -> Folded:
        return _neutral(self, 1, commutes=False)


@irdl_op_definition
class MaximumOp(ElementwiseBinaryOp):
    """The larger; NaN wins, +0 is above -0; booleans: or; complex: by real, then imaginary part. Types: any (i1)."""

    name = "hlo.maximum"
    COST: ClassVar[int] = CHEAP

    def compute(self, x: Any, y: Any) -> Any:
        return number_semantics.maximum(x, y)

    def fold(self) -> Folded:
        return _kept(self, 0) if _same_operands(self) else None


@irdl_op_definition
class MinimumOp(ElementwiseBinaryOp):
    """The smaller; NaN wins, -0 is below +0; booleans: and; complex: by real, then imaginary part. Types: any (i1)."""

    name = "hlo.minimum"
    COST: ClassVar[int] = CHEAP

    def compute(self, x: Any, y: Any) -> Any:
        return number_semantics.minimum(x, y)

    def fold(self) -> Folded:
        return _kept(self, 0) if _same_operands(self) else None


@irdl_op_definition
class MultiplyOp(ElementwiseBinaryOp):
    """Product; booleans: and; integers modulo 2 ** width. Types: any (i1)."""

    name = "hlo.multiply"
    COST: ClassVar[int] = CHEAP

    def compute(self, x: Any, y: Any) -> Any:
        return number_semantics.multiply(x, y)

    def fold(self) -> Folded:
        """x * 1, and x * 0 for integers (a float x may be NaN, infinite or negative)."""
        if kind_of(element_of(self.results[0])) is Kind.COMPLEX:
            return None
        if _is_exact(self) and any(is_splat_of(operand, 0) for operand in self.operands):
            return splat_like(self.results[0], 0)
        return _neutral(self, 1)


@irdl_op_definition
class OrOp(ElementwiseBinaryOp):
    """Logical or of booleans, bitwise or of integers. Types: boolean or integer (i1)."""

    name = "hlo.or"
    KINDS: ClassVar[Kind] = _BITS
    COST: ClassVar[int] = CHEAP

    def compute(self, x: Any, y: Any) -> Any:
        return np.bitwise_or(x, y)

    def fold(self) -> Folded:
        if _same_operands(self):
            return _kept(self, 0)
        ones = _all_ones(self)
        if any(is_splat_of(operand, ones) for operand in self.operands):
            return splat_like(self.results[0], ones)
        return _neutral(self, 0)


@irdl_op_definition
class PowerOp(ElementwiseBinaryOp):
    """
    lhs ** rhs, C's pow for floats. Integers modulo 2 ** width; the truncated reciprocal for a negative exponent.

    Types: integer, float or complex (i1).
    """

    name = "hlo.power"
    KINDS: ClassVar[Kind] = Kind.NUMBER
    WIDE: ClassVar[bool] = True

    def compute(self, x: Any, y: Any) -> Any:
        return number_semantics.power(x, y)

    def fold(self) -> Folded:
        return None if kind_of(element_of(self.results[0])) is Kind.COMPLEX else _neutral(self, 1, commutes=False)


@irdl_op_definition
class RemainderOp(ElementwiseBinaryOp):
    """
    Remainder of the division toward zero, with the sign of `lhs`. Integers: x % 0 is x. Floats: C's fmod.

    Types: integer, float or complex (i1); there is no reference for complex numbers.
    """

    name = "hlo.remainder"
    KINDS: ClassVar[Kind] = Kind.NUMBER

    def compute(self, x: Any, y: Any) -> Any:
        if x.dtype.kind == "c":
            fail(self, "has no reference for complex numbers: the specification does not define their remainder")
        return number_semantics.remainder(x, y)

    def fold(self) -> Folded:
        return splat_like(self.results[0], 0) if _is_exact(self) and is_splat_of(self.operands[1], 1) else None


class ShiftOp(ElementwiseBinaryOp):
    """A shift of integers by an amount that is read as unsigned (i1, c1)."""

    KINDS: ClassVar[Kind] = Kind.INTEGER
    COST: ClassVar[int] = CHEAP

    def fold(self) -> Folded:
        return _neutral(self, 0, commutes=False)

    def reference(self, *operands: Array) -> Array:
        """Computed in the operands' own width."""
        return np.asarray(self.compute(*operands))


@irdl_op_definition
class ShiftLeftOp(ShiftOp):
    """lhs * 2 ** rhs modulo 2 ** width; 0 for amounts from the width on."""

    name = "hlo.shift_left"

    def compute(self, x: Any, y: Any) -> Any:
        return number_semantics.shift(x, y, "left")


@irdl_op_definition
class ShiftRightArithmeticOp(ShiftOp):
    """Shift right that repeats the sign bit; amounts from the width on give all sign bits."""

    name = "hlo.shift_right_arithmetic"

    def compute(self, x: Any, y: Any) -> Any:
        return number_semantics.shift(x, y, "arithmetic")


@irdl_op_definition
class ShiftRightLogicalOp(ShiftOp):
    """Shift right that fills with zeros; 0 for amounts from the width on."""

    name = "hlo.shift_right_logical"

    def compute(self, x: Any, y: Any) -> Any:
        return number_semantics.shift(x, y, "logical")


@irdl_op_definition
class SubtractOp(ElementwiseBinaryOp):
    """Difference; integers modulo 2 ** width. Types: integer, float or complex (i1)."""

    name = "hlo.subtract"
    KINDS: ClassVar[Kind] = Kind.NUMBER
    COST: ClassVar[int] = CHEAP
    LINEAR: ClassVar[bool] = True

    def compute(self, x: Any, y: Any) -> Any:
        return np.subtract(x, y)

    def fold(self) -> Folded:
        """x - 0 (of floats +0.0, which leaves -0.0 alone), and x - x for integers (a float x may be NaN)."""
        kind = kind_of(element_of(self.results[0]))
        if kind is Kind.COMPLEX:
            return None
        if _same_operands(self) and _is_exact(self):
            return splat_like(self.results[0], 0)
        return _neutral(self, 0.0 if kind is Kind.FLOAT else 0, commutes=False)


@irdl_op_definition
class XorOp(ElementwiseBinaryOp):
    """Logical exclusive or of booleans, bitwise of integers. Types: boolean or integer (i1)."""

    name = "hlo.xor"
    KINDS: ClassVar[Kind] = _BITS
    COST: ClassVar[int] = CHEAP

    def compute(self, x: Any, y: Any) -> Any:
        return np.bitwise_xor(x, y)

    def fold(self) -> Folded:
        if _same_operands(self):
            return splat_like(self.results[0], 0)
        return _neutral(self, 0)


def _all_ones(op: ElementwiseBinaryOp) -> int:
    """The element with all bits set."""
    element_type = element_of(op.results[0])
    if is_unsigned(element_type):
        return (1 << cast("IntegerType", element_type).width.data) - 1
    return 1 if is_boolean(element_type) else -1


OPS = (
    AddOp,
    AndOp,
    Atan2Op,
    DivideOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
    OrOp,
    PowerOp,
    RemainderOp,
    ShiftLeftOp,
    ShiftRightArithmeticOp,
    ShiftRightLogicalOp,
    SubtractOp,
    XorOp,
)
