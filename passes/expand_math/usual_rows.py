"""
Rows that are divided by one number: one look at a whole row, instead of one at the elements of each vector.

A loop before the division finds the least and the greatest size of the row's elements, zeros aside; where they are the
exponentials of a softmax, the loop that adds them up finds the least. If these say that the short form of a quotient is
exact for all of them, a copy of the loop divides so; otherwise the loop itself follows, with the processor's divider:
rows with one extreme element often have many.

Exponentials are not negative. A sum of such numbers, in any order, is at least as large as each of them, and NaN if one
of them is. So where the sum is usual as a divisor, only small terms can be unusual as dividends.

With y from 2^-30 to 2^30 and x from 2^-90 to 2^90, quotients are from 2^-120 to 2^120, so neither they nor the products
overflow or are rounded as subnormal numbers. The rest `q y - x` is a multiple of the product of the last places of q
and y, which is 2^-46 of at least x / 4: at least 2^-138, so that it is exact as well, subnormal or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import arith, math, memref, scf
from xdsl.dialects.builtin import FloatAttr, UnitAttr, i32
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ...dialects.support.editing import erase_op, insert_before, replace_uses
from ...dialects.support.kernel import PARALLEL
from ...dialects.support.scalar import Scalar, constant, scalar_attr
from .division import divides_by_invariant
from .long_loops import move_before

MOST_OPERATIONS = 24
"""Operations of a body of which a copy is made."""

_DIVIDENDS, _DIVISORS = (tuple((127 + sign * exponent) << 23 for sign in (-1, 1)) for exponent in (90, 30))
"""The bits of the least usual size, and of the first one beyond."""


def look_first(ops: Sequence[Operation], only_terms: bool = False) -> dict[Operation, bool]:
    """
    Let the loops around these operations look at rows before they divide them, where they may. Returns the divisions of
    these loops, and whether their operands are known to be usual. `only_terms`: where the loop that adds up the row
    looks, which costs least.
    """
    loops: dict[scf.ForOp, list[Operation]] = {}
    for op in ops:
        if divides_by_invariant(op):
            loops.setdefault(cast(scf.ForOp, op.parent_op()), []).append(op)
    found: dict[Operation, bool] = {}
    for loop, divisions in loops.items():
        if _may_look_first(loop, divisions) and not (only_terms and _sum_of_terms(loop, divisions) is None):
            found.update(dict.fromkeys(divisions, False))
            found.update(dict.fromkeys(_with_look(loop, divisions), True))
    return found


def _may_look_first(loop: scf.ForOp, divisions: Sequence[Operation]) -> bool:
    """
    Whether a loop's dividends can be read before it, with little work: they are loaded, from places that are computed
    from the loop's index alone, before an iteration stores anything.
    """
    body = loop.body.block
    if loop.iter_args or len(list(body.ops)) > MOST_OPERATIONS:
        return False
    loads = [division.operands[0].owner for division in divisions]
    if not all(type(load) is memref.LoadOp and load.parent is body for load in loads):
        return False
    places = _needed([index for load in loads for index in cast(memref.LoadOp, load).indices], body)
    if not all(op.name.startswith("arith.") for op in places):
        return False
    missing = set(loads)
    for op in body.ops:
        missing.discard(op)
        if missing and not (type(op) is memref.LoadOp or op.name.startswith(("arith.", "math."))):
            return False
    return True


def _needed(values: Sequence[SSAValue], body: Block) -> list[Operation]:
    """The operations of a loop's body that compute these values, in their order."""
    pending, found = list(values), set[Operation]()
    while pending:
        op = pending.pop().owner
        if isinstance(op, Operation) and op.parent is body and op not in found:
            found.add(op)
            pending += op.operands
    return [op for op in body.ops if op in found]


