"""
Elementwise operations that alone read a concatenation are computed of its parts.

    %s = hlo.concatenate %a, %b, %r = hlo.subtract %x, %s
    %r = hlo.concatenate (hlo.subtract (hlo.slice %x), %a), (hlo.subtract (hlo.slice %x), %b)

A concatenation is a kernel of its own, whose result another would read. Its parts are loops, which take in what is
computed of them.
"""

from __future__ import annotations

import math

from xdsl.ir import Block, SSAValue

from ...dialects.support.editing import erase_op, replace_uses
from ...dialects.support.rewriting import like
from ...hlo_dialect.expressions.tensor import Builder, Tensor, concatenate
from ...hlo_dialect.op import HloOp, is_elementwise
from ...hlo_dialect.ops.creation import is_splat_constant, splat_of
from ...hlo_dialect.ops.movement import BroadcastInDimOp
from ...hlo_dialect.ops.slicing import ConcatenateOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import element_of, make_tensor, shape_of
from .graph import bytes_of

LEAST_BYTES = 1 << 16
"""Bytes of a concatenation that take longer to read again than its parts' operations take to compile."""

LEAST_RUN = 1024
"""Bytes of a part that lie together, on average, from which loops of their own lose little at their ends."""

MOST_PARTS = 8
"""Parts of a concatenation, each of which has operations of its own."""

MOST_OPERATIONS = 64
"""Operations of all parts that one concatenation leads to."""

_JOINED = frozenset({"dot", "custom", "reduce"})
"""Roles of operations that would rather take in what is computed of them."""


def compute_in_parts(block: Block) -> None:
    """Rewrite the elementwise operations in `block` that alone read a large concatenation."""
    for op in list(block.ops):
        if isinstance(op, ConcatenateOp) and _has_long_parts(op):
            most, joined, are_long = MOST_OPERATIONS // len(op.operands), op, _are_long(op)
            while most and (user := _only_reader(joined, are_long)) is not None:
                joined, most = _in_parts(joined, user), most - 1


def _has_long_parts(op: ConcatenateOp) -> bool:
    shape = shape_of(op.results[0])
    if len(op.operands) > MOST_PARTS or not is_static(shape) or bytes_of(op.results[0]) < LEAST_BYTES:
        return False
    runs = math.prod(shape[: op.dim]) * len(op.operands)
    return bytes_of(op.results[0]) >= runs * LEAST_RUN


def _are_long(op: ConcatenateOp) -> bool:
    """Whether each part is long, not only their average."""
    rows = math.prod(shape_of(op.results[0])[: op.dim])
    return all(bytes_of(value) >= rows * LEAST_RUN for value in op.operands)


def _only_reader(op: ConcatenateOp, are_long: bool) -> HloOp | None:
    """
    The elementwise operation that alone reads a concatenation, if its other operands can be taken in parts; `are_long`:
    each part of the concatenation is.
    """
    readers = {use.operation for use in op.results[0].uses}
    user = next(iter(readers), None)
    if len(readers) != 1 or not isinstance(user, HloOp) or not is_elementwise(user) or user.parent is not op.parent:
        return None
    if user.regions or len(user.results) != 1 or shape_of(user.results[0]) != shape_of(op.results[0]):
        return None
    others = [value for value in user.operands if value is not op.results[0]]
    return user if all(_has_parts(value, user, are_long) for value in others) else None


def _has_parts(value: SSAValue, user: HloOp, are_long: bool) -> bool:
    """
    Whether parts of a value cost no more than the whole: it is in memory, or follows from such values for `user` alone.

    Beside a concatenation of short parts, elements that are moved are read by one loop with it instead, as the
    neighbours on a grid by rolls are.
    """
    pending = [value]
    while pending:
        each = pending.pop()
        owner = each.owner
        if isinstance(owner, Block) or owner.parent is not user.parent or is_splat_constant(each):
            continue
        if isinstance(owner, HloOp) and owner.ROLE in _JOINED:
            return False
        if is_elementwise(owner):
            if not each.has_one_use():
                return False
            pending += owner.operands
        elif not are_long and not isinstance(owner, BroadcastInDimOp):
            return False
    return True


def _in_parts(op: ConcatenateOp, user: HloOp) -> ConcatenateOp:
    """The concatenation of what `user` computes of each part, in its place."""
    builder, first, parts = Builder.before(user), 0, list[Tensor]()
    for part in op.operands:
        shape = shape_of(part)
        end = first + shape[op.dim]
        operands = [
            part if value is op.results[0] else _part(builder, value, op.dim, first, end).value
            for value in user.operands
        ]
        type_ = make_tensor(shape, element_of(user.results[0]))
        parts.append(builder.add(like(user, operands, [type_])))
        first = end
    joined = concatenate(parts, op.dim).value
    joined.name_hint = user.results[0].name_hint
    replace_uses(user.results[0], joined)
    erase_op(user)
    erase_op(op)
    assert isinstance(joined.owner, ConcatenateOp)
    return joined.owner


def _part(builder: Builder, value: SSAValue, dim: int, first: int, end: int) -> Tensor:
    """The elements of an operand from `first` up to `end` along one dimension."""
    if shape_of(value) == ():
        return Tensor(builder, value)
    owner = value.owner
    sizes = (*shape_of(value)[:dim], end - first, *shape_of(value)[dim + 1 :])
    if is_splat_constant(value):
        return builder.splat(splat_of(value).item(), make_tensor(sizes, element_of(value)))
    if not isinstance(owner, BroadcastInDimOp):
        return Tensor(builder, value).part(dim, first, end)
    operand = Tensor(builder, owner.operand)
    if dim in owner.dims and operand.shape[at := owner.dims.index(dim)] != 1:
        operand = operand.part(at, first, end)
    return operand.broadcast(sizes, owner.dims)
