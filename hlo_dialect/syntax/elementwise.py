"""
Pieces of pretty syntax that the elementwise operations share.

StableHLO prints an operation as `name operands attr-dict : types`. Where all types are equal it prints one of them,
else a function type; the parsers here take both forms always. Properties without a place of their own in the syntax are
in the attribute dictionary (`{result_accuracy = ..}`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, TypeVar, cast

from xdsl.dialects.builtin import ComplexType, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from ..op import HloOp
from ..types import HloTensor, make_tensor, tensor_type
from .structural import merge_attributes, print_attributes, print_functional, print_operands

OpT = TypeVar("OpT", bound=IRDLOperation)
Types = tuple[Sequence[Attribute], Attribute]
"""The operand types and the result type that an operation's type list states."""


def parse_operands(parser: Parser, count: int) -> list[UnresolvedOperand]:
    """`%a, %b` of exactly `count` operands."""
    operands: list[UnresolvedOperand] = []
    for index in range(count):
        if index:
            parser.parse_punctuation(",")
        operands.append(parser.parse_unresolved_operand())
    return operands


def parse_function_types(parser: Parser) -> Types | None:
    """`(t, t) -> t`, or None where no parenthesis follows."""
    type_ = parser.parse_optional_function_type()
    if type_ is None:
        return None
    if len(type_.outputs.data) != 1:
        parser.raise_error(f"expected one result type, got {len(type_.outputs.data)}")
    return type_.inputs.data, type_.outputs.data[0]


def parse_same_types(parser: Parser, count: int) -> Types:
    """`: t`, the type of `count` operands and of the result, or `: (t, t) -> t`."""
    parser.parse_punctuation(":")
    types = parse_function_types(parser)
    if types is not None:
        return types
    type_ = parser.parse_type()
    return (type_,) * count, type_


def build(
    cls: type[OpT],
    parser: Parser,
    operands: Sequence[UnresolvedOperand],
    types: Types,
    attributes: dict[str, Attribute],
    properties: dict[str, Attribute] | None = None,
) -> OpT:
    """The parsed operation; entries of the attribute dictionary that are properties of `cls` become so."""
    stated, discardable = merge_attributes(cls, parser, attributes, properties or {})
    return cls.create(
        operands=parser.resolve_operands(operands, types[0], parser.pos),
        result_types=(types[1],),
        properties=stated,
        attributes=discardable,
    )


def parse_same_type_op(cls: type[OpT], parser: Parser, count: int) -> OpT:
    """` %a, %b {..} : t`, or with a function type: every operation whose types are usually one."""
    operands = parse_operands(parser, count)
    attributes = parser.parse_optional_attr_dict()
    return build(cls, parser, operands, parse_same_types(parser, count), attributes)


class SameTypeOp(HloOp):
    """An operation that is written ` %a, %b {attributes} : t`, or with a function type."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return parse_same_type_op(cls, parser, len(cls.get_irdl_definition().operands))

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        print_attributes(printer, self)
        print_same_types(printer, self)


def print_same_types(printer: Printer, op: IRDLOperation) -> None:
    """` : t` where the operands and the result have one type, else ` : (t, t) -> t`."""
    result = op.results[0].type
    if all(operand.type == result for operand in op.operands):
        printer.print_string(" : ")
        printer.print_attribute(result)
    else:
        print_functional(printer, op)


def parse_complex_types(parser: Parser) -> Types:
    """`: tensor<..xcomplex<f32>>`, the result's type, which determines that of the parts; or a function type."""
    parser.parse_punctuation(":")
    types = parse_function_types(parser)
    if types is not None:
        return types
    result = parser.parse_type()
    part = complex_part_type(result)
    if part is None:
        parser.raise_error(f"expected a tensor of complex numbers, got {result}")
    return (part, part), result


def complex_part_type(type_: Attribute) -> HloTensor | None:
    """The type of the real part of a complex tensor type; None for other types."""
    if not isinstance(type_, TensorType):
        return None
    tensor = tensor_type(cast(Attribute, type_))
    element_type = tensor.element_type
    if not isinstance(element_type, ComplexType):
        return None
    part = cast(Attribute, element_type.element_type)  # pyright: ignore[reportUnknownMemberType]
    return make_tensor(tensor.get_shape(), part)
