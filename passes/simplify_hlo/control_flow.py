"""
Rules for while, if and case: known branches, values that a loop carries needlessly.

A loop-invariant value of a while is used directly from outside (regions may do so); one that neither the condition nor
a used result needs is dropped.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import cast

from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.traits import is_side_effect_free

from ...dialects.support.editing import erase_op, replace_uses
from ...dialects.support.rewriting import like
from ...hlo_dialect.ops.control_flow import CaseOp, IfOp, ReturnOp, WhileOp
from ...hlo_dialect.ops.creation import ConstantOp, constant_of, is_splat_constant
from ...hlo_dialect.ops.movement import ReshapeOp
from ...hlo_dialect.walking import values_read
from .rewrite import Rewrite, simplifications


def _terminator(region: Region) -> Operation:
    last = region.block.last_op
    assert last is not None
    return last


def _inlined(region: Region) -> Rewrite:
    """Detach the operations of a region without arguments; return them and the values that the region returns."""
    block = region.block
    ops = list(block.ops)
    values = tuple(ops[-1].operands)
    erase_op(ops[-1])
    for op in ops[:-1]:
        op.detach()
    return Rewrite(ops[:-1], values, touched=[inner for op in ops[:-1] for inner in op.walk()])


# -- if and case -----------------------------------------------------------------------------------


@simplifications.on(IfOp, CaseOp)
def known_branch(op: Operation) -> Rewrite | None:
    """Replace an if or case by the branch that is known at compile time."""
    choice = constant_of(op.operands[0])
    if choice is None:
        return None
    if isinstance(op, IfOp):
        return _inlined(op.regions[0 if bool(choice) else 1])
    index, last = int(choice), len(op.regions) - 1
    return _inlined(op.regions[index if 0 <= index < last else last])


@simplifications.on(IfOp, CaseOp)
def unused_branch_results(op: Operation) -> Rewrite | None:
    """Drop unused results; replace a result for which all branches return the same outside value by that value."""
    keep = [i for i, result in enumerate(op.results) if result.first_use is not None]
    outside = {i: value for i in keep if (value := _same_from_outside(op, i)) is not None}
    keep = [i for i in keep if i not in outside]
    if len(keep) == len(op.results):
        return None
    regions: list[Region] = []
    touched: list[object] = []
    for region in list(op.regions):
        op.detach_region(region)
        touched += _restrict(_terminator(region), keep)
        regions.append(region)
    new = like(op, list(op.operands), [op.results[i].type for i in keep], regions=regions)
    position = {old: i for i, old in enumerate(keep)}
    values: list[SSAValue] = [
        new.results[position[i]] if i in position else outside.get(i, op.operands[0]) for i in range(len(op.results))
    ]
    return Rewrite((new,), values, touched)


def _same_from_outside(op: Operation, index: int) -> SSAValue | None:
    values = [_terminator(region).operands[index] for region in op.regions]
    first = values[0]
    if any(value is not first for value in values):
        return None
    block = first.owner if isinstance(first, BlockArgument) else cast(Operation, first.owner).parent
    inside = any(block is inner for region in op.regions for inner in region.blocks)
    return None if inside else first


def _restrict(terminator: Operation, keep: Sequence[int]) -> list[object]:
    """Restrict the block's terminator to the values `keep`; return the owners of the others."""
    dropped: list[object] = [value.owner for i, value in enumerate(terminator.operands) if i not in keep]
    terminator.operands = [terminator.operands[i] for i in keep]
    return dropped


# -- while -----------------------------------------------------------------------------------------


@simplifications.on(WhileOp)
def never_runs(op: Operation) -> Rewrite | None:
    """Replace a loop whose condition is the constant false by its operands."""
    condition = constant_of(_terminator(op.regions[0]).operands[0])
    if condition is None or bool(condition):
        return None
    return Rewrite((), tuple(op.operands))


@simplifications.on(WhileOp)
def same_values(op: Operation) -> Rewrite | None:
    """Two values that begin alike and go on alike are one."""
    cond, body = (region.block for region in op.regions)
    returned = tuple(_terminator(op.regions[1]).operands)
    first: dict[Hashable, int] = {}
    touched: list[object] = []
    for i, (begin, next_) in enumerate(zip(op.operands, returned, strict=True)):
        start = _form(begin)
        j = first.setdefault((start, next_), i)
        if j == i:
            j = first.setdefault((start, _form(next_, body.args[i])), i)
        used = [value for value in (cond.args[i], body.args[i], op.results[i]) if value.first_use is not None]
        if j == i or not used:
            continue
        for old, new in ((cond.args[i], cond.args[j]), (body.args[i], body.args[j]), (op.results[i], op.results[j])):
            touched += [use.operation for use in old.uses]
            replace_uses(old, new)
    return Rewrite(touched=touched) if touched else None


