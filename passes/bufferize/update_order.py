"""The order of reads and updates: kernels that read a tensor come before the one that updates it in place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from xdsl.dialects import arith, func, tensor
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.support.buffer_ops import buffer_type, byte_size
from ...dialects.support.kernel import REPEATED
from ...dialects.tensor_ops import CollapseShapeOp, ExpandShapeOp
from .in_place import KernelFacts

LARGE = 4096
"""Bytes of a tensor that is worth it: copying a smaller one costs less than a kernel."""


Kernels = Mapping[str, KernelFacts]


def read_before_updates(block: Block, kernels: Kernels) -> list[Operation]:
    """
    Move readers of a tensor before the kernel call that updates it, so that none needs the old value later. Returns the
    operations of the block in their new order.

    A reader stays if it depends on the update, and if it or what it depends on has effects.
    """
    readers: set[Operation] = set()
    for op in list(block.ops):
        if isinstance(op, func.CallOp) and op not in readers:
            for base in _updated(op, kernels):
                readers.update(_move_readers(base, op, block, kernels))
    return list(block.ops)


def _updated(call: func.CallOp, kernels: Kernels) -> Iterator[SSAValue]:
    kernel = kernels.get(call.callee.root_reference.data)
    for index in range(len(call.results)):
        for number in () if kernel is None else kernel.updated(index)[:1]:
            base = call.arguments[number]
            if base.uses.get_length() > 1 and byte_size(buffer_type(base.type)) >= LARGE:
                yield base


def _move_readers(base: SSAValue, update: func.CallOp, block: Block, kernels: Kernels) -> Iterable[Operation]:
    """Move all readers of `base`, with what they depend on, or none. Returns what was moved."""
    behind = _behind(update)
    readers = {block.find_ancestor_op_in_block(use.operation) for use in base.uses}.intersection(behind)
    dependent: set[Operation | Block] = {update}
    for op in behind:
        if any(value.owner in dependent for value in _operands(op)):
            dependent.add(op)
    moved: set[Operation] = set()
    pending = list(readers)
    while pending:
        op = pending.pop()
        if op is None or op in dependent or not _is_movable(op, kernels):
            return ()
        if op not in moved:
            moved.add(op)
            pending += [
                value.owner for value in op.operands if value.owner in behind and isinstance(value.owner, Operation)
            ]
    for op in behind:
        if op in moved:
            op.detach()
            block.insert_op_before(op, update)
    return moved


def _behind(op: Operation) -> dict[Operation, None]:
    """The operations of its block after `op`, in order."""
    found: dict[Operation, None] = {}
    while (following := op.next_op) is not None:
        found[following] = None
        op = following
    return found


def _operands(op: Operation) -> Iterator[SSAValue]:
    for inner in op.walk():
        yield from inner.operands


def _is_movable(op: Operation, kernels: Kernels) -> bool:
    """
    Whether an operation has no effects: a kernel that calls nothing, or one that makes another form of a value. A call
    that runs again would make its result live long, if it moved.
    """
    if isinstance(op, func.CallOp):
        kernel = kernels.get(op.callee.root_reference.data)
        return kernel is not None and not kernel.has_effects and REPEATED not in op.attributes
    return isinstance(op, (arith.ConstantOp, CollapseShapeOp, ExpandShapeOp, tensor.ExtractOp))
