"""
Pieces of pretty syntax that the structural operations share: operands, attribute dictionaries, types, regions.

The forms are those of StableHLO's printer. An attribute dictionary holds properties and discardable attributes alike;
`split_attributes` puts each where its operation wants it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

Attributes = dict[str, Attribute]
OpT = TypeVar("OpT", bound=IRDLOperation)


def split_attributes(op_type: type[IRDLOperation], parsed: Attributes) -> tuple[Attributes, Attributes]:
    """The parsed dictionary as (properties, discardable attributes) of `op_type`."""
    names = op_type.get_irdl_definition().properties
    properties = {name: attr for name, attr in parsed.items() if name in names}
    return properties, {name: attr for name, attr in parsed.items() if name not in names}


def parse_attributes(
    op_type: type[IRDLOperation], parser: Parser, stated: Mapping[str, Attribute]
) -> tuple[Attributes, Attributes]:
    """An optional dictionary as (properties, discardable attributes); `stated` are properties read before it."""
    return merge_attributes(op_type, parser, parser.parse_optional_attr_dict(), stated)


def merge_attributes(
    op_type: type[IRDLOperation], parser: Parser, parsed: Attributes, stated: Mapping[str, Attribute]
) -> tuple[Attributes, Attributes]:
    """A parsed dictionary and properties stated elsewhere, as (properties, discardable attributes)."""
    properties, attributes = split_attributes(op_type, parsed)
    for name in parsed:
        if name in stated:
            parser.raise_error(f"'{name}' is stated twice: in the syntax of {op_type.name} and in its attributes")
    return {**stated, **properties}, attributes


def print_attributes(printer: Printer, op: Operation, hidden: Collection[str] = (), keyword: bool = False) -> None:
    """` {a = 1, b = 2}` of the properties that the syntax does not show and the discardable attributes, by name."""
    if op.properties or op.attributes:
        merged = {**op.properties, **op.attributes}
        shown = {name: merged[name] for name in sorted(merged) if name not in hidden}
        printer.print_op_attributes(shown, print_keyword=keyword)


def parse_operand_list(parser: Parser) -> list[UnresolvedOperand]:
    """`%a, %b` without brackets; at least one."""
    operands = [parser.parse_unresolved_operand()]
    while parser.parse_optional_punctuation(",") is not None:
        operands.append(parser.parse_unresolved_operand())
    return operands


def parse_functional(
    parser: Parser, operands: Sequence[UnresolvedOperand]
) -> tuple[Sequence[SSAValue], Sequence[Attribute]]:
    """`: (t, t) -> t`, and the operands resolved to these types."""
    parser.parse_punctuation(":")
    position = parser.pos
    type_ = parser.parse_function_type()
    return parser.resolve_operands(operands, type_.inputs.data, position), type_.outputs.data


def finish_functional(
    op_type: type[OpT],
    parser: Parser,
    operands: Sequence[UnresolvedOperand],
    stated: Mapping[str, Attribute] | None = None,
) -> OpT:
    """The operation, from its attribute dictionary and functional type on: `{a = 1} : (t, t) -> t`."""
    properties, attributes = parse_attributes(op_type, parser, stated or {})
    values, results = parse_functional(parser, operands)
    return op_type.create(operands=values, result_types=results, properties=properties, attributes=attributes)


def finish_same_type(
    op_type: type[OpT],
    parser: Parser,
    operands: Sequence[UnresolvedOperand],
    stated: Mapping[str, Attribute] | None = None,
) -> OpT:
    """As `finish_functional`, where `: t` may stand for `: (t) -> t`."""
    properties, attributes = parse_attributes(op_type, parser, stated or {})
    parser.parse_punctuation(":")
    functional = parser.parse_optional_function_type()
    if functional is not None:
        inputs, outputs = functional.inputs.data, functional.outputs.data
    else:
        outputs = (parser.parse_type(),)
        inputs = outputs * len(operands)
    return op_type.create(
        operands=parser.resolve_operands(operands, inputs, parser.pos),
        result_types=outputs,
        properties=properties,
        attributes=attributes,
    )


def parse_result_only(op_type: type[OpT], parser: Parser) -> OpT:
    """An operation without operands and with one result: `{a = 1} : t`."""
    properties, attributes = parse_attributes(op_type, parser, {})
    parser.parse_punctuation(":")
    return op_type.create(result_types=(parser.parse_type(),), properties=properties, attributes=attributes)


def print_result_only(printer: Printer, op: Operation) -> None:
    """The inverse of `parse_result_only`."""
    print_attributes(printer, op)
    printer.print_string(" : ")
    printer.print_attribute(op.results[0].type)


def print_functional(printer: Printer, op: Operation) -> None:
    printer.print_string(" : ")
    printer.print_function_type(op.operand_types, op.result_types)


def parse_types(parser: Parser) -> list[Attribute]:
    """`t, t`, at least one."""
    types: list[Attribute] = [parser.parse_type()]
    while parser.parse_optional_punctuation(",") is not None:
        types.append(parser.parse_type())
    return types


def print_operands(printer: Printer, op: Operation) -> None:
    """` %a, %b`"""
    printer.print_string(" ")
    print_values(printer, op.operands)


def print_values(printer: Printer, values: Sequence[SSAValue]) -> None:
    printer.print_list(values, printer.print_operand)


def print_types(printer: Printer, types: Sequence[Attribute]) -> None:
    printer.print_list(types, printer.print_attribute)


def share_names(printer: Printer, first: Block, second: Block) -> None:
    """Give `second`'s arguments the names that `first`'s have: the regions of a while name their arguments once."""
    names = printer._ssa_values  # pyright: ignore[reportPrivateUsage]
    for ours, theirs in zip(first.args, second.args, strict=True):
        names[theirs] = names[ours]


def new_line(printer: Printer) -> None:
    printer._print_new_line()  # pyright: ignore[reportPrivateUsage]
