"""Let every loop of the entry end early when the host asks its run to stop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ..dialects.cpu import SafepointOp
from ..dialects.support.buffer_ops import byte_size, index_constant, load, resize_arena
from ..dialects.support.buffers import Buffer
from ..dialects.support.editing import insert_before
from ..dialects.support.kernel import ARENA_SIZE, ASKS, entry_name
from ..hlo_dialect.diagnostics import fail
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.walking import operations_in

NAME_BYTES = 64
"""The size of an arena that only names its run."""


class PlaceSafepointsPass(HloPass):
    """
    Ask before each iteration of a loop of the entry whether the run is to stop, and leave the loop if so.

    Before: `scf.condition(%c)`
    After:  `%both = scf.if %c { %go = cpu.safepoint(%arena : memref<64xi8>)  scf.yield %go } else { scf.yield %c }`,
            `scf.condition(%both)`. A loop that ends anyway does not ask: inner loops of few iterations end often.
    Assumes: the level after plan-buffers; the arena is the last argument of the entry, and names the run. A module
             without one is left alone, and so are kernels, which end by themselves, but for the loops of outline-loops
             that may not. An arena of no bytes, which has no address, becomes one of a few.
    """

    name = "place-safepoints"
    takes_tensors = False

    def run(self, ctx: Context, module: ModuleOp) -> None:
        if ARENA_SIZE not in module.attributes:
            return
        entry = entry_name(module)
        for function in module.body.block.ops:
            if isinstance(function, func.FuncOp) and function.body.blocks:
                if function.sym_name.data == entry:
                    _place(module, function)
                elif ASKS in function.attributes:
                    _place_in_kernel(function)


def name_run(module: ModuleOp, arena: SSAValue) -> None:
    """Let the arena have an address, which names its run."""
    if byte_size(cast(Buffer, arena.type)) == 0:
        resize_arena(module, arena, NAME_BYTES)


def _place(module: ModuleOp, function: func.FuncOp) -> None:
    arguments = function.body.block.args
    if not arguments or not isinstance(arguments[-1].type, MemRefType):
        fail(function, f"does not take the arena, which {ARENA_SIZE} states, as its last argument")
    conditions = _conditions(function)
    if conditions:
        name_run(module, arguments[-1])
    for op in conditions:
        _guard(op, partial(_asked, arguments[-1], op))


def _conditions(function: func.FuncOp) -> list[scf.ConditionOp]:
    return [op for op in operations_in(function) if isinstance(op, scf.ConditionOp)]


def _guard(op: scf.ConditionOp, ask: Callable[[], Block]) -> None:
    """Let the loop go on only if the run does, too, unless an earlier run of this pass has done so."""
    if not _has_safepoint(op.condition):
        both = scf.IfOp(op.condition, [op.condition.type], [ask()], [Block([scf.YieldOp(op.condition)])])
        both.location = op.location
        insert_before(both, op)
        op.operands[0] = both.results[0]


def _asked(arena: SSAValue, op: Operation) -> Block:
    go = SafepointOp.make(arena, op.location)
    return Block([go, scf.YieldOp(go.go)])


def _place_in_kernel(function: func.FuncOp) -> None:
    arena = function.body.block.args[-1]
    for op in _conditions(function):
        every = cast(Operation, op.parent_op()).attributes.get(ASKS)
        if isinstance(every, IntegerAttr):
            ask = partial(_asked, arena, op)
            most = cast("IntegerAttr[Any]", every).value.data
            _guard(op, ask if most == 1 else partial(_seldom, function, ask, most))


def _seldom(function: func.FuncOp, ask: Callable[[], Block], every: int) -> Block:
    """Count, in a buffer at the function's beginning, and ask only when there have been as many."""
    zero, one, most = (index_constant(number) for number in (0, 1, every))
    true = arith.ConstantOp.from_int_and_width(1, 1)
    counter = memref.AllocaOp.get(IndexType(), shape=[])
    first = cast(Operation, function.body.block.first_op)
    for op in (zero, counter, memref.StoreOp.get(zero, counter, ())):
        insert_before(op, first)
    count = load(counter.memref)
    more = arith.AddiOp(count.res, one.result)
    due = arith.CmpiOp(more.result, most.result, "uge")
    asked, goes_on = ask(), Block([memref.StoreOp.get(more, counter, ()), scf.YieldOp(true)])
    asked.insert_op_before(memref.StoreOp.get(zero, counter, ()), cast(Operation, asked.first_op))
    answer = scf.IfOp(due, [true.result.type], [asked], [goes_on])
    return Block([count, one, most, true, more, due, answer, scf.YieldOp(answer.results[0])])


def _has_safepoint(condition: SSAValue) -> bool:
    """Whether this pass made the condition in an earlier run."""
    made = condition.owner
    return isinstance(made, scf.IfOp) and any(isinstance(op, SafepointOp) for op in operations_in(made))