def _form(value: SSAValue, argument: SSAValue | None = None) -> Hashable:
    """
    A key of a value: equal for equal splats, and for what the same operation makes of equal ones; `argument` equals
    that of another key.
    """
    op = value.owner
    if value is argument:
        return None
    if isinstance(op, ConstantOp) and is_splat_constant(value):
        return (op.dense, value.type)
    movement = isinstance(op, ReshapeOp) and argument is not None
    if not isinstance(op, Operation) or not (movement or any(operand is argument for operand in op.operands)):
        return value
    if op.regions or not is_side_effect_free(op):
        return value
    operands = tuple(_form(operand, argument) for operand in op.operands)
    return (type(op), op.results.index(value), operands, tuple(sorted(op.properties.items())), value.type)


@simplifications.on(WhileOp)
def carried_for_nothing(op: Operation) -> Rewrite | None:
    """Stop carrying values that never change or that nothing needs."""
    cond, body = (region.block for region in op.regions)
    returned = tuple(_terminator(op.regions[1]).operands)
    outside: dict[int, SSAValue] = {
        i: op.operands[i] for i, value in enumerate(returned) if value is body.args[i] or value is op.operands[i]
    }
    needed = _needed(op, cond, body, returned)
    keep = [i for i in range(len(returned)) if i not in outside and i in needed]
    if len(keep) == len(returned):
        return None
    touched: list[object] = []
    for i, value in outside.items():
        for block in (cond, body):
            touched += [use.operation for use in block.args[i].uses]
            replace_uses(block.args[i], value)
    touched += _restrict(_terminator(op.regions[1]), keep)
    touched += _drop_arguments(cond, keep)
    touched += _drop_arguments(body, keep)
    operands = [op.operands[i] for i in keep]
    new = like(op, operands, [value.type for value in operands])
    position = {old: i for i, old in enumerate(keep)}
    # A result that nothing needs has no uses: any value can replace it.
    values = [new.results[position[i]] if i in position else op.operands[i] for i in range(len(returned))]
    return Rewrite((new,), values, touched)


def _drop_arguments(block: Block, keep: Sequence[int]) -> list[object]:
    """
    Erase the other arguments, and first their remaining users, which are dead. Returns the owners of those users'
    operands.
    """
    kept = set(keep)
    touched: list[object] = []
    for argument in reversed(block.args):
        if argument.index in kept:
            continue
        dead: dict[Operation, None] = {}
        pending = [use.operation for use in argument.uses]
        while pending:
            user = _in_block(block, pending.pop())
            if user not in dead:
                dead[user] = None
                pending += [use.operation for result in user.results for use in result.uses]
        for user in sorted(dead, key=block.get_operation_index, reverse=True) if dead else ():
            touched += [value.owner for value in values_read(user)]
            erase_op(user)
        block.erase_arg(argument)
    return touched


def _in_block(block: Block, op: Operation) -> Operation:
    found = block.find_ancestor_op_in_block(op)
    assert found is not None
    return found


def _needed(op: Operation, cond: Block, body: Block, returned: Sequence[SSAValue]) -> set[int]:
    """
    The values that the condition, an effect in the body, a used result or the next value of a needed one depends on.
    """
    needed: set[int] = set()
    for block in (cond, body):
        roots: list[SSAValue] = list(_terminator(op.regions[0]).operands) if block is cond else []
        for inner in block.ops:
            if type(inner) is not ReturnOp and not is_side_effect_free(inner):
                roots += values_read(inner)
        needed |= _arguments_behind(block, roots)
    needed |= {i for i, result in enumerate(op.results) if result.first_use is not None}
    pending = sorted(needed)
    while pending:
        for index in sorted(_arguments_behind(body, [returned[pending.pop()]])):
            if index not in needed:
                needed.add(index)
                pending.append(index)
    return needed


def _arguments_behind(block: Block, values: Sequence[SSAValue]) -> set[int]:
    """The indices of the block arguments that the values depend on."""
    found: set[int] = set()
    pending = list(values)
    seen: set[Operation | Block] = set()
    while pending:
        value = pending.pop()
        owner = value.owner
        if type(value) is BlockArgument:
            if owner is block:
                found.add(value.index)
        elif owner not in seen:
            seen.add(owner)
            pending += values_read(cast(Operation, owner))
    return found
