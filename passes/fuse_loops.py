"""Loops that treat each element by itself become kernels that loop for each element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Region, SSAValue

from ..hlo_dialect.diagnostics import Diagnostic, engine_of
from ..hlo_dialect.expressions.tensor import Builder
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.loops import ElementwiseLoop, Loop, elementwise_loop, merge_equal
from ..hlo_dialect.loops.analysis import host_loops
from ..hlo_dialect.op import replace_op
from ..hlo_dialect.ops.control_flow import ReturnOp, WhileOp
from ..hlo_dialect.ops.creation import ConstantOp
from ..hlo_dialect.ops.elementwise_binary import AndOp
from ..hlo_dialect.ops.fusion import FusionOp
from ..hlo_dialect.types import is_splat
from .simplify_hlo.control_flow import carried_for_nothing

MOST_WORK = 1 << 34
"""Operations on elements that a kernel may do before the program can be interrupted: a few seconds."""

FEWEST_AT_A_TIME, MOST_AT_A_TIME = 16, 1 << 16
"""Iterations of a loop without a known bound that one run of its kernel makes."""


class FuseLoopsPass(HloPass):
    """
    Make a kernel of each hlo.while that treats every element of the tensors it carries by itself.

    Before: `%r:2 = hlo.while(%i = %zero, %z = %x) .. do { %1 = hlo.multiply %z, %z .. }`
    After:  `%r = hlo.fusion loop (%a = %x : ..) -> .. { %1:2 = hlo.while(..) ..  hlo.return %1#1 }`
    Assumes: the level after simplify-hlo.
    Leaves: loops that are not elementwise. A kernel is not interrupted: one that may run for more than a few seconds
            makes only some iterations, in an outer loop.
    """

    name = "fuse-loops"
    only_for = ("hlo.while",)
    works_on_functions = True

    def run(self, ctx: Context, module: ModuleOp) -> None:
        engine = engine_of(ctx)
        # An outer loop may become elementwise by inner ones.
        for op in host_loops(module, inner_first=True):
            engine.emit(Diagnostic("remark", _fuse(op), op.location))


def _fuse(op: WhileOp) -> str:
    """Replace the loop by a kernel, if that is possible; returns in words what was done, or why it stays."""
    found = elementwise_loop(Loop(op))
    if isinstance(found, str):
        return f"not made a kernel: {found}"
    if not any(op.results[i].first_use for i in found.elements):
        return "not made a kernel: nothing uses its tensors"
    limit = found.most_iterations
    work = len(found.loop.body.ops) * found.size
    if limit is None or limit * work > MOST_WORK:
        if found.stopping is not None and found.scalars:
            return "not made a kernel: its number of iterations has no known bound"
        count = min(max(MOST_WORK // 16 // max(work, 1), FEWEST_AT_A_TIME), MOST_AT_A_TIME)
        _fuse(divide(op, count))
        return f"one kernel runs up to {count} iterations of the loop"
    if any(op.results[i].first_use for i in found.scalars):
        for each in separate(op, found.scalars):
            _fuse(each)
    _replace(found)
    return "one kernel runs the whole loop"


def divide(op: WhileOp, count: int) -> WhileOp:
    """Put the loop into another of the same condition, and end it after `count` iterations; returns the inner loop."""
    types = [value.type for value in op.operands]
    cond, body = op.cond.clone(), op.body.clone()
    outer = Block(arg_types=types)
    zero = ConstantOp.of(np.zeros((), np.int32))
    inner = WhileOp.create(
        operands=[*outer.args, zero.result],
        result_types=[*types, zero.result.type],
        regions=[cond, body],
        location=op.location,
    )
    outer.add_ops([zero, inner, ReturnOp.create(operands=inner.results[:-1], location=op.location)])
    for block in (cond.block, body.block):
        last = block.last_op
        assert last is not None, "a region without a terminator passes no verifier"
        b = Builder.before(last)
        (done,) = b.tensors([block.insert_arg(zero.result.type, len(block.args))])
        if block is cond.block:
            last.operands = [b.op(AndOp, (last.operands[0], done.compare("LT", count, "SIGNED"))).value]
        else:
            last.operands = [*last.operands, (done + 1).value]
    new = WhileOp.create(
        operands=op.operands,
        result_types=types,
        regions=[op.detach_region(op.cond), Region(outer)],
        location=op.location,
    )
    replace_op(op, (new,), new.results)
    return inner


def separate(op: WhileOp, positions: Sequence[int]) -> list[WhileOp]:
    """Compute results that are used after the loop in a loop of their own before it; returns the new loops."""
    block = op.parent
    assert block is not None
    alone = op.clone()
    block.insert_op_before(alone, op)
    for i in positions:
        op.results[i].replace_all_uses_with(alone.results[i])
    rewrite = carried_for_nothing(alone)
    if rewrite is None or rewrite.values is None:
        return [alone]
    replace_op(alone, rewrite.new_ops, rewrite.values)
    return [each for each in rewrite.new_ops if type(each) is WhileOp]


def _replace(found: ElementwiseLoop) -> None:
    """Move the loop, with what it reads that does not change, into a fusion."""
    op = found.loop.op
    found = _without_constants(found)
    used = [i for i in found.elements if op.results[i].first_use is not None]
    inputs, block, inside = _prologue(found)
    operands = [inside.get(value, value) for value in op.operands]
    regions = [op.detach_region(region) for region in list(op.regions)]
    types = [value.type for value in operands]
    loop = WhileOp.create(operands=operands, result_types=types, regions=regions, location=op.location)
    block.add_op(loop)
    for inner in loop.walk():
        inner.operands = [inside.get(value, value) for value in inner.operands]
    merge_equal([each for each in block.ops if each is not loop])
    block.add_op(ReturnOp.create(operands=[loop.results[i] for i in used], location=op.location))
    fusion = FusionOp.create(
        operands=inputs,
        result_types=[op.results[i].type for i in used],
        properties={"kind": StringAttr("loop")},
        regions=[Region(block)],
        location=op.location,
    )
    position = {i: number for number, i in enumerate(used)}
    # A result without uses may be replaced by any value.
    values = [fusion.results[position[i]] if i in position else op.operands[i] for i in range(len(op.results))]
    replace_op(op, (fusion,), values)


def _without_constants(found: ElementwiseLoop) -> ElementwiseLoop:
    """The loop after its constants have moved before it: a kernel takes those that are no splats as operands."""
    op = found.loop.op
    block = op.parent
    assert block is not None
    constants = [each for each in found.before if isinstance(each, ConstantOp)]
    for each in constants:
        each.detach()
        block.insert_op_before(each, op)
    return replace(found, before=tuple(each for each in found.before if each not in constants))


def _prologue(found: ElementwiseLoop) -> tuple[list[SSAValue], Block, dict[SSAValue, SSAValue]]:
    """
    The values that the fusion takes, its block with all that comes before the loop, and the block's values for those
    outside.
    """
    read = _read(found)
    splats = [owner for value in read if isinstance(owner := value.owner, ConstantOp) and is_splat(owner.dense)]
    inputs = [value for value in read if value.owner not in splats]
    block = Block(arg_types=[value.type for value in inputs])
    inside: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for value, argument in inside.items():
        argument.name_hint = value.name_hint
    for each in splats:
        inside[each.result] = _clone(each, block)
    for each in found.before:
        # A splat constant of the region stays there for its other users.
        constants = {
            value: _clone(owner, block) for value in each.operands if isinstance(owner := value.owner, ConstantOp)
        }
        each.detach()
        each.operands = [constants.get(value) or inside.get(value, value) for value in each.operands]
        block.add_op(each)
    return inputs, block, inside


def _clone(op: ConstantOp, block: Block) -> SSAValue:
    clone = op.clone()
    block.add_op(clone)
    return clone.result


def _read(found: ElementwiseLoop) -> list[SSAValue]:
    """The values from outside that the loop takes and reads, each once."""
    loop = found.loop
    values = [value for inner in loop.op.walk() for value in inner.operands]
    return list(dict.fromkeys(value for value in values if loop.is_outside(value)))
