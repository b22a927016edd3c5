"""Operations of a GPU thread: its numbers, barriers, and values of other lanes of its warp (MLIR's GPUOps.td)."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import gpu
from xdsl.dialects.builtin import FixedBitwidthType, IndexType, IntegerType, StringAttr, VectorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

INDEX = IndexType()
I32 = IntegerType(32)

AXES = ("x", "y", "z")

SHUFFLES = ("xor", "up", "down", "idx")
"""The lane that a shuffle reads: the own number xor, minus, plus the offset; or the offset itself."""


class _NumberOp(IRDLOperation):
    """An index or size along one axis of the block or the grid."""

    dimension = prop_def(gpu.DimensionAttr)
    result = result_def(INDEX)
    traits = traits_def(Pure())

    def __init__(self, axis: str):
        dimension = gpu.DimensionAttr(gpu.DimensionEnum(axis))
        super().__init__(result_types=[INDEX], properties={"dimension": dimension})

    @property
    def axis(self) -> str:
        """x, y or z."""
        return str(self.dimension.data)

    @classmethod
    def parse(cls, parser: Parser) -> _NumberOp:
        start = parser.pos
        axis = parser.parse_identifier()
        if axis not in AXES:
            parser.raise_error(f"expected one of {', '.join(AXES)}", start, parser.pos)
        op = cls(axis)
        op.attributes.update(parser.parse_optional_attr_dict())
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.axis}")
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class GpuThreadIdOp(_NumberOp):
    """The index of the thread in its block: `%t = gpu.thread_id x`."""

    name = "gpu.thread_id"


@irdl_op_definition
class GpuBlockIdOp(_NumberOp):
    """The index of the block in the grid: `%b = gpu.block_id x`."""

    name = "gpu.block_id"


@irdl_op_definition
class GpuBlockDimOp(_NumberOp):
    """The number of threads of a block: `%n = gpu.block_dim x`."""

    name = "gpu.block_dim"


@irdl_op_definition
class GpuGridDimOp(_NumberOp):
    """The number of blocks of the grid: `%n = gpu.grid_dim x`."""

    name = "gpu.grid_dim"


@irdl_op_definition
class GpuLaneIdOp(IRDLOperation):
    """The lane of the thread in its warp: `%l = gpu.lane_id`."""

    name = "gpu.lane_id"
    result = result_def(INDEX)
    traits = traits_def(Pure())
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__(result_types=[INDEX])


@irdl_op_definition
class GpuBarrierOp(IRDLOperation):
    """All threads of the block wait for each other; memory writes before it are visible to all threads after it."""

    name = "gpu.barrier"
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class GpuShuffleOp(IRDLOperation):
    """
    The value of another lane of the warp: `%r, %valid = gpu.shuffle xor %x, %offset, %width : f32`.

    All 32 lanes take part. `width` is the number of neighbouring lanes that exchange values, a power of two up to 32;
    `valid` says whether the source lane is among them (otherwise the result is the own value).
    """

    name = "gpu.shuffle"
    mode = prop_def(StringAttr)
    value = operand_def()
    offset = operand_def(I32)
    width = operand_def(I32)
    result = result_def()
    valid = result_def(IntegerType(1))

    def __init__(self, mode: str, value: SSAValue, offset: SSAValue, width: SSAValue):
        super().__init__(
            operands=[value, offset, width],
            result_types=[value.type, IntegerType(1)],
            properties={"mode": StringAttr(mode)},
        )

    def verify_(self) -> None:
        if self.mode.data not in SHUFFLES:
            raise VerifyException(f"no shuffle is called '{self.mode.data}'; there are {', '.join(SHUFFLES)}")
        type_ = self.value.type
        if type_ != self.result.type:
            raise VerifyException("the result is not of the value's type")
        element = cast("VectorType[Attribute]", type_).element_type if isinstance(type_, VectorType) else type_
        if not isinstance(element, (FixedBitwidthType, IndexType)):
            raise VerifyException(f"exchanges numbers and vectors of numbers, not values of type {type_}")

    @classmethod
    def parse(cls, parser: Parser) -> GpuShuffleOp:
        mode = parser.parse_identifier()
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        offset = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        width = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        resolve = parser.resolve_operand
        op = cls(mode, resolve(value, type_), resolve(offset, I32), resolve(width, I32))
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.mode.data} ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)


OPS = (GpuBarrierOp, GpuBlockDimOp, GpuBlockIdOp, GpuGridDimOp, GpuLaneIdOp, GpuShuffleOp, GpuThreadIdOp)
