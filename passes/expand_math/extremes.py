"""
Maxima and minima of long loops: NaN and the signs of zeros, which take most of the instructions, are left to the end.

The loop keeps the number that compares greatest and whether any was NaN. If the greatest is a zero, which one follows
from the signs of all elements: a loop that combines their bits is run then, unless no element can be -0, such as a
square. A loop may find several of them, and sums and the like beside them: if they are not of the same elements, the
original loop follows where any was NaN, or one is a zero.

Elements that do not count are -inf for a maximum, as in `select %is_nan, -inf, %x`. LLVM would make that a maximum
under a condition, which it does not vectorize. So the loop takes the least finite number instead; if that is the
maximum, the original loop follows, too.
"""

from __future__ import annotations

import math
from typing import TypeGuard, cast

import numpy as np
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import Float32Type, Float64Type, FloatAttr, i1, i32
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects.support.editing import erase_op, replace_uses
from ...dialects.support.scalar import Scalar, constant, width_of
from .long_loops import is_long, move_before
from .zeros import is_never_minus_zero

MOST_OPERATIONS = 16
"""Operations of a body that is cheap to run twice."""

MOST_UNDER_CONDITIONS = 48
"""Operations of a body where some elements do not count: no vectors would be made of it."""

_QUICK: dict[type[Operation], type[Operation]] = {
    arith.MaximumfOp: arith.MaxnumfOp,
    arith.MinimumfOp: arith.MinnumfOp,
}
_OUTSIDE: dict[type[Operation], float] = {arith.MaximumfOp: -math.inf, arith.MinimumfOp: math.inf}
"""The neutral number, which elements that do not count have."""

_OTHERS = (
    arith.AddfOp, arith.MulfOp, arith.AddiOp, arith.MuliOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp,
    arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp,
)  # fmt: skip
"""Other reductions that the loop may do as well."""

_UNSAFE = arith.FastMathFlagsAttr([FastMathFlag.NO_NANS, FastMathFlag.NO_SIGNED_ZEROS])


def finds_extremes(op: Operation) -> TypeGuard[scf.ForOp]:
    """Whether an operation is a long loop that finds maxima and minima of cheap values, perhaps with other folds."""
    if not is_long(op) or not op.iter_args:
        return False
    body = op.body.block
    yielded = cast(Operation, body.last_op).operands
    if not any(type(value.owner) in _QUICK for value in yielded):
        return False
    for value, carried in zip(yielded, body.args[1:], strict=True):
        fold = value.owner
        is_extreme = type(fold) in _QUICK and isinstance(carried.type, (Float32Type, Float64Type))
        if not isinstance(fold, Operation) or not (is_extreme or isinstance(fold, _OTHERS)):
            return False
        once = carried.uses.get_length() == value.uses.get_length() == 1
        if not once or list(fold.operands).count(carried) != 1:
            return False
    others = [inside for inside in body.ops if inside is not body.last_op]
    extremes = (fold for fold in (cast(Operation, value.owner) for value in yielded) if type(fold) in _QUICK)
    under_conditions = any(_outside_of(operand, fold) is not None for fold in extremes for operand in fold.operands)
    most = MOST_UNDER_CONDITIONS if under_conditions else MOST_OPERATIONS
    return len(others) <= most and all(
        isinstance(inside, memref.LoadOp) or inside.name.startswith("arith.") for inside in others
    )


def _folds(loop: scf.ForOp) -> list[Operation]:
    """The operations whose results an iteration passes on, where `finds_extremes` holds."""
    return [cast(Operation, value.owner) for value in cast(Operation, loop.body.block.last_op).operands]


