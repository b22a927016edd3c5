"""Control flow of host functions: hlo.while, if and case to scf on tensors."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Block, Region, SSAValue

from ...dialects.support.buffers import INDEX
from ...dialects.support.kernel import INDEPENDENT, MOST_TRIPS, TRIP_COUNT
from ...hlo_dialect.ops import control_flow as hlo
from .conversion import convert_operations
from .elementwise_loop import convert_elementwise_loop
from .emission import Emitter, patterns, signless


def _region(source: Region, emitter: Emitter) -> tuple[Region, Emitter, Sequence[SSAValue]]:
    """A region's converted block, its emitter, and the converted operands of its terminator."""
    old = source.block
    block = Block(arg_types=[signless(argument.type) for argument in old.args])
    inner = emitter.nested(block)
    for argument, new in zip(old.args, block.args, strict=True):
        inner.define(argument, new)
    returned = convert_operations(old, inner)
    return Region(block), inner, returned


@patterns.on(hlo.WhileOp)
def _while(op: hlo.WhileOp, emitter: Emitter) -> None:
    """The condition region's i1 and the state go to scf.condition; the body yields the next state."""
    if emitter.in_kernel:
        convert_elementwise_loop(op, emitter)
        return
    condition, inner, (predicate,) = _region(op.cond, emitter)
    inner.add(scf.ConditionOp(inner.extract(predicate), *condition.block.args))
    body, inner, state = _region(op.body, emitter)
    inner.add(scf.YieldOp(*state))
    new = scf.WhileOp(
        [emitter.get(value) for value in op.operand], [signless(result.type) for result in op.outs], condition, body
    )
    stated = (TRIP_COUNT, MOST_TRIPS, INDEPENDENT)
    new.attributes |= {name: value for name, value in op.attributes.items() if name in stated}
    _define(op.outs, emitter.add(new).results, emitter)


def _branches(regions: Sequence[Region], emitter: Emitter) -> list[Region]:
    converted: list[Region] = []
    for source in regions:
        region, inner, returned = _region(source, emitter)
        inner.add(scf.YieldOp(*returned))
        converted.append(region)
    return converted


@patterns.on(hlo.IfOp)
def _if(op: hlo.IfOp, emitter: Emitter) -> None:
    predicate = emitter.extract(emitter.get(op.pred))
    types = [signless(result.type) for result in op.outs]
    if_true, if_false = _branches([op.true_branch, op.false_branch], emitter)
    new = scf.IfOp(predicate, types, if_true, if_false)
    _define(op.outs, emitter.add(new).results, emitter)


@patterns.on(hlo.CaseOp)
def _case(op: hlo.CaseOp, emitter: Emitter) -> None:
    """scf.index_switch; the last branch is the default, for every index out of range."""
    index = emitter.scalar(emitter.extract(emitter.get(op.index))).cast(arith.IndexCastOp, INDEX)
    *cases, default = _branches(list(op.branches), emitter)
    new = scf.IndexSwitchOp(
        index.value,
        DenseArrayBase.from_list(i64, range(len(cases))),
        default,
        cases,
        [signless(result.type) for result in op.outs],
    )
    _define(op.outs, emitter.add(new).results, emitter)


def _define(old: Sequence[SSAValue], new: Sequence[SSAValue], emitter: Emitter) -> None:
    for before, after in zip(old, new, strict=True):
        emitter.define(before, after)


@patterns.on(hlo.OptimizationBarrierOp)
def _barrier(op: hlo.OptimizationBarrierOp, emitter: Emitter) -> None:
    """A barrier becomes its operands; fusion is over, so it has no further effect."""
    for operand, result in zip(op.operands, op.results, strict=True):
        emitter.values[result] = emitter.get(operand)
