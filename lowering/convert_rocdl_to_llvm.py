"""rocdl to llvm: each operation becomes the intrinsic that LLVM's AMDGPU target selects as an instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntAttr, IntegerAttr, IntegerType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ..dialects.gpu import rocdl
from ..dialects.llvm_ops import RANGE, FenceOp
from ..hlo_dialect.hlo_pass import HloPass
from .device.intrinsics import Pattern, replace_by_intrinsic, replace_operations
from .device.parts import lowered_parts

_I1, _I8, _I16, _I32 = map(IntegerType, (1, 8, 16, 32))

_CONSTANTS = llvm.LLVMPointerType(IntAttr(4))
"""A pointer to memory that does not change while a kernel runs."""

_AXES = "xyz"


class ConvertRocdlToLlvmPass(HloPass):
    """
    Lower rocdl operations to calls of LLVM's intrinsics.

    Before: `%t = rocdl.workitem.id.x range <i32, 0, 256> : i32`
    After:  `%t = llvm.call_intrinsic "llvm.amdgcn.workitem.id.x"() {range = array<i32: 0, 256>} : () -> i32`
    A barrier is `s_barrier` between two fences of the workgroup. The sizes of a launch are read from its dispatch
    packet ("HSA Platform System Architecture Specification").
    Assumes: nothing; runs before convert-to-llvm.
    Leaves: no rocdl operations. Function attributes such as `rocdl.kernel` stay for the LLVM IR writer.
    """

    name = "convert-rocdl-to-llvm"
    takes_branches = True
    illegal = ("rocdl.*",)

    def run(self, ctx: Context, module: ModuleOp) -> None:
        replace_operations(module, _PATTERNS)

    def parts(self, module: ModuleOp) -> Sequence[Operation]:
        return lowered_parts(module)


def _number(op: rocdl.SpecialRegisterOp) -> None:
    attributes = {} if op.range is None else {RANGE: op.range}
    replace_by_intrinsic(op, f"llvm.amdgcn.{op.register}", attributes=attributes)


def _intrinsic(name: str) -> Pattern:
    return lambda op: replace_by_intrinsic(op, f"llvm.amdgcn.{name}")


def _insert(op: Operation, made: Operation) -> None:
    made.location = op.location
    cast(Block, op.parent).insert_op_before(made, op)


def _constant(op: Operation, value: int, type_: IntegerType) -> SSAValue:
    made = llvm.ConstantOp(IntegerAttr(value, type_), type_)
    _insert(op, made)
    return made.result


def _barrier(op: rocdl.BarrierOp) -> None:
    """`s_barrier` alone does not wait for memory on all chips: the fences order the accesses."""
    _insert(op, FenceOp("release", "workgroup"))
    _insert(op, llvm.CallIntrinsicOp("llvm.amdgcn.s.barrier", [], []))
    Rewriter.replace_op(op, FenceOp("acquire", "workgroup"), [])


def _dpp(op: rocdl.UpdateDppOp) -> None:
    control, rows, banks, bound = op.numbers
    numbers = [_constant(op, number, _I32) for number in (control, rows, banks)]
    replace_by_intrinsic(op, "llvm.amdgcn.update.dpp.i32", [op.old, op.src, *numbers, _constant(op, int(bound), _I1)])


def _product(op: rocdl.MatrixProductOp) -> None:
    replace_by_intrinsic(op, op.INTRINSIC)


def _of_packet(op: Operation, offset: int, type_: IntegerType) -> SSAValue:
    """A number of the dispatch packet (hsa_kernel_dispatch_packet_t), `offset` bytes after its start, as i32."""
    start = llvm.CallIntrinsicOp("llvm.amdgcn.dispatch.ptr", [], [_CONSTANTS])
    _insert(op, start)
    place = llvm.GEPOp(start.results[0], [offset], _I8, result_type=_CONSTANTS)
    _insert(op, place)
    load = llvm.LoadOp(place.result, type_, alignment=type_.width.data // 8)
    _insert(op, load)
    if type_ == _I32:
        return load.dereferenced_value
    wide = llvm.ZExtOp(load.dereferenced_value, _I32)
    _insert(op, wide)
    return wide.res


def _threads_of_block(axis: int) -> Pattern:
    """workgroup_size_x, _y, _z: 16 bits each, from byte 4 on."""
    return lambda op: Rewriter.replace_op(op, [], [_of_packet(op, 4 + 2 * axis, _I16)])


def _blocks_of_grid(axis: int) -> Pattern:
    """grid_size_x, _y, _z: threads of the launch, 32 bits each, from byte 12 on; all workgroups are of one size."""

    def replace(op: Operation) -> None:
        threads, block = _of_packet(op, 12 + 4 * axis, _I32), _of_packet(op, 4 + 2 * axis, _I16)
        Rewriter.replace_op(op, llvm.UDivOp(threads, block))

    return replace


_PATTERNS: Mapping[type[Operation], Pattern] = {
    **dict.fromkeys([*rocdl.THREAD_IDS.values(), *rocdl.BLOCK_IDS.values()], _number),
    **{rocdl.GRID_DIMS[axis]: _blocks_of_grid(number) for number, axis in enumerate(_AXES)},
    **{rocdl.BLOCK_DIMS[axis]: _threads_of_block(number) for number, axis in enumerate(_AXES)},
    rocdl.BarrierOp: _barrier,
    rocdl.MbcntLoOp: _intrinsic("mbcnt.lo"),
    rocdl.MbcntHiOp: _intrinsic("mbcnt.hi"),
    rocdl.DsBpermuteOp: _intrinsic("ds.bpermute"),
    rocdl.DsSwizzleOp: _intrinsic("ds.swizzle"),
    rocdl.UpdateDppOp: _dpp,
    **dict.fromkeys([*rocdl.MFMA.values(), *rocdl.WMMA.values()], _product),
}
