"""nvvm to llvm: each operation becomes the intrinsic that LLVM's NVPTX target selects as an instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.gpu import nvvm
from ...dialects.llvm_ops import RANGE
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.rules import Rules
from ..device.intrinsics import Pattern, replace_by_intrinsic, replace_operations
from ..device.parts import lowered_parts


class ConvertNvvmToLlvmPass(HloPass):
    """
    Lower nvvm operations to calls of LLVM's intrinsics.

    Before: `%t = nvvm.read.ptx.sreg.tid.x range <i32, 0, 256> : i32`
    After:  `%t = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() {range = array<i32: 0, 256>} : () -> i32`
    Assumes: nothing; runs before or after convert-to-llvm.
    Leaves: no nvvm operations. Function attributes such as `nvvm.kernel` stay for the LLVM IR writer.
    """

    name = "convert-nvvm-to-llvm"
    takes_branches = True
    illegal = ("nvvm.*",)

    def run(self, ctx: Context, module: ModuleOp) -> None:
        replace_operations(module, patterns)

    def parts(self, module: ModuleOp) -> Sequence[Operation]:
        return lowered_parts(module)


patterns = Rules[Pattern]("convert-nvvm-to-llvm", __package__)


def call_intrinsic(
    op: Operation,
    intrinsic: str,
    operands: Sequence[SSAValue] | None = None,
    attributes: Mapping[str, Attribute] = {},
) -> None:
    """Replace an operation by a call of `llvm.nvvm.INTRINSIC`, with its own operands unless others are given."""
    replace_by_intrinsic(op, f"llvm.nvvm.{intrinsic}", operands, attributes)


@patterns.on(nvvm.SpecialRegisterOp)
def _special_register(op: nvvm.SpecialRegisterOp) -> None:
    attributes = {} if op.range is None else {RANGE: op.range}
    call_intrinsic(op, f"read.ptx.sreg.{op.register}", attributes=attributes)


@patterns.on(nvvm.Barrier0Op)
def _barrier(op: nvvm.Barrier0Op) -> None:
    call_intrinsic(op, "barrier0")


@patterns.on(nvvm.ShflSyncOp)
def _shuffle(op: nvvm.ShflSyncOp) -> None:
    """`llvm.nvvm.shfl.sync.bfly.f32`; with the suffix `p` it also returns whether the lane may be read."""
    predicate = "p" if op.return_value_and_is_valid is not None else ""
    call_intrinsic(op, f"shfl.sync.{op.kind.data}.{op.val.type}{predicate}")
