"""
Maxima and minima of long loops: NaN and the signs of zeros, which take most of the instructions, are left to the end.

The loop keeps the number that compares greatest and whether any was NaN. If there was one, or the greatest is a zero of
either sign, the original loop follows.
"""

from __future__ import annotations

from typing import TypeGuard, cast

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import Float32Type, Float64Type, i32
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects.support.scalar import Scalar, constant
from .long_loops import is_long

MOST_OPERATIONS = 16
"""Operations of a body that is cheap to run twice."""

_QUICK: dict[type[Operation], type[Operation]] = {
    arith.MaximumfOp: arith.MaxnumfOp,
    arith.MinimumfOp: arith.MinnumfOp,
}
_UNSAFE = arith.FastMathFlagsAttr([FastMathFlag.NO_NANS, FastMathFlag.NO_SIGNED_ZEROS])


def finds_extreme(op: Operation) -> TypeGuard[scf.ForOp]:
    """Whether an operation is a long loop that does nothing but find the maximum or minimum of cheap values."""
    if not is_long(op) or len(op.iter_args) != 1:
        return False
    body = op.body.block
    extreme = cast(Operation, body.last_op).operands[0].owner
    carried = body.args[1]
    if type(extreme) not in _QUICK or not isinstance(carried.type, (Float32Type, Float64Type)):
        return False
    operands = list(cast(Operation, extreme).operands)
    if operands.count(carried) != 1 or carried.uses.get_length() != 1:
        return False
    others = [inside for inside in body.ops if inside is not body.last_op]
    return len(others) <= MOST_OPERATIONS and all(
        isinstance(inside, memref.LoadOp) or inside.name.startswith("arith.") for inside in others
    )


def replace_extreme(loop: scf.ForOp) -> None:
    """Replace a loop for which `finds_extreme` holds."""
    outer = cast(Block, loop.parent)
    start, type_ = loop.iter_args[0], loop.results[0].type
    before = Block()
    none, some = constant(before, 0, i32), constant(before, 1, i32)
    quick = _quick_loop(loop, none.value, some.value)
    before.add_op(quick)
    found, has_nan = (Scalar(before, result) for result in quick.results)
    began = Scalar(before, start)
    is_nan, is_zero = has_nan.compare("ne", none) | began.compare("uno", began), found.compare("eq", 0.0)
    # A select, because the comparison of a maximum that NaN took part in means nothing.
    rare = is_nan.select(is_nan, is_zero)
    exact = loop.clone()
    then = Block([exact, scf.YieldOp(exact.results[0])])
    chosen = scf.IfOp(rare.value, [type_], [then], [Block([scf.YieldOp(found.value)])])
    before.add_op(chosen)
    ops = list(before.ops)
    for op in ops:
        op.detach()
        op.location = loop.location
    outer.insert_ops_before(ops, loop)
    loop.results[0].replace_all_uses_with(chosen.results[0])
    loop.detach()
    loop.erase()


def _quick_loop(loop: scf.ForOp, none: SSAValue, some: SSAValue) -> scf.ForOp:
    """The loop without regard to NaN and signs of zeros, which also finds whether there is a NaN."""
    body = loop.body.block
    extreme = cast(Operation, cast(Operation, body.last_op).operands[0].owner)
    block = Block(arg_types=[body.args[0].type, body.args[1].type, i32])
    copies: dict[SSAValue, SSAValue] = dict(zip(body.args, block.args, strict=False))
    for op in body.ops:
        if op is not extreme and op is not body.last_op:
            block.add_op(op.clone(copies))
    values = [copies.get(operand, operand) for operand in extreme.operands]
    new = next(value for value in values if value is not block.args[1])
    best = _QUICK[type(extreme)].create(operands=values, result_types=[new.type], properties={"fastmath": _UNSAFE})
    block.add_op(best)
    is_nan = Scalar(block, new).compare("uno", Scalar(block, new))
    seen = is_nan.select(some, block.args[2])
    block.add_op(scf.YieldOp(best.results[0], seen.value))
    made = scf.ForOp(loop.lb, loop.ub, loop.step, [loop.iter_args[0], none], Region(block))
    made.attributes.update(loop.attributes)
    return made
