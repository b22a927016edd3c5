"""The base class of the shape dialect's operations: their types and their text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, traits_def, var_operand_def, var_result_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .types import Kind, ShapeType, SizeType, ValueShapeType


def parse_types(parser: Parser) -> list[Attribute]:
    parser.parse_punctuation(":")
    return parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)


@dataclass(frozen=True)
class Signature:
    """Which types an operation takes and gives, and which of them its text leaves out."""

    operands: tuple[Kind, ...]
    result: Kind
    more: bool = False
    """Whether any number of operands like the last one may follow."""
    operand_type: Attribute | None = None
    """The type of all operands, where it is not written."""
    result_type: Attribute | None = None
    """The type of the result, where it is not written."""
    passes_errors: bool = True
    """Whether an operand that is an error makes the result one."""


class ShapeOp(IRDLOperation):
    """
    An operation written `%a, %b : t, t -> t`, without the types that are always the same.

    Raises: VerifyException for operands or a result of other types, or where an operand that may be an error meets a
    result that cannot be one.
    """

    SIGNATURE: ClassVar[Signature]

    inputs = var_operand_def()
    outputs = var_result_def()
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        unresolved: list[UnresolvedOperand] = []
        while (operand := parser.parse_optional_unresolved_operand()) is not None:
            unresolved.append(operand)
            if parser.parse_optional_punctuation(",") is None:
                break
        properties = cls.parse_rest(parser)
        attributes = parser.parse_optional_attr_dict()
        for name in cls.get_irdl_definition().properties:
            if name in attributes:
                properties[name] = attributes.pop(name)
        position, operand_type, result = parser.pos, cls.SIGNATURE.operand_type, cls.SIGNATURE.result_type
        types = [operand_type] * len(unresolved) if operand_type is not None else parse_types(parser)
        operands = parser.resolve_operands(unresolved, types, position)
        if result is None:
            parser.parse_punctuation("->")
            result = parser.parse_type()
        return cls.create(operands=operands, result_types=[result], properties=properties, attributes=attributes)

    @classmethod
    def parse_rest(cls, parser: Parser) -> dict[str, Attribute]:
        """Read what is written after the operands, as properties."""
        return {}

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_operand)
        written = self.print_rest(printer)
        rest = {name: value for name, value in self.properties.items() if name not in written}
        printer.print_op_attributes({**rest, **self.attributes})
        if self.SIGNATURE.operand_type is None:
            printer.print_string(" : ")
            printer.print_list(self.operand_types, printer.print_attribute)
        if self.SIGNATURE.result_type is None:
            printer.print_string(" -> ")
            printer.print_attribute(self.result_types[0])

    def print_rest(self, printer: Printer) -> tuple[str, ...]:
        """The inverse of `parse_rest`; the names of the properties that it printed."""
        return ()

    def verify_(self) -> None:
        kinds, more = self.SIGNATURE.operands, self.SIGNATURE.more
        least, count = len(kinds), len(self.operands)
        if count < least or (count > least and not more) or len(self.results) != 1:
            wanted = f"{least}{' or more' if more else ''}"
            raise VerifyException(f"has {count} operands and {len(self.results)} results, expected {wanted} and 1")
        for index, type_ in enumerate(self.operand_types):
            if not kinds[min(index, least - 1)](type_):
                raise VerifyException(f"operand #{index} has type {type_}, which the operation does not take")
        result = self.result_types[0]
        if not self.SIGNATURE.result(result):
            raise VerifyException(f"result has type {result}, which the operation does not give")
        errors = any(isinstance(type_, ShapeType | SizeType | ValueShapeType) for type_ in self.operand_types)
        if errors and self.SIGNATURE.passes_errors and isinstance(result, IndexType | TensorType):
            raise VerifyException(f"an operand may be an error, which the result's type {result} cannot be")
