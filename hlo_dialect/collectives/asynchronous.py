"""
Asynchronous operations: async_start begins an operation, async_done waits for its results.

Their order says when a result must be available, not when it is computed; the reference computes at the start.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, TensorType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    region_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..op import HloOp, RegionOp, RegionRunner, reject
from ..ops.control_flow import region_block, returned_types, types_text
from ..ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp
from ..ops.slicing import SliceOp
from ..shapes import types_agree
from ..types import Array
from .base import CollectiveOp

_MAY_RUN = (CollectiveOp, SliceOp, DynamicSliceOp, DynamicUpdateSliceOp)


@irdl_attr_definition
class FutureType(ParametrizedAttribute, TypeAttribute):
    """`!hlo.future<tensor<2xf32>>`: tensors that are available after async_done."""

    name = "hlo.future"
    contents: ArrayAttr[Attribute]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return [ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_type))]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<")
        printer.print_list(self.contents.data, printer.print_attribute)
        printer.print_string(">")

    def verify(self) -> None:
        for type_ in self.contents.data:
            if not isinstance(type_, TensorType):
                raise VerifyException(f"a future holds ranked tensors, not {type_}")


@irdl_op_definition
class AsyncStartOp(RegionOp):
    """
    Begin the one operation of `body`, a collective or a slice; its result will be in the future.

    Shapes: body takes the operands' types; result is a future of the type that body returns.
    Raises: VerifyException naming async_start_* (the spec numbers no constraint; these are StableHLO's).
    """

    name = "hlo.async_start"
    operands_ = var_operand_def()
    body = region_def()
    result = result_def()

    def infer_types(self) -> tuple[Attribute, ...]:
        block = region_block(self.regions[0], "async_start_body", "body")
        return (FutureType(ArrayAttr(returned_types(block))),)

    def region_arguments(self, index: int) -> Sequence[Attribute]:
        return tuple(self.operand_types)

    def verify_(self) -> None:
        block = region_block(self.regions[0], "async_start_body", "body")
        operations = [op for op in block.ops if op is not block.last_op]
        if not (len(operations) == 1 and isinstance(operations[0], _MAY_RUN)):
            reject(
                f"async_start_body: body holds {', '.join(op.name for op in operations) or 'nothing'}, "
                "expected one collective or slice"
            )
        given = tuple(argument.type for argument in block.args)
        if not (len(given) == len(self.operands) and all(map(types_agree, given, self.operand_types))):
            reject(f"async_start_operands: body takes {types_text(given)}, given {types_text(self.operand_types)}")
        returned = returned_types(block)
        if len(returned) != 1:
            reject(f"async_start_body: body returns {len(returned)} values, expected one")
        type_ = self.results[0].type
        if not (
            isinstance(type_, FutureType)
            and len(type_.contents.data) == 1
            and types_agree(type_.contents.data[0], returned[0])
        ):
            reject(f"async_start_result: result has type {type_}, expected {self.infer_types()[0]}")

    def reference_with_regions(self, run: RegionRunner, *operands: Array) -> Array:
        return run(self.regions[0], *operands)[0]


@irdl_op_definition
class AsyncDoneOp(HloOp):
    """
    Wait for the operation that async_start began and return its result.

    Shapes: operand is a future of one tensor type, which is the result's.
    Raises: VerifyException naming async_done_* (the spec numbers no constraint; these are StableHLO's).
    """

    name = "hlo.async_done"
    operand = operand_def()
    outs = var_result_def()

    def infer_types(self) -> tuple[Attribute, ...]:
        type_ = self.operands[0].type
        if not isinstance(type_, FutureType):
            reject(f"async_done_operand: operand has type {type_}, expected a future")
        assert isinstance(type_, FutureType)
        contents = type_.contents.data
        if len(contents) != 1:
            reject(f"async_done_operand: {type_} holds {len(contents)} tensors, expected one")
        return contents

    def verify_(self) -> None:
        wanted = self.infer_types()
        if not (len(self.results) == 1 and types_agree(self.result_types[0], wanted[0])):
            reject(
                f"async_done_result: results have types {types_text(self.result_types)}, expected {types_text(wanted)}"
            )

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        return operands


OPS = (AsyncStartOp, AsyncDoneOp)
ATTRIBUTES = (FutureType,)