def _without_outside(extreme: Operation, copies: dict[SSAValue, SSAValue], block: Block) -> float | None:
    """
    In `copies`, make an element finite where it does not count; returns that finite number.

    None if all elements count.
    """
    for operand in extreme.operands:
        outside = _outside_of(operand, extreme)
        if outside is not None:
            select = cast(arith.SelectOp, operand.owner)
            limit = np.finfo(np.float32 if isinstance(operand.type, Float32Type) else np.float64).max
            finite = constant(block, math.copysign(float(limit), _OUTSIDE[type(extreme)]), operand.type)
            arms = (select.lhs, select.rhs)
            values = [finite.value if arm is outside else copies.get(arm, arm) for arm in arms]
            copy = arith.SelectOp(copies.get(select.cond, select.cond), *values)
            block.add_op(copy)
            copies[operand] = copy.result
            return math.copysign(float(limit), _OUTSIDE[type(extreme)])
    return None


def _outside_of(operand: SSAValue, extreme: Operation) -> SSAValue | None:
    """The neutral number that an operand of an extreme is where the element does not count; None if all count."""
    select = operand.owner
    if not isinstance(select, arith.SelectOp) or not operand.has_one_use():
        return None
    outside = [arm for arm in (select.lhs, select.rhs) if _constant_of(arm) == _OUTSIDE[type(extreme)]]
    return outside[0] if len(outside) == 1 else None


def _constant_of(value: SSAValue) -> float | None:
    """The number of a constant float."""
    found = value.owner.value if isinstance(value.owner, arith.ConstantOp) else None
    return found.value.data if isinstance(found, FloatAttr) else None


def replace_extremes(loop: scf.ForOp) -> None:
    """Replace a loop for which `finds_extremes` holds."""
    before = Block()
    none, some = constant(before, 0, i32), constant(before, 1, i32)
    quick, limits = _quick_loop(loop, none.value, some.value)
    before.add_op(quick)
    *found, has_nan = (Scalar(before, result) for result in quick.results)
    extremes = [number for number, fold in enumerate(_folds(loop)) if type(fold) in _QUICK]
    if len({_element_of(loop, number) for number in extremes}) == 1 and all(limit is None for limit in limits):
        for number in extremes:
            found[number] = _with_rules(loop, number, found[number], has_nan)
    else:
        found = _exact_in_doubt(loop, limits, found, has_nan)
    move_before(before, loop)
    for result, made in zip(loop.results, found, strict=True):
        replace_uses(result, made.value)
    erase_op(loop)


def _exact_in_doubt(loop: scf.ForOp, limits: list[float | None], found: list[Scalar], has_nan: Scalar) -> list[Scalar]:
    """The results of a loop, or those of the original loop if there was a NaN, or the number may be another one."""
    before, none = has_nan.block, has_nan.constant(0)
    is_nan, in_doubt = has_nan.compare("ne", none), constant(before, 0, i1)
    for start, value, limit, fold in zip(loop.iter_args, found, limits, _folds(loop), strict=True):
        if type(fold) in _QUICK:
            first = Scalar(before, start)
            is_nan = is_nan | first.compare("uno", first)
            in_doubt = in_doubt | value.compare("eq", 0.0)
        if limit is not None:
            in_doubt = in_doubt | value.compare("eq", limit)
    # A select, because the comparison of a maximum that NaN took part in means nothing.
    rare = is_nan.select(is_nan, in_doubt)
    exact = loop.clone()
    then = Block([exact, scf.YieldOp(*exact.results)])
    types = [result.type for result in loop.results]
    chosen = scf.IfOp(rare.value, types, [then], [Block([scf.YieldOp(*(one.value for one in found))])])
    before.add_op(chosen)
    return [Scalar(before, result) for result in chosen.results]


