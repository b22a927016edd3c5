"""
The linalg_ext dialect: structured operations missing from linalg (sort, scatter, scan, ..), in its style.

They are in destination-passing style: `inputs` are read, `outputs` provide the initial contents and the memory of the
results. On tensors each output has a result; on memrefs there are none, and the outputs are written. Regions hold
scalar arithmetic and end with linalg_ext.yield. `convert-hlo-to-linalg` creates them, `bufferize` converts them to
memrefs, and `convert-linalg-ext-to-scf` lowers them to loops. The name and the idea come from IREE's dialect.

A family file of this folder defines operations as subclasses of `DestinationOp` and ends with `OPS = (..)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from xdsl.dialects.builtin import DictionaryAttr, TensorType
from xdsl.dialects.utils import AbstractYieldOperation
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from ..support.buffers import i32_array
from ..support.rewriting import like

_SEGMENTS = "operandSegmentSizes"


@irdl_op_definition
class YieldOp(AbstractYieldOperation[Attribute]):
    """The end of a region. Upstream accepts linalg.yield only in operations of linalg; here it is read as well."""

    name = "linalg_ext.yield"
    traits = traits_def(IsTerminator())


class DestinationOp(IRDLOperation):
    """
    `name {props} ins(%a : t) outs(%b : u) ({region}, ..) -> u`; without results if the operands are memrefs.

    A subclass defines `name`, properties, and in `verify_` its constraints on types and regions.
    """

    inputs = var_operand_def()
    outputs = var_operand_def()
    bodies = var_region_def()
    results_ = var_result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def of(
        cls,
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        regions: Sequence[Region] = (),
        properties: Mapping[str, Attribute] | None = None,
    ) -> Self:
        """The operation with a result per output that is a tensor."""
        return cls.create(
            operands=[*inputs, *outputs],
            result_types=_tensor_types(outputs),
            properties={**(properties or {}), _SEGMENTS: i32_array((len(inputs), len(outputs)))},
            regions=regions,
        )

    def with_operands(self, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> Self:
        """The same operation on other operands; the regions move to it."""
        segments = {_SEGMENTS: i32_array((len(inputs), len(outputs)))}
        return like(self, [*inputs, *outputs], _tensor_types(outputs), segments)

    def verify_(self) -> None:
        results = [result.type for result in self.results]
        expected = _tensor_types(self.outputs)
        if results != expected:
            raise VerifyException(f"expected results of the types {', '.join(map(str, expected)) or 'none'}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        properties = {name: value for name, value in attributes.items() if "." not in name}
        inputs = _parse_operands(parser, "ins")
        outputs = _parse_operands(parser, "outs")
        regions: list[Region] = []
        if parser.parse_optional_punctuation("(") is not None:
            regions.append(parser.parse_region())
            while parser.parse_optional_punctuation(",") is not None:
                regions.append(parser.parse_region())
            parser.parse_punctuation(")")
        if parser.parse_optional_punctuation("->") is not None:
            parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        op = cls.of(inputs, outputs, regions, properties)
        op.attributes.update({name: value for name, value in attributes.items() if "." in name})
        return op

    def print(self, printer: Printer) -> None:
        properties = {key: value for key, value in self.properties.items() if key != _SEGMENTS}
        if properties or self.attributes:
            printer.print_string(" ")
            printer.print_attribute(DictionaryAttr({**properties, **self.attributes}))
        for keyword, values in (("ins", self.inputs), ("outs", self.outputs)):
            if values:
                printer.print_string(f" {keyword}(")
                printer.print_list(values, printer.print_operand)
                printer.print_string(" : ")
                printer.print_list(values, lambda value: printer.print_attribute(value.type))
                printer.print_string(")")
        if self.regions:
            printer.print_string(" (")
            printer.print_list(self.regions, printer.print_region)
            printer.print_string(")")
        if self.results:
            printer.print_string(" -> ")
            printer.print_list(self.results, lambda value: printer.print_attribute(value.type))


def _tensor_types(values: Sequence[SSAValue]) -> list[Attribute]:
    types: list[Attribute] = [value.type for value in values]
    return [type_ for type_ in types if isinstance(type_, TensorType)]


def _parse_operands(parser: Parser, keyword: str) -> Sequence[SSAValue]:
    if parser.parse_optional_keyword(keyword) is None:
        return ()
    parser.parse_punctuation("(")
    unresolved = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    return parser.resolve_operands(unresolved, types, parser.pos)


OPS: tuple[type[Operation], ...] = (YieldOp,)
