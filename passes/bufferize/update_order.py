"""The order of reads and updates: kernels that read a tensor come before the one that updates it in place."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from ...dialects.support.buffer_ops import buffer_type, byte_size
from ...dialects.support.kernel import REPEATED
from .in_place import KernelFacts, has_effects

LARGE = 4096
"""Bytes of a tensor that is worth it: copying a smaller one costs less than a kernel."""


Kernels = Mapping[str, KernelFacts]
Places = dict[Operation, int]
"""The operations of a block by their order."""


def read_before_updates(block: Block, kernels: Kernels) -> list[Operation]:
    """
    Move readers of a tensor before the kernel call that updates it, so that none needs the old value later. Returns the
    operations of the block in their new order.

    A reader stays if it depends on the update, and if it or what it depends on has effects.
    """
    ops = list(block.ops)
    places = {op: place for place, op in enumerate(ops)}
    readers: set[Operation] = set()
    for op in ops:
        if isinstance(op, func.CallOp) and op not in readers:
            for base in _updated(op, kernels):
                moved = _readers(base, op, block, kernels, places)
                if moved:
                    _move_before(op, moved, block, places)
                    readers.update(moved)
    return list(block.ops)


def _updated(call: func.CallOp, kernels: Kernels) -> Iterator[SSAValue]:
    kernel = kernels.get(call.callee.root_reference.data)
    for index in range(len(call.results)):
        for number in () if kernel is None else kernel.updated(index)[:1]:
            base = call.arguments[number]
            if base.uses.get_length() > 1 and byte_size(buffer_type(base.type)) >= LARGE:
                yield base


def _readers(
    base: SSAValue, update: func.CallOp, block: Block, kernels: Kernels, places: Places
) -> Collection[Operation]:
    """All readers of `base` after the update, with what they depend on there; none if one of them has to stay."""
    place = places[update]
    found: set[Operation] = set()
    pending = [block.find_ancestor_op_in_block(use.operation) for use in base.uses]
    while pending:
        op = pending.pop()
        if op is None or op in found or places[op] <= place:
            continue
        if not _is_movable(op, kernels):
            return ()
        found.add(op)
        # Movable operations have no regions: they depend on their operands alone.
        owners = [value.owner for value in op.operands]
        if update in owners:
            return ()
        pending += [owner for owner in owners if isinstance(owner, Operation) and owner.parent is block]
    return found


def _move_before(update: func.CallOp, moved: Collection[Operation], block: Block, places: Places) -> None:
    """Move operations before the update, in their order."""
    for op in sorted(moved, key=places.__getitem__):
        op.detach()
        block.insert_op_before(op, update)
    places.update((op, place) for place, op in enumerate(block.ops))


def _is_movable(op: Operation, kernels: Kernels) -> bool:
    """
    Whether an operation has no effects, and no regions, as a kernel that calls nothing and an operation that makes
    another form of a value. A call that runs again would make its result live long, if it moved.
    """
    stays = op.regions or op.has_trait(IsTerminator) or REPEATED in op.attributes
    return not stays and not has_effects(op, kernels)