def _with_rules(loop: scf.ForOp, number: int, found: Scalar, has_nan: Scalar) -> Scalar:
    """An extreme that a loop finds, with the rules for NaN and the signs of zeros; others are of the same elements."""
    block, start = found.block, Scalar(found.block, loop.iter_args[number])
    element = _element_of(loop, number)
    is_zero, zero = found.compare("eq", 0.0), found.constant(0.0)
    if not (is_never_minus_zero(element) and is_never_minus_zero(start.value)):
        bits = start.bits()
        signs = _signs_loop(loop, number, bits)
        then = Block([signs, scf.YieldOp(*signs.results)])
        chosen = scf.IfOp(is_zero.value, [bits.type], [then], [Block([scf.YieldOp(bits.value)])])
        block.add_op(chosen)
        zero = (Scalar(block, chosen.results[0]) & -(1 << width_of(found.type) - 1)).bitcast(found.type)
    is_nan = has_nan.compare("ne", 0) | start.compare("uno", start)
    return is_nan.select(found.constant(math.nan), is_zero.select(zero, found))


def _element_of(loop: scf.ForOp, number: int) -> SSAValue:
    """The element that an iteration combines with the result of a number."""
    carried = loop.body.block.args[number + 1]
    return next(operand for operand in _folds(loop)[number].operands if operand is not carried)


def _signs_loop(loop: scf.ForOp, number: int, bits: Scalar) -> scf.ForOp:
    """
    The bits of a start and of all elements, combined so that the sign is that of a zero which is the extreme: a
    maximum is -0 if all are negative, a minimum if any is.
    """
    body, fold, element = loop.body.block, _folds(loop)[number], _element_of(loop, number)
    block = Block(arg_types=[body.args[0].type, bits.type])
    copies: dict[SSAValue, SSAValue] = {body.args[0]: block.args[0]}
    wanted = _computes(element, body)
    for op in body.ops:
        if op in wanted:
            block.add_op(op.clone(copies))
    signs, new = Scalar(block, block.args[1]), Scalar(block, copies.get(element, element)).bits()
    block.add_op(scf.YieldOp((signs & new if isinstance(fold, arith.MaximumfOp) else signs | new).value))
    made = scf.ForOp(loop.lb, loop.ub, loop.step, [bits.value], Region(block))
    made.attributes.update(loop.attributes)
    return made


def _computes(value: SSAValue, block: Block) -> set[Operation]:
    """The operations of a block that a value of it is computed by."""
    found, waiting = set[Operation](), [value.owner]
    while waiting:
        op = waiting.pop()
        if isinstance(op, Operation) and op.parent is block and op not in found:
            found.add(op)
            waiting.extend(operand.owner for operand in op.operands)
    return found


def _quick_loop(loop: scf.ForOp, none: SSAValue, some: SSAValue) -> tuple[scf.ForOp, list[float | None]]:
    """
    The loop without regard to NaN and signs of zeros, which also finds whether there is a NaN; and for each result the
    number that replaces elements that do not count.
    """
    body = loop.body.block
    folds = _folds(loop)
    block = Block(arg_types=[*(arg.type for arg in body.args), i32])
    copies: dict[SSAValue, SSAValue] = dict(zip(body.args, block.args, strict=False))
    for op in body.ops:
        if op not in folds and op is not body.last_op:
            block.add_op(op.clone(copies))
    seen, best, limits = block.args[-1], list[SSAValue](), list[float | None]()
    for fold, carried in zip(folds, block.args[1:-1], strict=True):
        is_extreme = type(fold) in _QUICK
        limits.append(_without_outside(fold, copies, block) if is_extreme else None)
        values = [copies.get(operand, operand) for operand in fold.operands]
        if not is_extreme:
            block.add_op(copy := fold.clone(copies))
            best.append(copy.results[0])
            continue
        new = next(value for value in values if value is not carried)
        quick = _QUICK[type(fold)].create(operands=values, result_types=[new.type], properties={"fastmath": _UNSAFE})
        block.add_op(quick)
        best.append(quick.results[0])
        is_nan = Scalar(block, new).compare("uno", Scalar(block, new))
        seen = is_nan.select(some, seen).value
    block.add_op(scf.YieldOp(*best, seen))
    made = scf.ForOp(loop.lb, loop.ub, loop.step, [*loop.iter_args, none], Region(block))
    made.attributes.update(loop.attributes)
    return made, limits
