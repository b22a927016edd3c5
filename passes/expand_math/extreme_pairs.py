"""
The greater or lesser of two floats, by comparisons in both orders.

    minimumf(x, y)      # NaN if one of them is, and -0 below 0

x86 has an instruction for `x < y ? x : y`, which is y where one of them is NaN, or both are zeros. With the operands
the other way round it is x, so that the two results differ in these cases alone. Zeros of both signs, as bits, are -0
by `or` and 0 by `and`; NaN stays NaN by `or` with anything. So a minimum takes three instructions and a maximum, where
`and` may lose NaN, five, without branches. LLVM puts the operands in order by the sign of one, for which it branches
where they are no vectors, and looks for NaN: five instructions that half of the ports execute, six with AVX-512.
"""

from __future__ import annotations

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.support.editing import erase_op, replace_uses
from ...dialects.support.scalar import Scalar
from .extreme_chains import goes_on, is_extreme, is_kept, values_of
from .long_loops import move_before


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
    while user is not None and goes_on(op.results[0], user):
        op, user = user, user.results[0].get_user_of_unique_use()
    is_stored = isinstance(user, (scf.YieldOp, memref.StoreOp))
    return is_stored and any(is_kept(value, op) and not _moves(value, op) for value in values_of(op))


def _moves(value: SSAValue, op: Operation) -> bool:
    """Whether a value is read from another place in each iteration of the loop around `op`."""
    load = value.owner
    return isinstance(load, memref.LoadOp) and any(
        (index.owner if isinstance(index.owner, Block) else index.owner.parent) is op.parent
        and not isinstance(index.owner, arith.ConstantOp)
        for index in load.indices
    )


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
