"""
The rocdl dialect: features of AMD's GPUs outside of LLVM's core, as far as the compiler uses them.

Names, operands and syntax are MLIR's (mlir/include/mlir/Dialect/LLVMIR/ROCDLOps.td); the semantics are those of LLVM's
intrinsics `llvm.amdgcn.*` ("User Guide for AMDGPU Backend"). A function that is launched has `rocdl.kernel`, and
`rocdl.reqd_work_group_size = array<i32: x, y, z>` if every launch has workgroups of that size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr, VectorType, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .marks import ROCDL
from .registers import ChipTargetAttr, RegisterOp, register_class, registers_by_axis

I32 = IntegerType(32)


@irdl_attr_definition
class TargetAttr(ChipTargetAttr):
    """`#rocdl.target<chip = "gfx942">`, on a gpu.module: the chip that its functions are compiled for."""

    name = "rocdl.target"
    chip: StringAttr


def target_attribute(chip: str) -> TargetAttr:
    """The attribute of a gpu.module for a chip."""
    return TargetAttr(StringAttr(chip))


def resident_waves(count: int) -> Mapping[str, Attribute]:
    """The attribute of a kernel so many of whose waves must fit on a SIMD unit."""
    return {ROCDL.resident: IntegerAttr(count, I32)}


class SpecialRegisterOp(RegisterOp):
    """A number of the thread: `%t = rocdl.workitem.id.x range <i32, 0, 256> : i32`."""

    PREFIX: ClassVar[str] = "rocdl."


def _register(register: str, class_name: str, what: str) -> type[SpecialRegisterOp]:
    return register_class(SpecialRegisterOp, register, class_name, f"{what}.", __name__)


THREAD_IDS = registers_by_axis(_register, "workitem.id", "WorkItemId", "The thread's number in its workgroup")
BLOCK_DIMS = registers_by_axis(_register, "workgroup.dim", "WorkGroupDim", "The threads of a workgroup")
BLOCK_IDS = registers_by_axis(_register, "workgroup.id", "WorkGroupId", "The workgroup's number")
GRID_DIMS = registers_by_axis(_register, "grid.dim", "GridDim", "The workgroups of the grid")


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """
    All threads of the workgroup wait for each other; writes before it are visible to all after it: `s_barrier` between
    a release and an acquire of the workgroup.
    """

    name = "rocdl.barrier"
    assembly_format = "attr-dict"


class _TwoNumbersOp(IRDLOperation):
    """`%r = NAME %a, %b : (i32, i32) -> i32`."""

    lhs = operand_def(I32)
    rhs = operand_def(I32)
    res = result_def(I32)
    assembly_format = "$lhs `,` $rhs attr-dict `:` `(` type($lhs) `,` type($rhs) `)` `->` type($res)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=[lhs, rhs], result_types=[I32])


@irdl_op_definition
class MbcntLoOp(_TwoNumbersOp):
    """
    `rhs` plus the number of bits of `lhs` below the thread's own lane, of the first 32 lanes: of -1 and 0 it is the
    lane's number, up to 32.
    """

    name = "rocdl.mbcnt.lo"
    traits = traits_def(Pure())


@irdl_op_definition
class MbcntHiOp(_TwoNumbersOp):
    """The same for lanes 32 to 63, added to `rhs`."""

    name = "rocdl.mbcnt.hi"
    traits = traits_def(Pure())


@irdl_op_definition
class DsBpermuteOp(_TwoNumbersOp):
    """The value `rhs` of the lane whose number times 4 is `lhs`, modulo the lanes of a wave."""

    name = "rocdl.ds_bpermute"


@irdl_op_definition
class DsSwizzleOp(_TwoNumbersOp):
    """
    The value `lhs` of the lane that the constant `rhs` selects among 32: `((lane & m) | o) ^ x` for
    `m | o << 5 | x << 10`.
    """

    name = "rocdl.ds_swizzle"

    def verify_(self) -> None:
        if not isinstance(self.rhs.owner, (arith.ConstantOp, llvm.ConstantOp)):
            raise VerifyException("the lanes are selected by a constant, which is part of the instruction")


@irdl_op_definition
class UpdateDppOp(IRDLOperation):
    """
    The value of another lane of a row of 16: `%r = rocdl.update.dpp %old, %x with 177, 15, 15, false : i32`.

    The numbers are the control (which lane), the masks of rows and of banks that take part, and whether lanes that have
    no such neighbour get 0 instead of `old`. Control 0 to 255 permutes groups of four (two bits for each lane), 296
    (0x128) rotates rows by 8.
    """

    name = "rocdl.update.dpp"

    old = operand_def(I32)
    src = operand_def(I32)
    control = prop_def(IntegerAttr.constr(i32))
    row_mask = prop_def(IntegerAttr.constr(i32))
    bank_mask = prop_def(IntegerAttr.constr(i32))
    bound_control = prop_def(IntegerAttr.constr(i1))
    res = result_def(I32)

    def __init__(self, old: SSAValue, src: SSAValue, control: int):
        """All rows and banks take part."""
        numbers: dict[str, Attribute] = {
            "control": IntegerAttr(control, I32),
            "row_mask": IntegerAttr(15, I32),
            "bank_mask": IntegerAttr(15, I32),
            "bound_control": IntegerAttr(0, IntegerType(1)),
        }
        super().__init__(operands=[old, src], result_types=[I32], properties=numbers)

    @property
    def numbers(self) -> tuple[int, int, int, bool]:
        """The control, the masks of rows and banks, and the bound control."""
        found = [
            cast("IntegerAttr[Any]", each).value.data
            for each in (self.control, self.row_mask, self.bank_mask, self.bound_control)
        ]
        return found[0], found[1], found[2], bool(found[3])

    def verify_(self) -> None:
        control, rows, banks, _ = self.numbers
        if not 0 <= control < 512:
            raise VerifyException(f"the control is {control}; it has 9 bits")
        if not (0 <= rows < 16 and 0 <= banks < 16):
            raise VerifyException(f"the masks are {rows} and {banks}; they have 4 bits")

    @classmethod
    def parse(cls, parser: Parser) -> UpdateDppOp:
        old = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        source = parser.parse_unresolved_operand()
        parser.parse_keyword("with")
        numbers: dict[str, Attribute] = {}
        for name in ("control", "row_mask", "bank_mask"):
            numbers[name] = IntegerAttr(parser.parse_integer(allow_boolean=False), I32)
            parser.parse_punctuation(",")
        numbers["bound_control"] = IntegerAttr(int(parser.parse_boolean()), IntegerType(1))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        parser.parse_type()
        operands = [parser.resolve_operand(old, I32), parser.resolve_operand(source, I32)]
        return cls.create(operands=operands, result_types=[I32], properties=numbers, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        control, rows, banks, bound = self.numbers
        printer.print_string(f" with {control}, {rows}, {banks}, {'true' if bound else 'false'}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : i32")


class MatrixProductOp(IRDLOperation):
    """
    D = A B + C of all lanes of a wave: `%d = rocdl.mfma.f32.16x16x16f16 %a, %b, %c, %0, %0, %0 : (vector<4xf16>,
    vector<4xf16>, vector<4xf32>, i32, i32, i32) -> vector<4xf32>`; dialects/gpu/amdgpu.py has the layouts.

    The numbers after C of mfma broadcast blocks or change the order of lanes; 0 does neither. Those of wmma on integers
    say whether A and B have signs, and whether sums are clamped.
    """

    INTRINSIC: ClassVar[str]
    """LLVM's name of it."""
    args = var_operand_def()
    res = result_def(VectorType)

    traits = traits_def(Pure())
    assembly_format = "$args attr-dict `:` `(` type($args) `)` `->` type($res)"

    def __init__(self, args: Sequence[SSAValue], result: Attribute):
        super().__init__(operands=[args], result_types=[result])


