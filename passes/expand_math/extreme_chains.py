"""
The greatest or least of several floats, with the rules for NaN and for the signs of zeros applied once to all of them.

    maximumf(maximumf(x, y), z)     # NaN if one of them is, and 0 above -0

x86 compares and selects floats in one instruction, but takes five more for these rules. NaN in two values is found by
one comparison. Signs matter only if the result is zero: then no value lies beyond it, and the signs of all values say
whether there is a zero of the other sign.

The instructions look at the sign of the first of two values, by way of a general register where it is a scalar. So the
value that an iteration takes over from the one before is the second: the other's sign is known by then.

Two values are compared in both orders:

    minimumf(x, y)      # NaN if one of them is, and -0 below 0

x86 has an instruction for `x < y ? x : y`, which is y where one of them is NaN, or both are zeros. With the operands
the other way round it is x, so that the two results differ in these cases alone. Zeros of both signs, as bits, are -0
by `or` and 0 by `and`; NaN stays NaN by `or` with anything. So a minimum takes three instructions and a maximum, where
`and` may lose NaN, five, without branches. LLVM puts the operands in order by the sign of one, for which it branches
where they are no vectors, and looks for NaN: five instructions that half of the ports execute, six with AVX-512.
"""

from __future__ import annotations

import math
from functools import reduce

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...dialects.support.classes import one_of
from ...dialects.support.editing import erase_op, replace_uses
from ...dialects.support.scalar import Scalar, constant, width_of
from .long_loops import move_before

LEAST = 3
"""Values from which the rules take fewer instructions together: two are compared in both orders."""

is_extreme = one_of(arith.MaximumfOp, arith.MinimumfOp)


def ends_chain(op: Operation) -> bool:
    """Whether an operation is the last of a chain of maxima, or of minima, that is shorter as one."""
    if not is_extreme(op):
        return False
    (result,) = op.results
    if not isinstance(result.type, (Float32Type, Float64Type)):
        return False
    user = result.get_user_of_unique_use()
    if user is not None and _goes_on(result, user):
        return False
    values = _values(op)
    return len(values) >= LEAST and not any(map(_is_carried, values))


def _goes_on(value: SSAValue, user: Operation) -> bool:
    """Whether a value is the result of the same operation as its only user, in one block."""
    op = value.owner
    return type(op) is type(user) and isinstance(op, Operation) and op.parent is user.parent and value.has_one_use()


def _values(op: Operation) -> list[SSAValue]:
    """The values of which a chain finds the greatest or least, in their order."""
    found: list[SSAValue] = []
    waiting = list(reversed(op.operands))
    while waiting:
        value = waiting.pop()
        owner = value.owner
        if isinstance(owner, Operation) and _goes_on(value, op):
            waiting.extend(reversed(owner.operands))
        else:
            found.append(value)
    return found


def _is_carried(value: SSAValue) -> bool:
    """Whether a loop carries the value: LLVM makes vectors of a maximum that it knows as such."""
    return isinstance(value, BlockArgument) and value.index > 0 and isinstance(value.owner.parent_op(), scf.ForOp)


def begins_with_kept(op: Operation) -> bool:
    """Whether the first operand of an extreme is what a loop keeps from one iteration to the next, and no other is."""
    if not is_extreme(op):
        return False
    first, second = op.operands
    return _is_kept(first, op) and not _is_kept(second, op)


def _is_kept(value: SSAValue, op: Operation) -> bool:
    """Whether a value is carried, read from a place that no loop moves, or replaced by the result of `op`."""
    load = value.owner
    if not isinstance(load, memref.LoadOp):
        return _is_carried(value)
    if all(isinstance(index.owner, arith.ConstantOp) for index in load.indices):
        return True
    stores = (use.operation for use in op.results[0].uses)
    return any(isinstance(store, memref.StoreOp) and store.memref is load.memref for store in stores)


def replace_chain(op: Operation) -> None:
    """Replace a chain of which `ends_chain` holds."""
    block, type_ = Block(), op.results[0].type
    values = [Scalar(block, value) for value in _values(op)]
    is_maximum = isinstance(op, arith.MaximumfOp)
    found = reduce(lambda x, y: y.compare("gt" if is_maximum else "lt", x).select(y, x), values)
    pairs = zip(values[::2], [*values[1::2], values[-1]], strict=False)
    is_nan = reduce(lambda x, y: x | y, (x.compare("uno", y) for x, y in pairs))
    signs = reduce(lambda x, y: x & y if is_maximum else x | y, (value.bits() for value in values))
    zero = (signs & -(1 << width_of(type_) - 1)).bitcast(type_)
    found = found.compare("eq", 0.0).select(zero, found)
    found = is_nan.select(constant(block, math.nan, type_), found)
    move_before(block, op)
    replace_uses(op.results[0], found.value)
    done = [op]
    while done:
        last = done.pop()
        inner = [value.owner for value in last.operands if _goes_on(value, last)]
        erase_op(last)
        done += [each for each in inner if isinstance(each, Operation)]


def is_pair(op: Operation) -> bool:
    """
    Whether an operation is a maximum or minimum to be replaced.

    A loop that keeps its result in one place finds one of many, which LLVM makes vectors of. Where one operand is a
    constant, it looks at the other one alone.
    """
    if not is_extreme(op) or not isinstance(op.results[0].type, (Float32Type, Float64Type)):
        return False
    if any(isinstance(value.owner, arith.ConstantOp) for value in op.operands):
        return False
    return not _is_folded(op)


def _is_folded(op: Operation) -> bool:
    """Whether a chain that ends with an operation, or goes through it, replaces what a loop keeps in one place."""
    user = op.results[0].get_user_of_unique_use()
    while user is not None and _goes_on(op.results[0], user):
        op, user = user, user.results[0].get_user_of_unique_use()
    is_stored = isinstance(user, (scf.YieldOp, memref.StoreOp))
    return is_stored and any(_is_kept(value, op) and not _moves(value, op) for value in _values(op))


def _moves(value: SSAValue, op: Operation) -> bool:
    """Whether a value is read from another place in each iteration of the loop around `op`, conditions in it aside."""
    load = value.owner
    if not isinstance(load, memref.LoadOp):
        return False
    blocks = _iteration(op)
    return any(
        (index.owner if isinstance(index.owner, Block) else index.owner.parent) in blocks
        and not isinstance(index.owner, arith.ConstantOp)
        for index in load.indices
    )


def _iteration(op: Operation) -> list[Block]:
    """The block of an operation, and those around it up to the body of a loop."""
    found: list[Block] = []
    block = op.parent
    while block is not None:
        found.append(block)
        around = block.parent_op()
        block = around.parent if isinstance(around, scf.IfOp) else None
    return found


def replace_pair(op: Operation) -> None:
    """Replace an operation of which `is_pair` holds."""
    block = Block()
    x, y = (Scalar(block, value) for value in op.operands)
    is_maximum = isinstance(op, arith.MaximumfOp)
    order = "gt" if is_maximum else "lt"
    first, second = x.compare(order, y).select(x, y).bits(), y.compare(order, x).select(y, x).bits()
    if is_maximum:
        is_nan = x.compare("uno", y).cast(arith.ExtSIOp, first.type)
        found = (first & second) | is_nan
    else:
        found = first | second
    result = found.bitcast(op.results[0].type)
    move_before(block, op)
    replace_uses(op.results[0], result.value)
    erase_op(op)
