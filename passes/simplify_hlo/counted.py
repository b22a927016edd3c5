"""Broadcasts of what follows from indices alone, such as a causal mask: computed where it is read, in no memory."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.op import CHEAP, HloOp, is_elementwise
from ...hlo_dialect.ops.creation import ConstantOp, IotaOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import constant_array, element_of, is_splat, make_tensor, shape_of
from .rewrite import Rewrite, by, simplifications

MOST_OPERATIONS = 8
"""Operations that are computed for each element of the larger tensor."""

MOST_VISITED = 4 * MOST_OPERATIONS
"""Those, with the broadcasts and reshapes between them, to look at."""

Dims = tuple[int | None, ...]
"""For each dimension of a value, the dimension of the result that counts it; None: its index is 0."""

Placed = tuple[SSAValue, Dims]
"""A value, and how the result's indices are its own."""


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
    return _counted_in_place(op)


@simplifications.on(ReshapeOp)
def reshape_of_counts(op: Operation) -> Rewrite | None:
    """
    A comparison of indices whose result gets dimensions of size 1 becomes a comparison in that shape, if only
    elementwise operations read it.

    So does other cheap arithmetic on indices and scalars, as for broadcasts.
    """
    return _counted_in_place(op) if is_static(shape_of(op.results[0])) and 0 not in shape_of(op.results[0]) else None


def _counted_in_place(op: Operation) -> Rewrite | None:
    """The result of a broadcast or reshape computed from indices in its own shape."""
    (result,) = op.results
    root: Placed = (result, tuple(range(len(shape_of(result)))))
    if not all(_is_read_at_own_index(use.operation, shape_of(result)) for use in result.uses):
        return None
    steps = _arithmetic(root)
    return None if steps is None else by(_in_shape(root, steps))


def _is_read_at_own_index(user: Operation, shape: tuple[int, ...]) -> bool:
    return is_elementwise(user) and all(shape_of(result) == shape for result in user.results)


def _arithmetic(root: Placed) -> list[Placed] | None:
    """The values that a value is computed from, producers first; None if others than indices and scalars take part."""
    found: dict[Placed, None] = {}
    computed = visited = 0

    def visit(placed: Placed) -> bool:
        nonlocal computed, visited
        if placed in found:
            return True
        sources = _sources(placed)
        if sources is None:
            return False
        # Before what it is computed from, which may be a chain of any length.
        moves = isinstance(placed[0].owner, (BroadcastInDimOp, ReshapeOp)) and bool(sources)
        computed += 0 if moves else 1
        visited += 1
        if computed > MOST_OPERATIONS or visited > MOST_VISITED or not all(map(visit, sources)):
            return False
        found[placed] = None
        return True

    if not visit(root):
        return None
    owners = [value.owner for value, _ in found]
    counts = any(isinstance(owner, IotaOp) for owner in owners)
    arithmetic = any(isinstance(owner, HloOp) and is_elementwise(owner) for owner in owners)
    return list(found) if counts and arithmetic else None


def _sources(placed: Placed) -> list[Placed] | None:
    """The operands of a value; none for indices and scalars, None if it is not computed from these."""
    value, dims = placed
    owner = value.owner
    if not isinstance(owner, HloOp):
        return None
    if isinstance(owner, IotaOp):
        return None if dims[owner.dimension] is None else []
    if _is_scalar(owner):
        return []
    if is_elementwise(owner) and len(owner.results) == 1 and owner.COST <= CHEAP:
        same = all(shape_of(operand) == shape_of(value) for operand in owner.operands)
        return [(operand, dims) for operand in owner.operands] if same else None
    if isinstance(owner, BroadcastInDimOp):
        shape = shape_of(owner.operands[0])
        places = zip(owner.dims, shape, strict=True)
        return [(owner.operands[0], tuple(None if size == 1 else dims[dim] for dim, size in places))]
    if isinstance(owner, ReshapeOp):
        own, shape = shape_of(value), shape_of(owner.operands[0])
        moved = [dim for dim, size in zip(dims, own, strict=True) if size != 1]
        if [size for size in own if size != 1] != [size for size in shape if size != 1]:
            return None
        rest = iter(moved)
        return [(owner.operands[0], tuple(None if size == 1 else next(rest) for size in shape))]
    return None


def _is_scalar(op: Operation) -> bool:
    """Whether all elements of the operation's result are one number."""
    if isinstance(op, ConstantOp):
        return is_splat(op.dense)
    return isinstance(op, BroadcastInDimOp) and shape_of(op.operands[0]) == ()


def _in_shape(root: Placed, steps: Sequence[Placed]) -> Tensor:
    """A value computed from indices in its own shape."""
    builder, shape = Builder(), shape_of(root[0])
    values: dict[Placed, Tensor] = {}
    for placed in steps:
        value, dims = placed
        step, type_ = value.owner, make_tensor(shape, element_of(value))
        assert isinstance(step, HloOp)
        if isinstance(step, IotaOp):
            dim = dims[step.dimension]
            assert dim is not None
            values[placed] = builder.iota(type_, dim)
        elif isinstance(step, ConstantOp):
            values[placed] = builder.constant(constant_array(step.dense).reshape(-1)[:1], type_)
        elif _is_scalar(step):
            values[placed] = Tensor(builder, step.operands[0]).broadcast(type_)
        elif isinstance(step, (BroadcastInDimOp, ReshapeOp)):
            values[placed] = values[(_sources(placed) or [placed])[0]]
        else:
            moved = type(step).create(
                operands=[values[operand, dims].value for operand in step.operands],
                result_types=[type_],
                properties=step.properties,
                attributes=step.attributes,
            )
            values[placed] = builder.add(moved)
    return values[root]
