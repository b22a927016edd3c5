"""
Elementwise operations of one operand.

Spec: https://openxla.org/stablehlo/spec (one section for each class here, by the name of the operation)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import ComplexType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def

from ..numbers import complex_functions, number_semantics
from ..op import CHEAP, DIVISION
from ..types import Array, i1, is_complex
from .elementwise import ElementwiseUnaryOp, Kind
from .result_accuracy import ResultAccuracyAttr, ResultAccuracyModeAttr


class TranscendentalOp(ElementwiseUnaryOp):
    """
    A unary function of floats and complex numbers that is computed with one rounding of a wider result.

    Types: float or complex (i1), result as the operand (c1). `result_accuracy` is preserved but never needed.
    """

    KINDS: ClassVar[Kind] = Kind.FLOAT | Kind.COMPLEX
    WIDE: ClassVar[bool] = True
    result_accuracy = opt_prop_def(ResultAccuracyAttr)


class RoundingOp(ElementwiseUnaryOp):
    """A unary function from floats to integral floats; infinities, NaN and signed zeros are kept (i1, c1)."""

    KINDS: ClassVar[Kind] = Kind.FLOAT
    COST: ClassVar[int] = CHEAP


class BitCountingOp(ElementwiseUnaryOp):
    """A unary function of the bits of integers (i1, c1), in their own width."""

    KINDS: ClassVar[Kind] = Kind.INTEGER
    COST: ClassVar[int] = CHEAP

    def reference(self, *operands: Array) -> Array:
        return np.asarray(self.compute(*operands))


def part_type(element_type: Attribute) -> Attribute:
    """The spec's complex_element_type of a complex type, else the type itself."""
    if is_complex(element_type):
        return cast(Attribute, cast("ComplexType[Any]", element_type).element_type)
    return element_type


@irdl_op_definition
class AbsOp(ElementwiseUnaryOp):
    """
    Absolute value; the smallest integer is its own. Complex: the modulus, a real tensor.

    Types: signed integer, float or complex (i1); result real (c2), of the operand's shape (c1).
    """

    name = "hlo.abs"
    KINDS: ClassVar[Kind] = Kind.SIGNED | Kind.FLOAT | Kind.COMPLEX
    COST: ClassVar[int] = CHEAP
    ELEMENT_CONSTRAINT: ClassVar[str] = "c2"

    def result_element(self, element_type: Attribute) -> Attribute:
        return part_type(element_type)

    def compute(self, x: Any) -> Any:
        return np.abs(x.astype(np.complex128) if x.dtype.kind == "c" else x)

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        """abs(abs(x)) is abs(x)."""
        return (self.operands[0],) if isinstance(self.operands[0].owner, AbsOp) else None


@irdl_op_definition
class CbrtOp(TranscendentalOp):
    """Cube root, of negative numbers too; complex: the principal value of x ** (1/3)."""

    name = "hlo.cbrt"

    def compute(self, x: Any) -> Any:
        return complex_functions.cbrt(x) if x.dtype.kind == "c" else np.cbrt(x)


@irdl_op_definition
class CeilOp(RoundingOp):
    """The least integer that is not below the operand."""

    name = "hlo.ceil"

    def compute(self, x: Any) -> Any:
        return np.ceil(x)


@irdl_op_definition
class CosineOp(TranscendentalOp):
    """Cosine of radians."""

    name = "hlo.cosine"

    def compute(self, x: Any) -> Any:
        return np.cos(x)


@irdl_op_definition
class CountLeadingZerosOp(BitCountingOp):
    """The number of zero bits above the highest set bit; the width for 0."""

    name = "hlo.count_leading_zeros"

    def compute(self, x: Any) -> Any:
        return number_semantics.count_leading_zeros(x)


@irdl_op_definition
class ExponentialOp(TranscendentalOp):
    """e ** x"""

    name = "hlo.exponential"

    def compute(self, x: Any) -> Any:
        return np.exp(x)


@irdl_op_definition
class ExponentialMinusOneOp(TranscendentalOp):
    """e ** x - 1, accurate near 0."""

    name = "hlo.exponential_minus_one"

    def compute(self, x: Any) -> Any:
        return complex_functions.exponential_minus_one(x) if x.dtype.kind == "c" else np.expm1(x)


@irdl_op_definition
class FloorOp(RoundingOp):
    """The greatest integer that is not above the operand."""

    name = "hlo.floor"

    def compute(self, x: Any) -> Any:
        return np.floor(x)


@irdl_op_definition
class IsFiniteOp(ElementwiseUnaryOp):
    """
    Whether the operand is neither infinite nor NaN.

    Types: float (i1), result boolean (o1) of the operand's shape (c1).
    """

    name = "hlo.is_finite"
    KINDS: ClassVar[Kind] = Kind.FLOAT
    COST: ClassVar[int] = CHEAP
    ELEMENT_CONSTRAINT: ClassVar[str] = "o1"

    def result_element(self, element_type: Attribute) -> Attribute:
        return i1

    def compute(self, x: Any) -> Any:
        return np.isfinite(x)


