"""Loops that treat each element by itself become kernels that loop for each element."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from ..dialects.support.kernel import is_kernel
from ..hlo_dialect.diagnostics import Diagnostic, engine_of
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.loops import ElementwiseLoop, Loop, elementwise_loop, merge_equal
from ..hlo_dialect.op import replace_op
from ..hlo_dialect.ops.control_flow import ReturnOp, WhileOp
from ..hlo_dialect.ops.creation import ConstantOp
from ..hlo_dialect.ops.fusion import FusionOp
from ..hlo_dialect.types import is_splat
from ..hlo_dialect.walking import operations_in

MOST_WORK = 1 << 34
"""Operations on elements that a kernel may do before the program can be interrupted: a few seconds."""


@dataclass(frozen=True)
class FuseLoopsPass(HloPass):
    """
    Make a kernel of each hlo.while that treats every element of the tensors it carries by itself.

    Before: `%r:2 = hlo.while(%i = %zero, %z = %x) .. do { %1 = hlo.multiply %z, %z .. }`
    After:  `%r = hlo.fusion loop (%a = %x : ..) -> .. { %1:2 = hlo.while(..) ..  hlo.return %1#1 }`
    Assumes: the level after simplify-hlo.
    Leaves: loops that are not elementwise, or that may run for more than a few seconds: a kernel is not interrupted.
    """

    name = "fuse-loops"
    works_on_functions = True

    def run(self, ctx: Context, module: ModuleOp) -> None:
        engine = engine_of(ctx)
        for function in module.body.block.ops:
            if not isinstance(function, func.FuncOp) or is_kernel(function):
                continue
            # Inner loops first, as an outer one may become elementwise by them.
            for op in reversed(operations_in(function)):
                if isinstance(op, WhileOp) and not _in_fusion(op):
                    reason = _fuse(op)
                    text = "one kernel runs the whole loop" if reason is None else f"not made a kernel: {reason}"
                    engine.emit(Diagnostic("remark", text, op.location))


def _in_fusion(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, FusionOp):
        parent = parent.parent_op()
    return parent is not None


def _fuse(op: WhileOp) -> str | None:
    """Replace the loop by a fusion; returns why not, if it stays."""
    found = elementwise_loop(Loop(op))
    if isinstance(found, str):
        return found
    limit = found.most_iterations
    if limit is None:
        return "its number of iterations has no known bound"
    cost = len(found.loop.body.ops)
    if limit * cost * found.size > MOST_WORK:
        return f"its {limit} iterations may take too long for one kernel"
    if any(op.results[i].first_use for i in found.scalars):
        return "scalars that it computes are used after it"
    if not any(op.results[i].first_use for i in found.elements):
        return "nothing uses its results"
    _replace(found)
    return None


def _replace(found: ElementwiseLoop) -> None:
    """Move the loop, with what it reads that does not change, into a fusion."""
    op = found.loop.op
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
