"""
Exponentials that are divided by their sum, as in a softmax: the loop that adds them up finds the least.

None of them is negative. A sum of such numbers, in any order, is at least as large as each of them, and NaN if one of
them is. So where the sum is usual as a divisor, only small terms can be unusual as dividends (usual_rows.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math, memref, scf
from xdsl.dialects.builtin import FloatAttr, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects.support.editing import erase_op, insert_before, replace_uses
from ...dialects.support.scalar import Scalar, scalar_attr


def sum_of_terms(loop: scf.ForOp, divisions: Sequence[Operation]) -> scf.ForOp | None:
    """The loop that adds up exponentials which another loop divides by the sum; None if these divisions are others."""
    divided = {(division.operands[0].owner, division.operands[1]) for division in divisions}
    if len(divided) != 1:
        return None
    ((term, divisor),) = divided
    total = _stored(divisor).owner
    if type(total) is not scf.ForOp or type(term) is not memref.LoadOp or not _precedes(total, loop):
        return None
    if (total.lb, total.ub, total.step) != (loop.lb, loop.ub, loop.step):
        return None
    added = _only_term(total)
    if added is None or added.memref is not term.memref:
        return None
    if _places(added, total) != _places(term, loop) or not _holds_exponentials(term.memref, total):
        return None
    return total


def find_least(total: scf.ForOp) -> SSAValue:
    """Let a loop over terms also find the least of their bits less one, unsigned: zeros are beyond all others."""
    body = total.body.block
    block = Block(arg_types=[*(arg.type for arg in body.args), i32])
    copies: dict[SSAValue, SSAValue] = dict(zip(body.args, block.args, strict=False))
    for op in body.ops:
        if op is not body.last_op:
            block.add_op(op.clone(copies))
    term = next(op for op in block.ops if type(op) is memref.LoadOp)
    least = (Scalar(block, term.res).bits() - 1).apply(arith.MinUIOp, Scalar(block, block.args[-1]))
    assert body.last_op is not None
    block.add_op(scf.YieldOp(*(copies[value] for value in body.last_op.operands), least.value))
    start = arith.ConstantOp(scalar_attr(-1, i32))
    made = scf.ForOp(total.lb, total.ub, total.step, [*total.iter_args, start.result], Region(block))
    made.attributes.update(total.attributes)
    for op in (start, made):
        op.location = total.location
        insert_before(op, total)
    replace_uses(total.results[0], made.results[0])
    erase_op(total)
    return made.results[1]


def _stored(value: SSAValue) -> SSAValue:
    """What a load of a buffer reads that is written once, in the same block before it; other values are themselves."""
    load = value.owner
    if type(load) is not memref.LoadOp or type(load.memref.owner) is not memref.AllocaOp or load.indices:
        return value
    others = [use.operation for use in load.memref.uses if type(use.operation) is not memref.LoadOp]
    store = others[0]
    if len(others) != 1 or type(store) is not memref.StoreOp or store.memref is not load.memref:
        return value
    return store.value if _precedes(store, load) else value


def _precedes(op: Operation, other: Operation) -> bool:
    return op.parent is not None and op.parent is other.parent and op.is_before_in_block(other)


def _only_term(total: scf.ForOp) -> memref.LoadOp | None:
    """The load whose values a loop adds up, from a number that is not negative on, if it does nothing else."""
    ops = list(total.body.block.ops)
    if len(ops) != 3 or len(total.iter_args) != 1:
        return None
    load, add, last = ops
    start = total.iter_args[0].owner
    first = start.value if type(start) is arith.ConstantOp else None
    if type(load) is not memref.LoadOp or type(add) is not arith.AddfOp or list(last.operands) != [add.result]:
        return None
    if {add.lhs, add.rhs} != {total.body.block.args[1], load.res}:
        return None
    return load if isinstance(first, FloatAttr) and first.value.data >= 0 else None


def _places(load: memref.LoadOp, loop: scf.ForOp) -> list[SSAValue | None]:
    """The indices of a load, None for its loop's own."""
    return [None if index is loop.body.block.args[0] else index for index in load.indices]


def _holds_exponentials(buffer: SSAValue, total: scf.ForOp) -> bool:
    """Whether all that a local buffer has is results of e^x, written before a loop."""
    if type(buffer.owner) is not memref.AllocaOp:
        return False
    block = total.parent
    assert block is not None
    for use in buffer.uses:
        op = use.operation
        if type(op) is memref.LoadOp:
            continue
        if type(op) is not memref.StoreOp or op.memref is not buffer or type(op.value.owner) is not math.ExpOp:
            return False
        around = block.find_ancestor_op_in_block(op)
        if around is None or not around.is_before_in_block(total):
            return False
    return True
