"""Branches and loops inside the bodies of elementary functions, for rare but expensive cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, Region

from ...dialects.support.scalar import Scalar

Values = Sequence[Scalar]


def _moved(values: Values, block: Block) -> list[Scalar]:
    """The same values, for use by a builder in another block."""
    return [Scalar(block, value.value) for value in values]


def branch(
    condition: Scalar, values: Values, then: Callable[..., Values], otherwise: Callable[..., Values]
) -> list[Scalar]:
    """`condition ? then(*values) : otherwise(*values)`; only the selected side is computed."""
    regions: list[Region] = []
    types = []
    for compute in (then, otherwise):
        block = Block()
        results = compute(*_moved(values, block))
        types = [result.type for result in results]
        block.add_op(scf.YieldOp(*(result.value for result in results)))
        regions.append(Region(block))
    op = scf.IfOp.create(operands=[condition.value], result_types=types, regions=regions)
    condition.block.add_op(op)
    return [Scalar(condition.block, result) for result in op.results]


def repeat_while(
    start: Values, test: Callable[..., Scalar], step: Callable[..., Values], others: Values = ()
) -> list[Scalar]:
    """`values = start; while test(*values): values = step(*values)`; both also get the loop-invariant `others`."""
    types = [value.type for value in start]
    before, after = Block(arg_types=types), Block(arg_types=types)
    tested = [Scalar(before, argument) for argument in before.args]
    decision = test(*tested, *_moved(others, before))
    before.add_op(scf.ConditionOp(decision.value, *before.args))
    stepped = step(*[Scalar(after, argument) for argument in after.args], *_moved(others, after))
    after.add_op(scf.YieldOp(*(value.value for value in stepped)))
    op = scf.WhileOp.create(
        operands=[value.value for value in start], result_types=types, regions=[Region(before), Region(after)]
    )
    block = start[0].block
    block.add_op(op)
    return [Scalar(block, result) for result in op.results]