def _with_look(loop: scf.ForOp, divisions: Sequence[Operation]) -> list[Operation]:
    """Put a look before a loop, and a copy of it for usual rows beside it; returns the copy's divisions."""
    before = Block()
    total = _sum_of_terms(loop, divisions)
    if total is None:
        usual = _has_usual_dividends(loop, [division.operands[0] for division in divisions], before)
    else:
        usual = Scalar(before, _find_least(total)).compare("uge", _DIVIDENDS[0] - 1)
    copies: dict[SSAValue, SSAValue] = {}
    divisors = [division.operands[1] for division in divisions]
    for op in _needed(divisors, loop.body.block):
        before.add_op(op.clone(copies))
    least, most = _DIVISORS
    for divisor in dict.fromkeys(divisors):
        bits = Scalar(before, copies.get(divisor, divisor)).bits()
        usual = usual & (bits - least).compare("ult", most - least)
    quick = loop.clone()
    known = [copy for op, copy in zip(loop.walk(), quick.walk(), strict=True) if op in divisions]
    otherwise = Block()
    chosen = scf.IfOp(usual.value, [], [Block([quick, scf.YieldOp()])], [otherwise])
    before.add_op(chosen)
    move_before(before, loop)
    loop.detach()
    otherwise.add_ops([loop, scf.YieldOp()])
    return known


def _has_usual_dividends(loop: scf.ForOp, dividends: Sequence[SSAValue], before: Block) -> Scalar:
    """Whether these values are usual in all iterations, from their least and greatest sizes."""
    body = loop.body.block
    block = Block(arg_types=[body.args[0].type, i32, i32])
    copies: dict[SSAValue, SSAValue] = {body.args[0]: block.args[0]}
    for op in _needed(dividends, body):
        block.add_op(op.clone(copies))
    # Less one, unsigned: a zero is beyond all others then, and has no part in the least.
    least, most = (Scalar(block, arg) for arg in block.args[1:])
    for dividend in dict.fromkeys(dividends):
        size = Scalar(block, copies[dividend]).bits() & 0x7FFFFFFF
        least, most = (size - 1).apply(arith.MinUIOp, least), size.apply(arith.MaxUIOp, most)
    block.add_op(scf.YieldOp(least.value, most.value))
    starts = [constant(before, start, i32).value for start in (-1, 0)]
    found = scf.ForOp(loop.lb, loop.ub, loop.step, starts, block)
    found.attributes[PARALLEL] = UnitAttr()
    before.add_op(found)
    first, second = (Scalar(before, result) for result in found.results)
    return first.compare("uge", _DIVIDENDS[0] - 1) & second.compare("ult", _DIVIDENDS[1])


def _sum_of_terms(loop: scf.ForOp, divisions: Sequence[Operation]) -> scf.ForOp | None:
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
    if _places(added, total) != _places(term, loop) or not _holds_exponentials(term, total, loop):
        return None
    return total


def _find_least(total: scf.ForOp) -> SSAValue:
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
    """The value that a load reads if its buffer is written once, in the same block before it; else the value itself."""
    load = value.owner
    if type(load) is not memref.LoadOp or type(load.memref.owner) is not memref.AllocaOp or load.indices:
        return value
    others = [use.operation for use in load.memref.uses if type(use.operation) is not memref.LoadOp]
    store = others[0] if len(others) == 1 else None
    if type(store) is not memref.StoreOp or store.memref is not load.memref:
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


def _holds_exponentials(term: memref.LoadOp, total: scf.ForOp, loop: scf.ForOp) -> bool:
    """
    Whether all that a loop over terms reads is results of e^x, written before it: nothing else writes to that row but
    the loop that divides, after it.
    """
    buffer, block = term.memref, total.parent
    assert block is not None
    if not isinstance(buffer, BlockArgument) and type(buffer.owner) is not memref.AllocaOp:
        return False
    for use in buffer.uses:
        op = use.operation
        if type(op) is memref.LoadOp:
            continue
        if type(op) is not memref.StoreOp or op.memref is not buffer or op.indices[:-1] != term.indices[:-1]:
            return False
        around = block.find_ancestor_op_in_block(op)
        if around is loop:
            continue
        if around is None or not around.is_before_in_block(total) or type(op.value.owner) is not math.ExpOp:
            return False
    return True
