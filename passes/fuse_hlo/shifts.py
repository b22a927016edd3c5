"""
Elements along the last dimension moved by a few places, as of `jnp.roll`, become selections that loops take in.

    %n = hlo.slice %x [1:500], %f = hlo.slice %x [0:1], %s = hlo.concatenate %n, %f    // the next element, or the first
    %s = select(iota < 499, hlo.pad %n, hlo.broadcast_in_dim %f)

A concatenation is a kernel of its own, which writes what others read at once. The innermost loop over such a selection
is cut where its condition changes (`lowering/loop_nests/borders.py`): what is left reads neighbours where they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.support.editing import erase_op, replace_uses
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.op import HloOp, is_elementwise
from ...hlo_dialect.ops.control_flow import OptimizationBarrierOp
from ...hlo_dialect.ops.movement import ReshapeOp
from ...hlo_dialect.ops.slicing import ConcatenateOp, SliceOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import element_of, make_tensor, shape_of
from .graph import bytes_of

LEAST_INSIDE = 48
"""Elements of the long part that make a loop of its own worth it."""

LEAST_BYTES = 256
"""Bytes of one of several rows from which that is so: shorter ones lose whole vectors at both ends."""

MOST_MOVED = 3
"""Elements beside the long part: each is a selection."""

MOST_PLACES = 1 << 30
"""Elements of the last dimension, whose numbers have 32 bits."""

MOST_FOLLOWERS = 60
"""Operations that follow: what loops take in is searched once for each concatenation."""

MOST_SHIFTS = 12
"""Selections of one block that loops are cut for: their bodies are emitted for the border, too."""


def select_shifted_elements(block: Block) -> None:
    """Rewrite the concatenations of a long part and a few elements in `block` that loops alone read."""
    found = [op for op in block.ops if isinstance(op, ConcatenateOp) and _is_shift(op) and _is_for_loops(op)]
    for op in found if len(found) <= MOST_SHIFTS else ():
        _select(op)


def _is_shift(op: ConcatenateOp) -> bool:
    """Whether one part along the last dimension is long, and the others are a few elements."""
    shape = shape_of(op.results[0])
    if not is_static(shape) or op.dim != len(shape) - 1 or 0 in shape or shape[-1] >= MOST_PLACES:
        return False
    rows = math.prod(shape[:-1])
    if rows > 1 and bytes_of(op.results[0]) < rows * LEAST_BYTES:
        return False
    sizes = sorted(shape_of(value)[-1] for value in op.operands)
    return sizes[0] > 0 and sizes[-1] >= LEAST_INSIDE and 0 < sum(sizes[:-1]) <= MOST_MOVED and _is_in_memory(op)


def _is_in_memory(op: ConcatenateOp) -> bool:
    """Whether the long part is read where it is: an element that is computed would be so for each reader."""
    source = max(op.operands, key=lambda value: shape_of(value)[-1])
    while isinstance(source.owner, SliceOp | ReshapeOp):
        source = source.owner.operands[0]
    in_memory = isinstance(source.owner, Block | OptimizationBarrierOp | ConcatenateOp)
    return in_memory or source.owner.parent is not op.parent


def _is_for_loops(op: ConcatenateOp) -> bool:
    """Whether elements of its size alone are computed of it, which no reduction reads."""
    assert op.parent is not None
    shape = shape_of(op.results[0])
    pending, seen = [use.operation for use in op.results[0].uses], set[Operation]()
    while pending:
        user = pending.pop()
        if user in seen:
            continue
        seen.add(user)
        if len(seen) > 1 and (user is op.parent.last_op or (isinstance(user, HloOp) and user.ROLE == "host")):
            continue
        if isinstance(user, ConcatenateOp) and user.dim != len(shape_of(user.results[0])) - 1:
            continue  # its parts are loops
        if user.parent is not op.parent or not _keeps_rows(user, shape):
            return False
        pending += [use.operation for result in user.results for use in result.uses]
    return 0 < len(seen) <= MOST_FOLLOWERS


def _keeps_rows(user: Operation, shape: tuple[int, ...]) -> bool:
    """Whether an operation computes rows of elements of such rows at the same places."""
    if not is_elementwise(user) and not isinstance(user, ReshapeOp):
        return False
    result = shape_of(user.results[0])
    return _long(result, result) == _long(shape, shape)


def _select(op: ConcatenateOp) -> None:
    """Replace a concatenation by its long part, padded, and the elements before and after it, selected."""
    shape, dim, element = shape_of(op.results[0]), op.dim, element_of(op.results[0])
    builder = Builder.before(op)
    places = builder.iota(make_tensor(shape, i32), dim)
    sizes = [shape_of(value)[dim] for value in op.operands]
    long = sizes.index(max(sizes))
    before, after = sum(sizes[:long]), sum(sizes[long + 1 :])
    zero = builder.splat(0, make_tensor((), element))
    value = _padded(builder, op.operands[long], [0] * dim + [before], [0] * dim + [after], zero)
    # The outermost selections are those of the elements next to the long part: no other is left inside.
    ends = [_element(builder, part, at, shape) for part in op.operands[long + 1 :] for at in range(shape_of(part)[dim])]
    starts = [_element(builder, part, at, shape) for part in op.operands[:long] for at in range(shape_of(part)[dim])]
    if ends:
        rest = ends[-1]
        for at, end in reversed([*enumerate(ends)][:-1]):
            rest = places.compare("LT", shape[dim] - after + at + 1).select(end, rest)
        value = places.compare("LT", shape[dim] - after).select(value, rest)
    if starts:
        rest = starts[0]
        for at, start in [*enumerate(starts)][1:]:
            rest = places.compare("GE", at).select(start, rest)
        value = places.compare("GE", before).select(value, rest)
    replace_uses(op.results[0], value.value)
    erase_op(op)


def _padded(builder: Builder, value: SSAValue, low: list[int], high: list[int], zero: Tensor) -> Tensor:
    """
    A value with `low` elements before it and `high` after it. Slices are taken by the padding itself, also of what has
    more dimensions of size 1: a tensor is padded where it is.
    """
    shape = tuple(sum(each) for each in zip(low, shape_of(value), high, strict=True))
    while isinstance(part := value.owner, SliceOp | ReshapeOp):
        source = part.operands[0]
        if isinstance(part, SliceOp):
            if set(part.steps) != {1}:
                break
            low = [count - start for count, start in zip(low, part.starts, strict=True)]
            sizes = shape_of(source)
            high = [count + limit - size for count, limit, size in zip(high, part.limits, sizes, strict=True)]
        else:
            (lows, highs), sizes = (iter(_long(counts, shape_of(value))) for counts in (low, high)), shape_of(source)
            if _long(sizes, sizes) != _long(shape_of(value), shape_of(value)):
                break
            low, high = ([next(counts) if size != 1 else 0 for size in sizes] for counts in (lows, highs))
        value = source
    return Tensor(builder, value).pad(zero, low, high).reshape(shape)


def _long(counts: Sequence[int], shape: tuple[int, ...]) -> list[int]:
    """The numbers that belong to dimensions of several elements."""
    return [count for count, size in zip(counts, shape, strict=True) if size != 1]


def _element(builder: Builder, part: SSAValue, at: int, shape: tuple[int, ...]) -> Tensor:
    """An element along the last dimension, repeated along it."""
    taken = Tensor(builder, part).part(len(shape) - 1, at, at + 1).reshape(shape[:-1])
    return taken.broadcast(shape, range(len(shape) - 1))