@irdl_op_definition
class LogOp(TranscendentalOp):
    """Natural logarithm; -inf at 0, NaN below."""

    name = "hlo.log"

    def compute(self, x: Any) -> Any:
        return np.log(x)


@irdl_op_definition
class LogPlusOneOp(TranscendentalOp):
    """log(1 + x), accurate near 0."""

    name = "hlo.log_plus_one"

    def compute(self, x: Any) -> Any:
        return complex_functions.log_plus_one(x) if x.dtype.kind == "c" else np.log1p(x)


@irdl_op_definition
class LogisticOp(TranscendentalOp):
    """1 / (1 + e ** -x)"""

    name = "hlo.logistic"

    def compute(self, x: Any) -> Any:
        return number_semantics.logistic(x)


@irdl_op_definition
class NegateOp(ElementwiseUnaryOp):
    """-x; integers modulo 2 ** width. Types: integer, float or complex (i1)."""

    name = "hlo.negate"
    KINDS: ClassVar[Kind] = Kind.NUMBER
    COST: ClassVar[int] = CHEAP
    LINEAR: ClassVar[bool] = True

    def compute(self, x: Any) -> Any:
        return np.negative(x)

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return _inner_operand(self)


@irdl_op_definition
class NotOp(ElementwiseUnaryOp):
    """Logical not of booleans, bitwise not of integers. Types: boolean or integer (i1)."""

    name = "hlo.not"
    KINDS: ClassVar[Kind] = Kind.BOOLEAN | Kind.INTEGER
    COST: ClassVar[int] = CHEAP

    def compute(self, x: Any) -> Any:
        return np.invert(x)

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return _inner_operand(self)


@irdl_op_definition
class PopcntOp(BitCountingOp):
    """The number of set bits."""

    name = "hlo.popcnt"

    def compute(self, x: Any) -> Any:
        return number_semantics.popcnt(x)


@irdl_op_definition
class RoundNearestAfzOp(RoundingOp):
    """Round to the nearest integer, halves away from zero."""

    name = "hlo.round_nearest_afz"

    def compute(self, x: Any) -> Any:
        return number_semantics.round_half_away(x)


@irdl_op_definition
class RoundNearestEvenOp(RoundingOp):
    """Round to the nearest integer, halves to even."""

    name = "hlo.round_nearest_even"

    def compute(self, x: Any) -> Any:
        return np.rint(x)


@irdl_op_definition
class RsqrtOp(TranscendentalOp):
    """1 / sqrt(x); -inf at -0."""

    name = "hlo.rsqrt"

    def compute(self, x: Any) -> Any:
        return number_semantics.rsqrt(x)


@irdl_op_definition
class SignOp(ElementwiseUnaryOp):
    """
    -1, 0 or 1; NaN and signed zeros are kept; complex: x / abs(x).

    Types: signed integer, float or complex (i1).
    """

    name = "hlo.sign"
    KINDS: ClassVar[Kind] = Kind.SIGNED | Kind.FLOAT | Kind.COMPLEX
    COST: ClassVar[int] = CHEAP

    def compute(self, x: Any) -> Any:
        return number_semantics.sign(x)


@irdl_op_definition
class SineOp(TranscendentalOp):
    """Sine of radians."""

    name = "hlo.sine"

    def compute(self, x: Any) -> Any:
        return np.sin(x)


@irdl_op_definition
class SqrtOp(TranscendentalOp):
    """Square root; NaN below 0, -0 at -0."""

    name = "hlo.sqrt"
    COST: ClassVar[int] = DIVISION

    def compute(self, x: Any) -> Any:
        return np.sqrt(x)


@irdl_op_definition
class TanOp(TranscendentalOp):
    """Tangent of radians."""

    name = "hlo.tan"

    def compute(self, x: Any) -> Any:
        return np.tan(x)


@irdl_op_definition
class TanhOp(TranscendentalOp):
    """Hyperbolic tangent."""

    name = "hlo.tanh"

    def compute(self, x: Any) -> Any:
        return np.tanh(x)


def _inner_operand(op: ElementwiseUnaryOp) -> Sequence[SSAValue] | None:
    """`x` where `op` is an involution applied to itself: op(op(x))."""
    inner = op.operands[0].owner
    if (
        isinstance(inner, ElementwiseUnaryOp)
        and type(inner) is type(op)
        and inner.operands[0].type == op.results[0].type
    ):
        return (inner.operands[0],)
    return None


OPS = (
    AbsOp,
    CbrtOp,
    CeilOp,
    CosineOp,
    CountLeadingZerosOp,
    ExponentialOp,
    ExponentialMinusOneOp,
    FloorOp,
    IsFiniteOp,
    LogOp,
    LogPlusOneOp,
    LogisticOp,
    NegateOp,
    NotOp,
    PopcntOp,
    RoundNearestAfzOp,
    RoundNearestEvenOp,
    RsqrtOp,
    SignOp,
    SineOp,
    SqrtOp,
    TanOp,
    TanhOp,
)
ATTRIBUTES = (ResultAccuracyAttr, ResultAccuracyModeAttr)
