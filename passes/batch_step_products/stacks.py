"""Results that a loop stacks, written over what it reads."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.loops import Loop
from ...hlo_dialect.op import HloOp
from ...hlo_dialect.ops.control_flow import WhileOp
from ...hlo_dialect.ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp
from ...hlo_dialect.types import shape_of


def write_over(loop: Loop) -> None:
    """
    Let results that a loop stacks begin as what it takes a slice of in each step, instead of a constant.

    Step i reads slice i before it writes it, nothing else reads either, and every slice is written: one buffer holds
    both.
    """
    for position, stacked in enumerate(loop.body.args):
        written = loop.returned[position].owner
        if not isinstance(written, DynamicUpdateSliceOp) or written.operand is not stacked:
            continue
        places = loop.step_places(written)
        # Another reader of the stack finds the constant where no step has written yet.
        alone = stacked.has_one_use() and written.result.has_one_use() and loop.cond.args[position].first_use is None
        if places is None or not alone or loop.trip_count != shape_of(stacked)[0]:
            continue
        before = _computing(written.update, loop)
        reads = [op for op in before if isinstance(op, DynamicSliceOp) and loop.step_places(op) == places]
        read = next((op for op in reads if _is_last_read(op, stacked, loop, before)), None)
        if read is not None:
            loop.op.operands[position] = read.operand
            read.operands[0] = stacked


def _is_last_read(read: DynamicSliceOp, stacked: SSAValue, loop: Loop, before: dict[Operation, None]) -> bool:
    """Whether an operation alone reads an array that was computed for it, for what is computed `before` the write."""
    source = read.operand
    if source.type != stacked.type or not source.has_one_use() or not loop.is_outside(source):
        return False
    computed = isinstance(source.owner, WhileOp) or (isinstance(source.owner, HloOp) and source.owner.COMPUTES)
    return computed and all(use.operation in before for use in read.result.uses)


def _computing(value: SSAValue, loop: Loop) -> dict[Operation, None]:
    """The operations of the loop's body that compute a value."""
    found: dict[Operation, None] = {}
    pending = [value]
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Operation) and owner.parent is loop.body and owner not in found:
            found[owner] = None
            pending += owner.operands
    return found
