"""
Tuples: heterogeneous lists of values, for programs from HLO text. The reference represents them by Python tuples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType, TupleType
from xdsl.ir import Attribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from ..attributes import int_attr
from ..op import HloOp, reject
from ..shapes import types_agree, verify_results_agree
from ..syntax.structural import finish_functional, print_attributes, print_functional, print_values, split_attributes
from ..types import Array, i32


def _elements(type_: Attribute) -> tuple[Attribute, ...]:
    return type_.types.data if isinstance(type_, TupleType) else ()


@irdl_op_definition
class TupleOp(HloOp):
    """
    A tuple of the given values.

    Shapes: result is `tuple<type(val[0]), ..>`.
    Raises: VerifyException naming tuple_c1.
    Spec:   https://openxla.org/stablehlo/spec#tuple
    """

    name = "hlo.tuple"
    val = var_operand_def()
    result = result_def(TupleType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> TupleOp:
        operands = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        parser.parse_punctuation(":")
        position = parser.pos
        functional = parser.parse_optional_function_type()
        if functional is not None:
            if len(functional.outputs.data) != 1:
                parser.raise_error(f"expected one result type, got {len(functional.outputs.data)}", position)
            types: Sequence[Attribute] = functional.inputs.data
            result: Attribute = functional.outputs.data[0]
        else:
            result = parser.parse_type()
            types = _elements(result)
        values = parser.resolve_operands(operands or [], types, position)
        return cls.create(operands=values, result_types=[result], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            print_values(printer, self.operands)
        print_attributes(printer, self)
        if tuple(self.operand_types) == _elements(self.results[0].type):
            printer.print_string(" : ")
            printer.print_attribute(self.results[0].type)
        else:
            print_functional(printer, self)

    def infer_types(self) -> tuple[Attribute, ...]:
        return (TupleType(cast("tuple[TypeAttribute, ...]", tuple(self.operand_types))),)

    def verify_(self) -> None:
        elements = _elements(self.results[0].type)
        agree = len(elements) == len(self.operands) and all(map(types_agree, self.operand_types, elements))
        if not agree:
            reject(
                f"tuple_c1: result has type {self.results[0].type}, the values have types "
                f"({', '.join(map(str, self.operand_types))})"
            )

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        # There is one result, the tuple.
        return (cast(Any, operands),)


@irdl_op_definition
class GetTupleElementOp(HloOp):
    """
    The element of a tuple at a constant position.

    Shapes: result has the type of the element.
    Raises: VerifyException naming get_tuple_element_c1, get_tuple_element_c2.
    Spec:   https://openxla.org/stablehlo/spec#get_tuple_element
    """

    name = "hlo.get_tuple_element"
    operand = operand_def(TupleType)
    index = prop_def(IntegerAttr[IntegerType])
    result = result_def()
    traits = traits_def(Pure())

    @property
    def position(self) -> int:
        return self.index.value.data

    @classmethod
    def parse(cls, parser: Parser) -> GetTupleElementOp:
        operand = parser.parse_unresolved_operand()
        with parser.in_square_brackets():
            index = int_attr(parser.parse_integer(), i32)
        return finish_functional(cls, parser, [operand], {"index": index})

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        printer.print_string(f"[{self.position}]")
        print_attributes(printer, self, ("index",))
        print_functional(printer, self)

    def infer_types(self) -> tuple[Attribute, ...]:
        elements = _elements(self.operands[0].type)
        if not (0 <= self.position < len(elements)):
            reject(f"get_tuple_element_c1: index {self.position} is not in [0, {len(elements)})")
        return (elements[self.position],)

    def verify_(self) -> None:
        verify_results_agree(self, "get_tuple_element_c2")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        source = self.operands[0].owner
        if isinstance(source, TupleOp) and source.operands[self.position].type == self.results[0].type:
            return (source.operands[self.position],)
        return None

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        return (operands[0][self.position],)


OPS = (TupleOp, GetTupleElementOp)
