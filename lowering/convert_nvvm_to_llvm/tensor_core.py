"""The tensor-core and asynchronous-copy operations of nvvm as intrinsics: patterns of convert-nvvm-to-llvm."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i32
from xdsl.ir import Block

from ...dialects.gpu import nvvm_tensor_core as nvvm
from .conversion import call_intrinsic, patterns


@patterns.on(nvvm.MmaSyncOp)
def _mma(op: nvvm.MmaSyncOp) -> None:
    """`llvm.nvvm.mma.m16n8k16.row.col.bf16`; for f16 the name has the types of D and C instead."""
    m, n, k = op.shape.get_values()
    types = "f32.f32" if op.kind == "f16" else op.kind
    call_intrinsic(op, f"mma.m{m}n{n}k{k}.row.col.{types}")


@patterns.on(nvvm.LdMatrixOp)
def _ldmatrix(op: nvvm.LdMatrixOp) -> None:
    transposed = ".trans" if op.layout.data == "col" else ""
    call_intrinsic(op, f"ldmatrix.sync.aligned.m8n8.x{op.num.value.data}{transposed}.b16.p3")


@patterns.on(nvvm.CpAsyncOp)
def _copy(op: nvvm.CpAsyncOp) -> None:
    """`llvm.nvvm.cp.async.cg.shared.global.16`; with the suffix `s` it takes the number of bytes to read."""
    partly = ".s" if op.cpSize is not None else ""
    call_intrinsic(op, f"cp.async.{op.modifier.data}.shared.global.{op.size.value.data}{partly}")


@patterns.on(nvvm.CpAsyncCommitGroupOp)
def _commit(op: nvvm.CpAsyncCommitGroupOp) -> None:
    call_intrinsic(op, "cp.async.commit.group", ())


@patterns.on(nvvm.CpAsyncWaitGroupOp)
def _wait(op: nvvm.CpAsyncWaitGroupOp) -> None:
    count = llvm.ConstantOp(op.n, i32)
    count.location = op.location
    parent = op.parent
    assert isinstance(parent, Block)
    parent.insert_op_before(count, op)
    call_intrinsic(op, "cp.async.wait.group", (count.result,))
