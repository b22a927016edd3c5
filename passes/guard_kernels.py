"""Announce every access of the entry to memory, so that the runtime opens only the buffers that it may touch."""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects import cf, func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ..dialects.cpu import GuardOp, SafepointOp
from ..dialects.support.kernel import entry_name
from ..dialects.support.views import is_view
from ..hlo_dialect.diagnostics import fail
from ..hlo_dialect.hlo_pass import HloPass


def accesses(function: func.FuncOp) -> list[Operation]:
    """The operations of a host function that access memory: calls of kernels, copies, loads."""
    return [
        op
        for block in function.body.blocks
        for op in block.ops
        if _buffers(op)
        and not is_view(op)
        and not isinstance(op, (GuardOp, SafepointOp, cf.BranchOp, cf.ConditionalBranchOp))
    ]


def _buffers(op: Operation) -> list[SSAValue]:
    return [value for value in op.operands if isinstance(value.type, MemRefType)]


class GuardKernelsPass(HloPass):
    """
    Enclose each access of the entry to memory in two events for the guard, and stop the run where one has failed.

    Before: `func.call @k(%a, %b)`
    After:  `cpu.guard "enter"`, the call, `%ok = cpu.guard "leave"`, and a branch to the function's end unless %ok. The
            events have the number of the access, in the order of blocks and operations.
    Assumes: the level after plan-buffers{guard=end} and convert-loops-to-cf.
    """

    name = "guard-kernels"
    takes_branches = True

    def run(self, ctx: Context, module: ModuleOp) -> None:
        entry = entry_name(module)
        for function in module.body.block.ops:
            if isinstance(function, func.FuncOp) and function.sym_name.data == entry and function.body.blocks:
                self._guard(function)

    def _guard(self, function: func.FuncOp) -> None:
        if function.function_type.outputs.data:
            fail(function, f"returns values: {self.name} comes after bufferize, which makes parameters of results")
        stop = Block([func.ReturnOp()])
        found = accesses(function)
        # From the end, so that each operation moves to another block once.
        for number, op in reversed(list(enumerate(found))):
            enter, leave = (GuardOp.make(event, number, _buffers(op), op.location) for event in ("enter", "leave"))
            block = cast(Block, op.parent)
            block.insert_op_before(enter, op)
            block.insert_op_after(leave, op)
            rest = block.split_before(cast(Operation, leave.next_op))
            block.add_op(cf.ConditionalBranchOp(leave.ok, rest, [], stop, []))
        if found:
            function.body.add_block(stop)
