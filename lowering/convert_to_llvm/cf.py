"""cf to llvm: branches, with the facts about a loop that its closing branch carries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from xdsl.dialects import cf, llvm
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from ...dialects.llvm_loops import LOOP, LoopAnnotationAttr
from ...dialects.llvm_ops import make_switch
from ...dialects.support.creation import create_op
from ...dialects.support.kernel import INTERLEAVE, VECTORIZE
from ..loop_nests.unrolling import UNROLL
from .builder import LlvmBuilder, patterns


def loop_annotation(op: Operation, group: int | None) -> Mapping[str, Attribute]:
    """The loop annotation of the branch that closes a loop; `group` is its access group if it is parallel."""
    factor, interleave = _number(op, UNROLL), _number(op, INTERLEAVE)
    stated = op.attributes.get(VECTORIZE)
    vectorize = bool(stated.value.data) if isinstance(stated, IntegerAttr) else None
    if group is None and vectorize is None and factor is None and interleave is None:
        return {}
    return {LOOP: LoopAnnotationAttr.of(vectorize, factor, () if group is None else (group,), interleave)}


def _number(op: Operation, name: str) -> int | None:
    """An integer attribute; None if the operation has none of this name."""
    found = op.attributes.get(name)
    return found.value.data if isinstance(found, IntegerAttr) else None


@patterns.on(cf.BranchOp)
def _branch(op: cf.BranchOp, to: LlvmBuilder) -> None:
    to.add(
        create_op(
            llvm.BrOp,
            operands=to.operands(op),
            successors=(to.blocks[op.successor],),
            attributes=loop_annotation(op, to.loop_groups.get(op)),
        )
    )


@patterns.on(cf.ConditionalBranchOp)
def _conditional_branch(op: cf.ConditionalBranchOp, to: LlvmBuilder) -> None:
    to.add(
        create_op(
            llvm.CondBrOp,
            operands=to.operands(op),
            successors=(to.blocks[op.then_block], to.blocks[op.else_block]),
            properties={"operandSegmentSizes": op.properties["operandSegmentSizes"]},
            attributes=loop_annotation(op, to.loop_groups.get(op)),
        )
    )


@patterns.on(cf.SwitchOp)
def _switch(op: cf.SwitchOp, to: LlvmBuilder) -> None:
    values: list[int] = []
    if op.case_values is not None:
        values = [int(value) for value in cast("DenseIntOrFPElementsAttr[Any]", op.case_values).get_values()]
    cases = [
        (to.blocks[block], [to.operand(value) for value in operands])
        for block, operands in zip(op.case_blocks, op.case_operand, strict=True)
    ]
    default = to.blocks[op.default_block], [to.operand(value) for value in op.default_operands]
    to.add(make_switch(to.operand(op.flag), default, values, cases))
