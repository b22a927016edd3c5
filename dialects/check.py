"""
The check dialect: assertions in StableHLO's test programs. Their semantics are in hlo_dialect/ops/check_calls.py.

Two operands: `check.expect_close %actual, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : t, t`.
An operand and a constant: `check.expect_eq_const %actual, dense<[1, 2]> : tensor<2xi64>`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn, Self, cast

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, opt_prop_def, prop_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.type import have_compatible_shape

from .interpreter import parse_probe_id, print_probe_id

_UI64 = IntegerType(64, Signedness.UNSIGNED)
_F64 = Float64Type()


def _parse_bounds(parser: Parser, names: Sequence[str]) -> dict[str, Attribute]:
    """`, name = number`, each at most once."""
    bounds: dict[str, Attribute] = {}
    while parser.parse_optional_punctuation(",") is not None:
        name = parser.parse_keyword_in(names)
        if name in bounds:
            parser.raise_error(f"{name} is given twice")
        parser.parse_punctuation("=")
        if name == "tolerance":
            bounds[name] = FloatAttr(float(parser.parse_number()), _F64)
        else:
            bounds[name] = IntegerAttr(parser.parse_integer(allow_negative=False), _UI64)
    return bounds


class _Check(IRDLOperation):
    """The syntax that all checks share; `BOUNDS` names the properties after the operands."""

    BOUNDS: ClassVar[tuple[str, ...]] = ()
    traits = traits_def(MemoryWriteEffect())

    def _print_bounds(self, printer: Printer) -> None:
        for name in self.BOUNDS:
            bound = self.properties.get(name)
            if isinstance(bound, IntegerAttr):
                printer.print_string(f", {name} = {bound.value.data}")
            elif isinstance(bound, FloatAttr):
                printer.print_string(f", {name} = {bound.value.data!r}")
        printer.print_op_attributes(self.attributes)

    def _reject_types(self, actual: Attribute, expected: Attribute) -> NoReturn:
        raise VerifyException(f"{self.name}: compares values of different types {actual} and {expected}")


class _CheckOfTwo(_Check):
    """A check of one operand against another; both types are written if they differ in sizes that one leaves open."""

    BOTH_TYPES: ClassVar[bool] = False
    actual = operand_def(TensorType)
    expected = operand_def(TensorType)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        actual = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        expected = parser.parse_unresolved_operand()
        bounds = _parse_bounds(parser, cls.BOUNDS)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        first = second = parser.parse_type()
        if parser.parse_optional_punctuation(",") is not None:
            second = parser.parse_type()
        operands = parser.resolve_operands([actual, expected], [first, second], parser.pos)
        return cls.create(operands=operands, properties=bounds, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        self._print_bounds(printer)
        printer.print_string(" : ")
        both = self.BOTH_TYPES or self.operands[0].type != self.operands[1].type
        shown = self.operands if both else self.operands[:1]
        printer.print_list(shown, lambda value: printer.print_attribute(value.type))

    def verify_(self) -> None:
        """Both have one element type, and shapes that agree where both are known."""
        first, second = (cast("TensorType[Any]", operand.type) for operand in self.operands)
        if first.element_type != second.element_type or not have_compatible_shape(first, second):
            self._reject_types(first, second)


class _CheckOfConstant(_Check):
    """A check of an operand against a constant of its type."""

    actual = operand_def(TensorType)
    value = prop_def(DenseIntOrFPElementsAttr)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        actual = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        value = parser.parse_attribute()
        if not isinstance(value, DenseIntOrFPElementsAttr):
            parser.raise_error("expected a dense constant")
        bounds = _parse_bounds(parser, cls.BOUNDS)
        attributes = parser.parse_optional_attr_dict()
        constant = cast("DenseIntOrFPElementsAttr[Any]", value)
        operands = parser.resolve_operands([actual], [constant.get_type()], parser.pos)
        return cls.create(operands=operands, properties={"value": constant, **bounds}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        printer.print_string(", ")
        printer.print_attribute(self.properties["value"])
        self._print_bounds(printer)

    def verify_(self) -> None:
        if self.operands[0].type != self.value.get_type():
            self._reject_types(self.operands[0].type, self.value.get_type())


@irdl_op_definition
class ExpectEqOp(_CheckOfTwo):
    """The operands are equal, element by element."""

    name = "check.expect_eq"


@irdl_op_definition
class ExpectEqConstOp(_CheckOfConstant):
    """The operand equals the constant, element by element."""

    name = "check.expect_eq_const"


@irdl_op_definition
class ExpectCloseOp(_CheckOfTwo):
    """The operands are within a number of units in the last place."""

    name = "check.expect_close"
    BOTH_TYPES: ClassVar[bool] = True
    BOUNDS: ClassVar[tuple[str, ...]] = ("max_ulp_difference", "min_ulp_difference")
    max_ulp_difference = opt_prop_def(IntegerAttr[IntegerType])
    min_ulp_difference = opt_prop_def(IntegerAttr[IntegerType])


@irdl_op_definition
class ExpectAlmostEqOp(_CheckOfTwo):
    """The operands are within an absolute tolerance."""

    name = "check.expect_almost_eq"
    BOUNDS: ClassVar[tuple[str, ...]] = ("tolerance",)
    tolerance = opt_prop_def(FloatAttr)


@irdl_op_definition
class ExpectAlmostEqConstOp(_CheckOfConstant):
    """The operand is within an absolute tolerance of the constant."""

    name = "check.expect_almost_eq_const"
    BOUNDS: ClassVar[tuple[str, ...]] = ("tolerance",)
    tolerance = opt_prop_def(FloatAttr)


@irdl_op_definition
class ExpectSerializedEqOp(IRDLOperation):
    """The operand has the bits that `interpreter.probe` kept when it ran for the `iter`-th time, from 0."""

    name = "check.expect_serialized_eq"
    expected = operand_def(TensorType)
    probe_id = prop_def(StringAttr)
    iter = opt_prop_def(IntegerAttr[IntegerType])
    traits = traits_def(MemoryWriteEffect())

    @property
    def run(self) -> int:
        return 0 if self.iter is None else self.iter.value.data

    @classmethod
    def parse(cls, parser: Parser) -> ExpectSerializedEqOp:
        operand = parser.parse_unresolved_operand()
        properties = parse_probe_id(parser)
        if parser.parse_optional_punctuation(",") is not None:
            parser.parse_keyword("iter")
            parser.parse_punctuation("=")
            properties["iter"] = IntegerAttr(parser.parse_integer(allow_negative=False), IntegerType(32))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        operands = [parser.resolve_operand(operand, parser.parse_type())]
        return cls.create(operands=operands, properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        print_probe_id(printer, self)
        if self.iter is not None:
            printer.print_string(f", iter = {self.run}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.operands[0].type)


OPS = (ExpectEqOp, ExpectEqConstOp, ExpectCloseOp, ExpectAlmostEqOp, ExpectAlmostEqConstOp, ExpectSerializedEqOp)
