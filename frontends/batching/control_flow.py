"""
Batching of control flow: what all elements decide alike stays; else all branches run and results are chosen, and loops
run until the last element is done.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block

from ...hlo_dialect.expressions.tensor import Tensor
from ...hlo_dialect.ops.control_flow import CaseOp, IfOp, WhileOp
from ...hlo_dialect.ops.elementwise_binary import OrOp
from ...hlo_dialect.types import i1, make_tensor
from .batcher import Batcher, batching
from .structural import Flags, Tensors


def _chosen(mask: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Elements by a batch of booleans."""
    return mask.broadcast(first.shape, [0]).select(first, second)


def _branches(
    batcher: Batcher, op: IfOp | CaseOp, blocks: Sequence[Block], decision: Tensor, masks: list[Tensor] | None
) -> Tensors:
    """With masks for all branches but the last, all run."""
    if masks is not None:
        everywhere = [True] * len(op.results)
        *others, results = [batcher.results(block, [], everywhere) for block in blocks]
        for mask, found in reversed(list(zip(masks, others, strict=True))):
            results = [_chosen(mask, *pair) for pair in zip(found, results, strict=True)]
        return results
    flags = [any(column) for column in zip(*(batcher.spread(block, []) for block in blocks), strict=True)]
    regions = [batcher.region([], [], lambda _, block=block: batcher.results(block, [], flags)) for block in blocks]
    types = [batcher.type_of(one) if flag else one.type for one, flag in zip(op.results, flags, strict=True)]
    return batcher.emit(op, [decision], types, regions=regions)


@batching.on(IfOp)
def _if(batcher: Batcher, op: IfOp, operands: Tensors, batched: Flags) -> Tensors:
    blocks = [op.true_branch.block, op.false_branch.block]
    return _branches(batcher, op, blocks, operands[0], operands if batched[0] else None)


@batching.on(CaseOp)
def _case(batcher: Batcher, op: CaseOp, operands: Tensors, batched: Flags) -> Tensors:
    """An index outside of the branches chooses the last."""
    blocks = [region.block for region in op.branches]
    masks = [operands[0].equals(number) for number in range(len(blocks) - 1)] if batched[0] else None
    return _branches(batcher, op, blocks, operands[0], masks)


@batching.on(WhileOp)
def _while(batcher: Batcher, op: WhileOp, operands: Tensors, batched: Flags) -> Tensors:
    condition, body = op.cond.block, op.body.block
    flags = _batched_state(batcher, body, batched)
    (each_decides,) = batcher.spread(condition, flags)
    if each_decides:
        # Elements that are done keep their values.
        kept = [end is start for end, start in zip(_end(body), body.args, strict=True)]
        flags = [flag or not same for flag, same in zip(flags, kept, strict=True)]
        flags = _batched_state(batcher, body, flags)

    def goes_on(state: Tensors) -> Tensors:
        (found,) = batcher.results(condition, state, [each_decides])
        if not each_decides:
            return [found]
        false = batcher.builder.inserter.splat(False, make_tensor((), i1))
        return [found.reduce(OrOp, false, [0])]

    def step(state: Tensors) -> Tensors:
        masks = batcher.results(condition, state, [True]) if each_decides else []
        results = batcher.results(body, state, flags)
        if not masks:
            return results
        return [
            _chosen(masks[0], new, old) if flag else old for new, old, flag in zip(results, state, flags, strict=True)
        ]

    given = [
        batcher.led(value, was) if flag else value for value, was, flag in zip(operands, batched, flags, strict=True)
    ]
    regions = [batcher.region(condition.args, flags, goes_on), batcher.region(body.args, flags, step)]
    types = [batcher.type_of(one) if flag else one.type for one, flag in zip(op.results, flags, strict=True)]
    return batcher.emit(op, given, types, regions=regions)


def _end(block: Block) -> Sequence[object]:
    last = block.last_op
    assert last is not None
    return last.operands


def _batched_state(batcher: Batcher, body: Block, flags: Sequence[bool]) -> list[bool]:
    """The values of a loop that become batches, sooner or later."""
    found = list(flags)
    while True:
        after = [one or other for one, other in zip(found, batcher.spread(body, found), strict=True)]
        if after == found:
            return found
        found = after
