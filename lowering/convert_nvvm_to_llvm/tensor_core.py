"""The tensor-core and asynchronous-copy operations of nvvm as intrinsics: patterns of convert-nvvm-to-llvm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects.gpu import nvvm_tensor_core as nvvm


def _call(op: Operation, intrinsic: str, operands: Sequence[SSAValue]) -> None:
    """Replace an operation by a call of `llvm.nvvm.INTRINSIC`."""
    call = llvm.CallIntrinsicOp(f"llvm.nvvm.{intrinsic}", list(operands), [result.type for result in op.results])
    call.location = op.location
    Rewriter.replace_op(op, call)


def _mma(op: nvvm.MmaSyncOp) -> None:
    """`llvm.nvvm.mma.m16n8k16.row.col.bf16`; for f16 the name has the types of D and C instead."""
    m, n, k = op.shape.get_values()
    types = "f32.f32" if op.kind == "f16" else op.kind
    _call(op, f"mma.m{m}n{n}k{k}.row.col.{types}", op.operands)


def _ldmatrix(op: nvvm.LdMatrixOp) -> None:
    transposed = ".trans" if op.layout.data == "col" else ""
    _call(op, f"ldmatrix.sync.aligned.m8n8.x{op.num.value.data}{transposed}.b16.p3", op.operands)


def _copy(op: nvvm.CpAsyncOp) -> None:
    """`llvm.nvvm.cp.async.cg.shared.global.16`; with the suffix `s` it takes the number of bytes to read."""
    partly = ".s" if op.cpSize is not None else ""
    _call(op, f"cp.async.{op.modifier.data}.shared.global.{op.size.value.data}{partly}", op.operands)


def _commit(op: nvvm.CpAsyncCommitGroupOp) -> None:
    _call(op, "cp.async.commit.group", ())


def _wait(op: nvvm.CpAsyncWaitGroupOp) -> None:
    count = llvm.ConstantOp(op.n, i32)
    count.location = op.location
    parent = op.parent
    assert isinstance(parent, Block)
    parent.insert_op_before(count, op)
    _call(op, "cp.async.wait.group", (count.result,))


PATTERNS: Mapping[type[Operation], Callable[[Any], None]] = {
    nvvm.MmaSyncOp: _mma,
    nvvm.LdMatrixOp: _ldmatrix,
    nvvm.CpAsyncOp: _copy,
    nvvm.CpAsyncCommitGroupOp: _commit,
    nvvm.CpAsyncWaitGroupOp: _wait,
}