def _product(name: str, suffix: str = "") -> type[MatrixProductOp]:
    body = {"name": f"rocdl.{name}", "INTRINSIC": f"llvm.amdgcn.{name}{suffix}", "__doc__": MatrixProductOp.__doc__}
    typed = {"__annotations__": {"INTRINSIC": ClassVar[str]}, "__module__": __name__}
    kind, *rest = name.split(".")
    class_name = f"{kind.capitalize()}{''.join(rest)}Op"
    return irdl_op_definition(type(class_name, (MatrixProductOp,), {**body, **typed}))


MFMA = {
    ("f16", 16): _product("mfma.f32.16x16x16f16"),
    ("bf16", 16): _product("mfma.f32.16x16x16bf16.1k"),
    ("f32", 4): _product("mfma.f32.16x16x4f32"),
    ("i8", 16): _product("mfma.i32.16x16x16i8"),
    ("i8", 32): _product("mfma.i32.16x16x32.i8"),
}
"""The products of CDNA by A's elements and columns."""

WMMA = {
    "f16": _product("wmma.f32.16x16x16.f16", ".v8f32.v16f16"),
    "bf16": _product("wmma.f32.16x16x16.bf16", ".v8f32.v16i16"),
    "i8": _product("wmma.i32.16x16x16.iu8", ".v8i32.v4i32"),
}
"""The products of RDNA 3 by A's elements."""


OPS: tuple[type[Operation], ...] = (
    *MFMA.values(),
    *WMMA.values(),
    *THREAD_IDS.values(),
    *BLOCK_DIMS.values(),
    *BLOCK_IDS.values(),
    *GRID_DIMS.values(),
    BarrierOp,
    MbcntLoOp,
    MbcntHiOp,
    DsBpermuteOp,
    DsSwizzleOp,
    UpdateDppOp,
)
ATTRIBUTES = (TargetAttr,)
