"""Let every loop of the entry end early when the host asks its run to stop."""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Block, SSAValue

from ..dialects.cpu import SafepointOp
from ..dialects.support.buffer_ops import byte_size, resize_arena
from ..dialects.support.buffers import Buffer
from ..dialects.support.kernel import ARENA_SIZE, entry_name
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
             without one is left alone, and so are kernels, which end by themselves. An arena of no bytes, which has no
             address, becomes one of a few.
    """

    name = "place-safepoints"
    takes_tensors = False

    def run(self, ctx: Context, module: ModuleOp) -> None:
        if ARENA_SIZE not in module.attributes:
            return
        entry = entry_name(module)
        for function in module.body.block.ops:
            if isinstance(function, func.FuncOp) and function.sym_name.data == entry and function.body.blocks:
                _place(module, function)


def _place(module: ModuleOp, function: func.FuncOp) -> None:
    arguments = function.body.block.args
    buffer = cast("Buffer | None", arguments[-1].type if arguments else None)
    if not isinstance(buffer, MemRefType):
        fail(function, f"does not take the arena, which {ARENA_SIZE} states, as its last argument")
    arena = arguments[-1]
    conditions = [op for op in operations_in(function) if isinstance(op, scf.ConditionOp)]
    if conditions and byte_size(buffer) == 0:
        resize_arena(module, arena, NAME_BYTES)
    for op in conditions:
        if not _has_safepoint(op.condition):
            go = SafepointOp.make(arena, op.location)
            goes_on, ends = [go, scf.YieldOp(go.go)], [scf.YieldOp(op.condition)]
            both = scf.IfOp(op.condition, [op.condition.type], [Block(goes_on)], [Block(ends)])
            both.location = op.location
            cast(Block, op.parent).insert_op_before(both, op)
            op.operands[0] = both.results[0]


def _has_safepoint(condition: SSAValue) -> bool:
    """Whether this pass made the condition in an earlier run."""
    made = condition.owner
    return isinstance(made, scf.IfOp) and isinstance(made.true_region.block.first_op, SafepointOp)
