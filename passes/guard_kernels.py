"""Announce every access of the entry to memory, so that the runtime opens only the buffers that it may touch."""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, cf, func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ..dialects.cpu import GuardOp, ParallelForOp, SafepointOp
from ..dialects.support.editing import clone_op, insert_before
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


def _accessed(op: Operation, functions: dict[str, func.FuncOp]) -> list[SSAValue]:
    """
    The buffers that an operation accesses. A parallel loop of the host program may take the arena, of which its body
    makes views: these are made again before the loop.
    """
    if not isinstance(op, ParallelForOp):
        return _buffers(op)
    found: list[SSAValue] = []
    body = functions[op.callee.root_reference.data].body.blocks[0]
    for value, argument in zip(op.operands, body.args, strict=False):
        if isinstance(value.type, MemRefType):
            views = [use.operation for use in argument.uses]
            found += [_view_of(value, view, op) for view in views] if all(map(_is_fixed_view, views)) else [value]
    return found


def _is_fixed_view(op: Operation) -> bool:
    """Whether an operation is a view of its first operand, at a constant place."""
    return is_view(op) and all(isinstance(value.owner, arith.ConstantOp) for value in op.operands[1:])


def _view_of(buffer: SSAValue, view: Operation, place: Operation) -> SSAValue:
    mapping = {view.operands[0]: buffer}
    for value in view.operands[1:]:
        constant = clone_op(cast(Operation, value.owner), {})
        insert_before(constant, place)
        mapping[value] = constant.results[0]
    made = clone_op(view, mapping)
    insert_before(made, place)
    return made.results[0]


class GuardKernelsPass(HloPass):
    """
    Enclose each access of the entry to memory in two events for the guard, and stop the run where one has failed.

    Before: `func.call @k(%a, %b)`
    After:  `cpu.guard "enter"`, the call, `%ok = cpu.guard "leave"`, and a branch to the function's end unless %ok. The
            events have the number of the access, in the order of blocks and operations. A loop that takes the arena
            accesses the views that its body has of it.
    Assumes: the level after plan-buffers{guard=end} and convert-loops-to-cf.
    """

    name = "guard-kernels"
    takes_branches = True

    def run(self, ctx: Context, module: ModuleOp) -> None:
        functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, func.FuncOp)}
        entry = functions.get(entry_name(module))
        if entry is not None and entry.body.blocks:
            self._guard(entry, functions)

    def _guard(self, function: func.FuncOp, functions: dict[str, func.FuncOp]) -> None:
        if function.function_type.outputs.data:
            fail(function, f"returns values: {self.name} comes after bufferize, which makes parameters of results")
        stop = Block([func.ReturnOp()])
        found = accesses(function)
        # From the end, so that each operation moves to another block once.
        for number, op in reversed(list(enumerate(found))):
            buffers = _accessed(op, functions)
            enter, leave = (GuardOp.make(event, number, buffers, op.location) for event in ("enter", "leave"))
            block = cast(Block, op.parent)
            block.insert_op_before(enter, op)
            block.insert_op_after(leave, op)
            rest = block.split_before(cast(Operation, leave.next_op))
            block.add_op(cf.ConditionalBranchOp(leave.ok, rest, [], stop, []))
        if found:
            function.body.add_block(stop)
