"""
The chlo dialect: functions that clients leave whole and that decompose into hlo (`convert-chlo-to-hlo`).

They are here and not in `dialects/` because they are operations like hlo's: one base class, types, references.
This file has the base classes and the operations that bits and signs define; chlo_elementary.py, chlo_special.py,
chlo_broadcasts.py and chlo_structural.py have the rest. Constraints are named as hlo's; chlo has no specification that
numbers them: i1, i2 are the operands' element types, c1 is the result's type, the rest is said in each class.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from xdsl.dialects.builtin import TensorType, UnrankedTensorType
from xdsl.ir import Attribute
from xdsl.irdl import base, irdl_op_definition, operand_def, result_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from ..numbers import complex_functions
from ..ops.elementwise import ElementwiseBinaryOp, ElementwiseUnaryOp, Kind
from ..syntax.elementwise import build, parse_function_types, parse_operands
from ..syntax.structural import print_attributes, print_operands
from ..types import Array, element_of, i1, numpy_dtype

ANY_RANK = base(TensorType) | base(UnrankedTensorType)
"""The tensors that chlo takes before ranks are known; none of them can run."""


def parse_arrow_types(cls: type[Any], parser: Parser, count: int) -> Any:
    """` %a, %b {..} : t, t -> t`, or with a function type."""
    operands = parse_operands(parser, count)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    types = parse_function_types(parser)
    if types is None:
        inputs: list[Attribute] = []
        for index in range(count):
            if index:
                parser.parse_punctuation(",")
            inputs.append(parser.parse_type())
        parser.parse_punctuation("->")
        types = inputs, parser.parse_type()
    return build(cls, parser, operands, types, attributes)


def print_arrow_types(printer: Printer, op: Any) -> None:
    """The inverse of `parse_arrow_types`."""
    print_operands(printer, op)
    print_attributes(printer, op)
    printer.print_string(" : ")
    printer.print_list(op.operand_types, printer.print_attribute)
    printer.print_string(" -> ")
    printer.print_attribute(op.results[0].type)


class ChloUnaryOp(ElementwiseUnaryOp):
    """A unary function whose type list is `: t -> t`."""

    operand = operand_def(ANY_RANK)
    result = result_def(ANY_RANK)

    KINDS: ClassVar[Kind] = Kind.FLOAT
    WIDE: ClassVar[bool] = True

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return parse_arrow_types(cls, parser, 1)

    def print(self, printer: Printer) -> None:
        print_arrow_types(printer, self)


class ChloBinaryOp(ElementwiseBinaryOp):
    """A binary function whose type list is `: t, t -> t`."""

    lhs = operand_def(ANY_RANK)
    rhs = operand_def(ANY_RANK)
    result = result_def(ANY_RANK)

    KINDS: ClassVar[Kind] = Kind.FLOAT
    WIDE: ClassVar[bool] = True

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return parse_arrow_types(cls, parser, 2)

    def print(self, printer: Printer) -> None:
        print_arrow_types(printer, self)


@irdl_op_definition
class SquareOp(ChloUnaryOp):
    """x * x; complex: (x - y) (x + y) + 2 i x y. Types: float or complex (i1), result as the operand (c1)."""

    name = "chlo.square"
    KINDS: ClassVar[Kind] = Kind.FLOAT | Kind.COMPLEX
    WIDE: ClassVar[bool] = False

    def compute(self, x: Any) -> Any:
        return complex_functions.square(x) if x.dtype.kind == "c" else np.multiply(x, x)


@irdl_op_definition
class ConjOp(ChloUnaryOp):
    """The complex conjugate; the identity on real numbers. Types: float or complex (i1), result as the operand (c1)."""

    name = "chlo.conj"
    KINDS: ClassVar[Kind] = Kind.FLOAT | Kind.COMPLEX

    def compute(self, x: Any) -> Any:
        return np.conj(x)


class InfinityPredicateOp(ChloUnaryOp):
    """Whether an element is a certain infinity. Types: float (i1), result boolean (o1) of the operand's shape (c1)."""

    ELEMENT_CONSTRAINT: ClassVar[str] = "o1"

    def result_element(self, element_type: Attribute) -> Attribute:
        return i1


@irdl_op_definition
class IsInfOp(InfinityPredicateOp):
    """Whether the operand is infinite, of either sign."""

    name = "chlo.is_inf"

    def compute(self, x: Any) -> Any:
        return np.isinf(x)


@irdl_op_definition
class IsNegInfOp(InfinityPredicateOp):
    """Whether the operand is -inf."""

    name = "chlo.is_neg_inf"

    def compute(self, x: Any) -> Any:
        return np.equal(x, -np.inf)


@irdl_op_definition
class IsPosInfOp(InfinityPredicateOp):
    """Whether the operand is +inf."""

    name = "chlo.is_pos_inf"

    def compute(self, x: Any) -> Any:
        return np.equal(x, np.inf)


@irdl_op_definition
class NextAfterOp(ChloBinaryOp):
    """
    The number next to x in the direction of y, as C's nextafter: y itself where both are equal, NaN where one is.

    From a zero it is the smallest denormal number. Types: float (i1), all of one type (c1).
    """

    name = "chlo.next_after"

    def reference(self, *operands: Array) -> Array:
        x, y = operands
        with np.errstate(all="ignore"):
            # NumPy returns x for equal f16, which may be the other zero.
            found: Any = np.where(x == y, y, np.nextafter(x, y))
        return np.asarray(found).astype(numpy_dtype(element_of(self.results[0])))


@irdl_op_definition
class MulhiOp(ChloBinaryOp):
    """The upper half of the product of twice the width. Types: integer (i1), all of one type (c1)."""

    name = "chlo.mulhi"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    KINDS: ClassVar[Kind] = Kind.INTEGER

    def reference(self, *operands: Array) -> Array:
        dtype: Any = numpy_dtype(element_of(self.results[0]))
        width = int(element_of(self.results[0]).width.data)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
        lhs, rhs = (operand.astype(object) for operand in operands)
        upper: Any = np.frompyfunc(lambda a, b: (int(a) * int(b)) >> width, 2, 1)(lhs, rhs)  # pyright: ignore
        return np.asarray(upper).astype(np.int64 if np.dtype(dtype).kind != "u" else np.uint64).astype(dtype)


OPS = (SquareOp, ConjOp, IsInfOp, IsNegInfOp, IsPosInfOp, NextAfterOp, MulhiOp)
