"""Broadcasts of what follows from indices alone, such as a causal mask: computed where it is read, in no memory."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.op import CHEAP, HloOp, is_elementwise
from ...hlo_dialect.ops.creation import ConstantOp, IotaOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import constant_array, element_of, is_splat, make_tensor, shape_of
from .rewrite import Rewrite, by, simplifications

MOST_OPERATIONS = 8
"""Operations that are computed for each element of the larger tensor."""


@simplifications.on(BroadcastInDimOp)
def broadcast_of_counts(op: Operation) -> Rewrite | None:
    """
    A broadcast of a comparison of indices becomes a comparison of indices in the larger shape, if only elementwise
    operations read it.

    So does that of other cheap arithmetic on indices and scalars. A mask for all heads of an attention is written so.
    """
    assert isinstance(op, BroadcastInDimOp)
    shape, source = shape_of(op.results[0]), shape_of(op.operands[0])
    if not is_static(shape) or 0 in shape or math.prod(shape) == math.prod(source):
        return None
    if any(size == 1 and shape[dim] != 1 for dim, size in zip(op.dims, source, strict=True)):
        return None
    steps = _arithmetic(op.operands[0])
    if steps is None or not all(_is_read_at_own_index(use.operation, shape) for use in op.results[0].uses):
        return None
    return by(_in_shape(op, steps, shape))


def _is_read_at_own_index(user: Operation, shape: tuple[int, ...]) -> bool:
    return is_elementwise(user) and all(shape_of(result) == shape for result in user.results)


def _arithmetic(value: SSAValue) -> list[Operation] | None:
    """The operations that compute a value from indices and scalars, producers first; None if other values take part."""
    found: dict[Operation, None] = {}
    counts, pending = False, [value]
    while pending:
        owner = pending.pop().owner
        if not isinstance(owner, HloOp) or shape_of(owner.results[0]) != shape_of(value):
            return None
        found.pop(owner, None)
        found[owner] = None
        if len(found) > MOST_OPERATIONS:
            return None
        if is_elementwise(owner) and len(owner.results) == 1 and owner.COST <= CHEAP:
            pending += owner.operands
        elif not isinstance(owner, IotaOp) and not _is_scalar(owner):
            return None
        counts = counts or isinstance(owner, IotaOp)
    steps = list(reversed(found))
    return steps if counts and is_elementwise(steps[-1]) else None


def _is_scalar(op: Operation) -> bool:
    """Whether all elements of the operation's result are one number."""
    if isinstance(op, ConstantOp):
        return is_splat(op.dense)
    return isinstance(op, BroadcastInDimOp) and shape_of(op.operands[0]) == ()


def _in_shape(op: BroadcastInDimOp, steps: Sequence[Operation], shape: tuple[int, ...]) -> Tensor:
    """The value that a broadcast has, computed from operations in its own shape."""
    builder = Builder()
    values: dict[SSAValue, Tensor] = {}
    for step in steps:
        old = step.results[0]
        type_ = make_tensor(shape, element_of(old))
        if isinstance(step, IotaOp):
            values[old] = builder.iota(type_, op.dims[step.dimension])
        elif isinstance(step, ConstantOp):
            values[old] = builder.constant(constant_array(step.dense).reshape(-1)[:1], type_)
        elif isinstance(step, BroadcastInDimOp):
            values[old] = Tensor(builder, step.operands[0]).broadcast(type_)
        else:
            moved = type(step).create(
                operands=[values[operand].value for operand in step.operands],
                result_types=[type_],
                properties=step.properties,
                attributes=step.attributes,
            )
            values[old] = builder.add(moved)
    return values[op.operands[0]]
