"""The shape dialect's conditions on shapes, and regions that rely on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr, i1
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsTerminator,
    Pure,
    RecursiveMemoryEffect,
    SingleBlockImplicitTerminator,
    ensure_terminator,
)
from xdsl.utils.exceptions import VerifyException

from .syntax import ShapeOp, Signature, parse_types
from .types import WitnessType, is_shape, is_type

_TEST = Signature((is_shape, is_shape), is_type(i1), more=True, result_type=i1)
_CONSTRAINT = Signature((is_shape, is_shape), is_type(WitnessType()), more=True, result_type=WitnessType())


@irdl_op_definition
class ShapeEqOp(ShapeOp):
    """Whether all shapes are the same."""

    name = "shape.shape_eq"
    SIGNATURE: ClassVar[Signature] = _TEST


@irdl_op_definition
class IsBroadcastableOp(ShapeOp):
    """Whether the shapes broadcast to one."""

    name = "shape.is_broadcastable"
    SIGNATURE: ClassVar[Signature] = _TEST


@irdl_op_definition
class CstrBroadcastableOp(ShapeOp):
    """The constraint that the shapes broadcast to one."""

    name = "shape.cstr_broadcastable"
    SIGNATURE: ClassVar[Signature] = _CONSTRAINT


@irdl_op_definition
class CstrEqOp(ShapeOp):
    """The constraint that all shapes are the same."""

    name = "shape.cstr_eq"
    SIGNATURE: ClassVar[Signature] = _CONSTRAINT


@irdl_op_definition
class CstrRequireOp(ShapeOp):
    """The constraint that a condition holds; `msg` says what is wrong where it does not."""

    name = "shape.cstr_require"
    SIGNATURE: ClassVar[Signature] = Signature(
        (is_type(i1),), is_type(WitnessType()), operand_type=i1, result_type=WitnessType()
    )
    msg = prop_def(StringAttr)

    @classmethod
    def parse_rest(cls, parser: Parser) -> dict[str, Attribute]:
        return {"msg": StringAttr(parser.parse_str_literal())}

    def print_rest(self, printer: Printer) -> tuple[str, ...]:
        printer.print_string(", ")
        printer.print_attribute(self.msg)
        return ("msg",)


@irdl_op_definition
class AssumingAllOp(ShapeOp):
    """The conjunction of constraints."""

    name = "shape.assuming_all"
    SIGNATURE: ClassVar[Signature] = Signature(
        (is_type(WitnessType()),),
        is_type(WitnessType()),
        more=True,
        operand_type=WitnessType(),
        result_type=WitnessType(),
    )


@irdl_op_definition
class ConstWitnessOp(ShapeOp):
    """A constraint that is known to hold, or not to."""

    name = "shape.const_witness"
    SIGNATURE: ClassVar[Signature] = Signature(
        (), is_type(WitnessType()), operand_type=WitnessType(), result_type=WitnessType()
    )
    passing = prop_def(IntegerAttr[IntegerType])

    @classmethod
    def parse_rest(cls, parser: Parser) -> dict[str, Attribute]:
        return {"passing": IntegerAttr(int(parser.parse_boolean()), i1)}

    def print_rest(self, printer: Printer) -> tuple[str, ...]:
        printer.print_string(" true" if self.passing.value.data else " false")
        return ("passing",)


@irdl_op_definition
class AssumingYieldOp(IRDLOperation):
    """Ends the region of `shape.assuming` with its results."""

    name = "shape.assuming_yield"
    values = var_operand_def()
    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(AssumingOp), Pure()))

    @classmethod
    def parse(cls, parser: Parser) -> AssumingYieldOp:
        attributes = parser.parse_optional_attr_dict()
        unresolved: list[UnresolvedOperand] = []
        if (first := parser.parse_optional_unresolved_operand()) is not None:
            unresolved.append(first)
            while parser.parse_optional_punctuation(",") is not None:
                unresolved.append(parser.parse_unresolved_operand())
        position = parser.pos
        operands = parser.resolve_operands(unresolved, parse_types(parser) if unresolved else (), position)
        return cls.create(operands=operands, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_operand)
            printer.print_string(" : ")
            printer.print_list(self.operand_types, printer.print_attribute)


@irdl_op_definition
class AssumingOp(IRDLOperation):
    """
    `shape.assuming %w -> (t) { .. }`: the region's results, computed once the constraint is known to hold.

    Raises: VerifyException where the region yields other types than the results'.
    """

    name = "shape.assuming"
    witness = operand_def(WitnessType)
    body = region_def("single_block")
    outputs = var_result_def()
    traits = traits_def(RecursiveMemoryEffect(), SingleBlockImplicitTerminator(AssumingYieldOp))

    @classmethod
    def parse(cls, parser: Parser) -> AssumingOp:
        witness = parser.resolve_operand(parser.parse_unresolved_operand(), WitnessType())
        results: Sequence[Attribute] = ()
        if parser.parse_optional_punctuation("->") is not None:
            results = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        region = parser.parse_region()
        attributes = parser.parse_optional_attr_dict()
        op = cls.create(operands=[witness], result_types=results, regions=[region], attributes=attributes)
        for trait in op.get_traits_of_type(SingleBlockImplicitTerminator):
            ensure_terminator(op, trait)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.witness)
        if self.results:
            printer.print_string(" -> (")
            printer.print_list(self.result_types, printer.print_attribute)
            printer.print_string(")")
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False, print_block_terminators=bool(self.results))
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        last = self.body.block.last_op
        found = None if last is None else last.operand_types
        if self.body.block.args or found != self.result_types:
            raise VerifyException("the region has arguments, or yields other types than those of the results")


OPS = (
    ShapeEqOp,
    IsBroadcastableOp,
    CstrBroadcastableOp,
    CstrEqOp,
    CstrRequireOp,
    AssumingAllOp,
    ConstWitnessOp,
    AssumingOp,
    AssumingYieldOp,
)
