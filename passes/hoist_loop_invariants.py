"""Compute before a loop what every iteration would compute again."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.traits import is_side_effect_free

from ..dialects.support.kernel import forget_place
from ..hlo_dialect.diagnostics import Diagnostic, engine_of
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.loops import Loop, merge_equal
from ..hlo_dialect.op import DIVISION, HloOp
from ..hlo_dialect.ops.control_flow import ReturnOp, WhileOp
from ..hlo_dialect.ops.dynamic import DynamicSliceOp
from ..hlo_dialect.ops.slicing import SliceOp
from ..hlo_dialect.types import shape_of
from ..hlo_dialect.walking import operations_in

SMALL = 64
"""Elements up to which computing a value once is worth keeping it, however cheap it is."""

_MOVERS = frozenset({"movement", "gather", "concatenate", "update"})
_KERNELS = frozenset({"dot", "reduce", "custom"})
_FROM_MEMORY = frozenset({"dot", "custom"})
"""Roles of operations whose operands are in memory: an operand of theirs is written in each iteration."""
_FREE = frozenset({"constant", "iota", "broadcast", "reshape"})


class HoistLoopInvariantsPass(HloPass):
    """
    Move what does not change out of the bodies and conditions of hlo.while, where that saves work.

    Before: `hlo.while(..) .. do { %t = hlo.transpose %w, ..  %1 = hlo.dot_general %x, %t, .. }`
    After:  `%t = hlo.transpose %w, ..` before `hlo.while(..) .. do { %1 = hlo.dot_general %x, %t, .. }`
    Assumes: the level after simplify-hlo: invariant values are not carried.
    Leaves: cheap elementwise operations, broadcasts and constants where they are, unless a product needs them in
            memory: repeated in a fusion they cost less than memory. They move only together with what needs them.
    """

    name = "hoist-loop-invariants"
    only_for = ("hlo.while",)
    works_on_functions = True

    def run(self, ctx: Context, module: ModuleOp) -> None:
        engine = engine_of(ctx)
        # Inner loops first: what leaves them may leave the outer ones too.
        for op in reversed(operations_in(module)):
            if type(op) is WhileOp:
                for moved in hoist(op):
                    engine.emit(Diagnostic("remark", f"{moved.name} is computed once, before the loop", moved.location))


def hoist(op: WhileOp) -> Sequence[Operation]:
    """Move invariant operations before the loop; return those that are worth it, without the operands they take."""
    loop = Loop(op)
    block = op.parent
    assert block is not None
    found: list[Operation] = []
    moved: list[Operation] = []
    for region in (loop.cond, loop.body):
        invariant = _invariant(list(region.ops), loop)
        worth = _worth(invariant)
        moving = set(worth)
        for each in reversed(invariant):
            if each in moving:
                moving.update(owner for owner in _producers(each) if owner in invariant)
        for each in invariant:
            if each in moving:
                each.detach()
                for inner in each.walk():
                    forget_place(inner)
                block.insert_op_before(each, op)
                moved.append(each)
        found += worth
    remaining = set(merge_equal(moved))
    return [each for each in found if each in remaining]


def _producers(op: Operation) -> list[Operation]:
    return [value.op for inner in op.walk() for value in inner.operands if isinstance(value, OpResult)]


def _invariant(ops: Sequence[Operation], loop: Loop) -> dict[Operation, None]:
    """The pure operations that depend on nothing that the loop changes, in order."""
    found: dict[Operation, None] = {}
    for op in ops:
        if isinstance(op, ReturnOp) or not isinstance(op, HloOp) or not is_side_effect_free(op) or _may_hang(op):
            continue
        inside = {id(block) for inner in op.walk() for region in inner.regions for block in region.blocks}
        if all(
            loop.is_outside(value) or _block_of(value) in inside or value.owner in found
            for inner in op.walk()
            for value in inner.operands
        ):
            found[op] = None
    return found


def _block_of(value: SSAValue) -> int:
    """The identity of the block that defines a value."""
    owner = value.owner
    return id(owner.parent if isinstance(owner, Operation) else owner)


def _may_hang(op: Operation) -> bool:
    """Whether it holds a loop that may not end, which must not run if the outer one does not."""
    return any(type(inner) is WhileOp and Loop(inner).most_iterations is None for inner in op.walk())


def _worth(invariant: dict[Operation, None]) -> list[Operation]:
    """The operations whose repetition costs more than reading their result from memory."""
    found: dict[Operation, None] = {}
    for op in invariant:
        if not isinstance(op, HloOp) or not op.results or not isinstance(op.results[0].type, TensorType):
            continue
        role = op.ROLE
        size = math.prod(shape_of(op.results[0]))
        if role in _FREE or isinstance(op, (SliceOp, DynamicSliceOp)):
            continue
        small = size <= SMALL
        # A value of an operand's size that is read instead of it costs no further traffic.
        instead = role == "elementwise" and any(
            value.owner in found and math.prod(shape_of(value)) == size for value in op.operands
        )
        costly = role == "elementwise" and op.COST >= DIVISION
        written = role == "elementwise" and any(
            isinstance(use.operation, HloOp) and use.operation.ROLE in _FROM_MEMORY for use in op.results[0].uses
        )
        if small or instead or costly or written or role in _KERNELS or role in _MOVERS or type(op) is WhileOp:
            found[op] = None
    return list(found)
