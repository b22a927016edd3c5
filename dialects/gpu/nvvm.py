"""
The nvvm dialect: features of NVIDIA's GPUs outside of LLVM's core, as far as the compiler uses them.

Names, operands and syntax are MLIR's (mlir/include/mlir/Dialect/LLVMIR/NVVMOps.td). A function that is launched has
`nvvm.kernel`, and `nvvm.reqntid = array<i32: x, y, z>` if every launch has blocks of that size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .marks import NVVM
from .registers import ChipTargetAttr, RegisterOp, register_class, registers_by_axis

I32 = IntegerType(32)

SHUFFLES = ("bfly", "up", "down", "idx")
"""PTX's names; gpu.shuffle's xor is bfly."""


@irdl_attr_definition
class TargetAttr(ChipTargetAttr):
    """`#nvvm.target<chip = "sm_90">`, on a gpu.module: the chip that its functions are compiled for."""

    name = "nvvm.target"
    chip: StringAttr


def target_attribute(chip: str) -> TargetAttr:
    """The attribute of a gpu.module for a chip."""
    return TargetAttr(StringAttr(chip))


def resident_blocks(count: int) -> Mapping[str, Attribute]:
    """The attribute of a kernel so many of whose blocks must fit on a multiprocessor."""
    return {NVVM.resident: IntegerAttr(count, I32)}


_PREFIX = "nvvm.read.ptx.sreg."


class SpecialRegisterOp(RegisterOp):
    """A special register of a thread: `%t = nvvm.read.ptx.sreg.tid.x range <i32, 0, 256> : i32`."""

    PREFIX: ClassVar[str] = _PREFIX


def _register(register: str, class_name: str, what: str) -> type[SpecialRegisterOp]:
    return register_class(SpecialRegisterOp, register, class_name, f"{what}: `%{register}`.", __name__)


THREAD_IDS = registers_by_axis(_register, "tid", "ThreadId", "The thread's number in its block")
BLOCK_DIMS = registers_by_axis(_register, "ntid", "BlockDim", "The threads of a block")
BLOCK_IDS = registers_by_axis(_register, "ctaid", "BlockId", "The block's number in the grid")
GRID_DIMS = registers_by_axis(_register, "nctaid", "GridDim", "The blocks of the grid")
LaneIdOp = _register("laneid", "LaneIdOp", "The thread's number in its warp")


@irdl_op_definition
class Barrier0Op(IRDLOperation):
    """All threads of the block wait for each other; writes before it are visible to all after it: `bar.sync 0`."""

    name = "nvvm.barrier0"
    assembly_format = "attr-dict"


@irdl_op_definition
class ShflSyncOp(IRDLOperation):
    """
    A value from another lane: `%r = nvvm.shfl.sync bfly %mask, %x, %offset, %clamp : f32 -> f32`.

    `mask` selects the lanes that take part; `clamp` holds, as in PTX, the last lane that may be read (5 bits) and, 8
    bits higher, the bits of the lane number that split the warp. With `return_value_and_is_valid` the result is a
    structure of the value and an i1: whether the source lane may be read.
    Raises: VerifyException.
    """

    name = "nvvm.shfl.sync"

    kind = prop_def(StringAttr)
    return_value_and_is_valid = opt_prop_def(UnitAttr)
    thread_mask = operand_def(I32)
    val = operand_def()
    offset = operand_def(I32)
    mask_and_clamp = operand_def(I32)
    res = result_def()

    def __init__(
        self, kind: str, mask: SSAValue, value: SSAValue, offset: SSAValue, clamp: SSAValue, with_validity: bool = False
    ):
        properties: dict[str, Attribute] = {"kind": StringAttr(kind)}
        result: Attribute = value.type
        if with_validity:
            properties["return_value_and_is_valid"] = UnitAttr()
            result = llvm.LLVMStructType.from_type_list([value.type, IntegerType(1)])
        super().__init__(operands=[mask, value, offset, clamp], result_types=[result], properties=properties)

    def verify_(self) -> None:
        if self.kind.data not in SHUFFLES:
            raise VerifyException(f"no shuffle is called '{self.kind.data}'; there are {', '.join(SHUFFLES)}")
        if str(self.val.type) not in ("i32", "f32"):
            raise VerifyException(f"shuffles i32 and f32, not {self.val.type}")

    @classmethod
    def parse(cls, parser: Parser) -> ShflSyncOp:
        kind = parser.parse_identifier()
        mask = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        offset = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        clamp = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        parser.parse_punctuation("->")
        result = parser.parse_type()
        properties: dict[str, Attribute] = {"kind": StringAttr(kind)}
        if (flag := attributes.pop("return_value_and_is_valid", None)) is not None:
            properties["return_value_and_is_valid"] = flag
        resolve = parser.resolve_operand
        return cls.create(
            operands=[resolve(mask, I32), resolve(value, type_), resolve(offset, I32), resolve(clamp, I32)],
            result_types=[result],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data} ")
        printer.print_list(self.operands, printer.print_ssa_value)
        shown = dict(self.attributes)
        if self.return_value_and_is_valid is not None:
            shown["return_value_and_is_valid"] = self.return_value_and_is_valid
        printer.print_op_attributes(shown)
        printer.print_string(" : ")
        printer.print_attribute(self.val.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.res.type)


OPS: tuple[type[Operation], ...] = (
    *THREAD_IDS.values(),
    *BLOCK_DIMS.values(),
    *BLOCK_IDS.values(),
    *GRID_DIMS.values(),
    LaneIdOp,
    Barrier0Op,
    ShflSyncOp,
)
ATTRIBUTES = (TargetAttr,)
