"""
Maxima and minima of long loops: NaN and the signs of zeros, which take most of the instructions, are left to the end.

The loop keeps the number that compares greatest and whether any was NaN. If there was one, or the greatest is a zero of
either sign, the original loop follows. A loop may find several of them.
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


def finds_extremes(op: Operation) -> TypeGuard[scf.ForOp]:
    """Whether an operation is a long loop that does nothing but find maxima and minima of cheap values."""
    if not is_long(op) or not op.iter_args:
        return False
    body = op.body.block
    for extreme, carried in zip(_extremes(op), body.args[1:], strict=True):
        if type(extreme) not in _QUICK or not isinstance(carried.type, (Float32Type, Float64Type)):
            return False
        once = carried.uses.get_length() == extreme.results[0].uses.get_length() == 1
        if not once or list(extreme.operands).count(carried) != 1:
            return False
    others = [inside for inside in body.ops if inside is not body.last_op]
    return len(others) <= MOST_OPERATIONS and all(
        isinstance(inside, memref.LoadOp) or inside.name.startswith("arith.") for inside in others
    )


def _extremes(loop: scf.ForOp) -> list[Operation]:
    """The operations whose results an iteration passes on, where `finds_extremes` holds."""
    return [cast(Operation, value.owner) for value in cast(Operation, loop.body.block.last_op).operands]


def replace_extremes(loop: scf.ForOp) -> None:
    """Replace a loop for which `finds_extremes` holds."""
    outer = cast(Block, loop.parent)
    types = [result.type for result in loop.results]
    before = Block()
    none, some = constant(before, 0, i32), constant(before, 1, i32)
    quick = _quick_loop(loop, none.value, some.value)
    before.add_op(quick)
    *found, has_nan = (Scalar(before, result) for result in quick.results)
    is_nan, is_zero = has_nan.compare("ne", none), found[0].compare("eq", 0.0)
    for start in (Scalar(before, value) for value in loop.iter_args):
        is_nan = is_nan | start.compare("uno", start)
    for other in found[1:]:
        is_zero = is_zero | other.compare("eq", 0.0)
    # A select, because the comparison of a maximum that NaN took part in means nothing.
    rare = is_nan.select(is_nan, is_zero)
    exact = loop.clone()
    then = Block([exact, scf.YieldOp(*exact.results)])
    chosen = scf.IfOp(rare.value, types, [then], [Block([scf.YieldOp(*(one.value for one in found))])])
    before.add_op(chosen)
    ops = list(before.ops)
    for op in ops:
        op.detach()
        op.location = loop.location
    outer.insert_ops_before(ops, loop)
    for result, made in zip(loop.results, chosen.results, strict=True):
        result.replace_all_uses_with(made)
    loop.detach()
    loop.erase()


def _quick_loop(loop: scf.ForOp, none: SSAValue, some: SSAValue) -> scf.ForOp:
    """The loop without regard to NaN and signs of zeros, which also finds whether there is a NaN."""
    body = loop.body.block
    extremes = _extremes(loop)
    block = Block(arg_types=[*(arg.type for arg in body.args), i32])
    copies: dict[SSAValue, SSAValue] = dict(zip(body.args, block.args, strict=False))
    for op in body.ops:
        if op not in extremes and op is not body.last_op:
            block.add_op(op.clone(copies))
    seen, best = block.args[-1], list[SSAValue]()
    for extreme, carried in zip(extremes, block.args[1:-1], strict=True):
        values = [copies.get(operand, operand) for operand in extreme.operands]
        new = next(value for value in values if value is not carried)
        quick = _QUICK[type(extreme)].create(operands=values, result_types=[new.type], properties={"fastmath": _UNSAFE})
        block.add_op(quick)
        best.append(quick.results[0])
        is_nan = Scalar(block, new).compare("uno", Scalar(block, new))
        seen = is_nan.select(some, seen).value
    block.add_op(scf.YieldOp(*best, seen))
    made = scf.ForOp(loop.lb, loop.ub, loop.step, [*loop.iter_args, none], Region(block))
    made.attributes.update(loop.attributes)
    return made
