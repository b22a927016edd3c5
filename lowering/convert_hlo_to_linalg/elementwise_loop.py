"""A loop inside a kernel: a generic whose body loops for one element."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, Region, SSAValue

from ...dialects.support.scalar import Scalar
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.loops import ElementwiseLoop, Loop, elementwise_loop, is_pointwise
from ...hlo_dialect.ops.control_flow import WhileOp
from ...hlo_dialect.ops.creation import ConstantOp, is_splat_constant
from ...hlo_dialect.ops.movement import BroadcastInDimOp
from ...hlo_dialect.ops.reduction import ReduceOp
from .emission import Emitter, affine_map, identity_map, iterators, rank_of
from .scalars import inline_operations


def convert_elementwise_loop(op: WhileOp, emitter: Emitter) -> None:
    """
    Define the results of a loop in a kernel by one generic over the elements, with the loop inside.

    Raises DiagnosticError if the loop does not treat each element by itself.
    """
    found = elementwise_loop(Loop(op))
    if isinstance(found, str):
        fail(op, f"cannot be a part of a kernel: {found}")
    moved = [each for each in found.before if not isinstance(each, BroadcastInDimOp) or not is_pointwise(each)]
    if moved:
        fail(moved[0], "does not depend on the loop of the kernel: compute it before the loop")
    if any(op.results[i].first_use is not None for i in found.scalars):
        fail(op, "cannot be a part of a kernel: scalars that it computes are used after it")
    captured = _captured(found)
    inputs = [emitter.get(value) for value in (*op.operands, *captured)]
    used = [i for i in found.elements if op.results[i].first_use is not None]
    rank = len(found.shape)
    maps = (*(identity_map(rank) if rank_of(value.type) else affine_map(rank) for value in inputs),)

    def body(*arguments: Scalar) -> Sequence[Scalar]:
        block = arguments[0].block
        values = [argument.value for argument in arguments]
        count = len(op.operands)
        loop = _scalar_loop(found, values[:count], dict(zip(captured, values[count:], strict=False)), emitter)
        block.add_op(loop)
        return [Scalar(block, loop.results[i]) for i in used]

    empty = [emitter.empty(emitter.get(op.operands[i]).type) for i in used]
    results = emitter.generic(inputs, empty, (*maps, *(identity_map(rank),) * len(empty)), iterators(rank), body)
    for i, result in zip(used, results, strict=True):
        emitter.define(op.results[i], result)


def _captured(found: ElementwiseLoop) -> list[SSAValue]:
    """The values from outside that the regions read, each once, without splat constants."""
    loop = found.loop
    read = [value for block in (loop.cond, loop.body) for op in block.ops for value in op.operands]
    return list(dict.fromkeys(value for value in read if loop.is_outside(value) and not is_splat_constant(value)))


def _scalar_loop(
    found: ElementwiseLoop, inits: Sequence[SSAValue], captured: dict[SSAValue, SSAValue], emitter: Emitter
) -> scf.WhileOp:
    """The loop on the scalars of one element."""
    types = [init.type for init in inits]
    regions: list[Block] = []
    for source in (found.loop.cond, found.loop.body):
        target = Block(arg_types=types)
        values = dict(captured)
        values.update(zip(source.args, target.args, strict=True))
        returned = _inline(source, target, values)
        if source is found.loop.cond:
            target.add_op(scf.ConditionOp(returned[0], *target.args))
        else:
            target.add_op(scf.YieldOp(*returned))
        regions.append(target)
    loop = scf.WhileOp(list(inits), types, Region(regions[0]), Region(regions[1]))
    if emitter.location is not None:
        loop.location = emitter.location
    return loop


def _inline(source: Block, target: Block, values: dict[SSAValue, SSAValue]) -> list[SSAValue]:
    """Emit the operations of a region for one element; that any or not all go on becomes that this one does."""
    for op in source.ops:
        for value in op.operands:
            if value not in values and isinstance(value.owner, ConstantOp):
                inline_operations([value.owner], values, target)
        if op is source.last_op:
            return [values[operand] for operand in op.operands]
        if isinstance(op, ReduceOp):
            values[op.outs[0]] = values[op.inputs[0]]
        elif isinstance(op, BroadcastInDimOp):
            values[op.result] = values[op.operand]
        else:
            inline_operations([op], values, target)
    return []
