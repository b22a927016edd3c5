"""
Rules for operations that move elements: chains become one operation, or a reshape, which is free.

No-op operations are handled by their own `fold`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import cast

from xdsl.dialects import func
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...hlo_dialect.donation import stated_donations
from ...hlo_dialect.expressions.tensor import Builder, Tensor, concatenate
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.ops.dynamic import DynamicUpdateSliceOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp, ReverseOp, TransposeOp
from ...hlo_dialect.ops.slicing import ConcatenateOp, SliceOp
from ...hlo_dialect.shapes import is_static, merged_dims, reshape_groups
from ...hlo_dialect.types import constant_array, shape_of, tensor_type
from .rewrite import Rewrite, by, simplifications, start, to

Shape = tuple[int, ...]

SMALL_SLICE = 1 / 8
"""The part of a concatenation up to which a slice is taken of its parts."""
MOST_PIECES = 128
"""Pieces beyond those of one slice that the slices of a concatenation become: each is compiled."""
LARGE_UPDATE = 1 / 2
"""The part of a tensor from which on an update is joined with the rest."""
COPIED_UPDATE = 1 / 16
"""The same for a tensor that has to be copied, because the caller keeps it."""


@simplifications.on(BroadcastInDimOp)
def simplify_broadcast(op: Operation) -> Rewrite | None:
    """
    A broadcast that only adds dimensions of size 1 becomes a reshape; two broadcasts become one, also if a reshape
    between them joins dimensions.
    """
    assert isinstance(op, BroadcastInDimOp)
    operand, result = op.operands[0], tensor_type(op.results[0])
    source, shape, dims = shape_of(operand), result.get_shape(), op.dims
    if not is_static(source) or not is_static(shape):
        return None
    if tuple(sorted(dims)) == dims and math.prod(source) == math.prod(shape) != 0:
        return by(start(operand).reshape(result))
    inner = operand.owner
    if isinstance(inner, BroadcastInDimOp):
        return by(start(inner.operands[0]).broadcast(result, [dims[dim] for dim in inner.dims]))
    if isinstance(inner, ReshapeOp):
        placed = _through_reshape(shape_of(inner.operands[0]), source, dims, shape)
        if placed is not None:
            return by(start(inner.operands[0]).broadcast(result, placed))
        if isinstance(inner.operands[0].owner, BroadcastInDimOp):
            return _before_joining(inner, dims, shape)
    return None


def _before_joining(reshape: ReshapeOp, dims: Shape, shape: Shape) -> Rewrite | None:
    """The broadcast of a reshape's operand, reshaped; None if the reshape does more than join dimensions."""
    x = start(reshape.operands[0])
    groups = reshape_groups(x.shape, shape_of(reshape.results[0]))
    if groups is None or any(len(inner) != 1 or not outer for outer, inner in groups):
        return None
    pairs = [(dims[dim], tuple(x.shape[part] for part in outer)) for outer, (dim,) in groups]
    if any(len(part) > 1 and shape[dim] != math.prod(part) for dim, part in pairs):
        return None
    sizes = {dim: part if len(part) > 1 else (shape[dim],) for dim, part in pairs}
    split = [sizes.get(dim, (size,)) for dim, size in enumerate(shape)]
    first = list(itertools.accumulate(map(len, split), initial=0))
    placed = [first[dim] + at for dim, part in pairs for at in range(len(part))]
    return by(x.broadcast(list(itertools.chain(*split)), placed).reshape(shape))


def _through_reshape(source: Shape, reshaped: Shape, dims: Shape, shape: Shape) -> list[int] | None:
    """
    The broadcast dimensions for the reshape's operand, if its result is broadcast; None if the reshape does more than
    add and drop dimensions of size 1. A dropped dimension maps to a free dimension of the result.
    """
    if [size for size in source if size != 1] != [size for size in reshaped if size != 1]:
        return None
    wide = iter([dim for dim, size in zip(dims, reshaped, strict=True) if size != 1])
    placed = [next(wide) if size != 1 else -1 for size in source]
    free = [dim for dim in range(len(shape)) if dim not in placed]
    for position, dim in enumerate(placed):
        if dim == -1:
            if not free:
                return None
            before = max(placed[:position], default=-1)
            chosen = next((d for d in free if d > before), free[0])
            placed[position] = chosen
            free.remove(chosen)
    return placed


@simplifications.on(ReshapeOp)
def simplify_reshape(op: Operation) -> Rewrite | None:
    """Two reshapes become one; a reshaped scalar broadcast becomes a broadcast to the new shape."""
    inner, result = op.operands[0].owner, tensor_type(op.results[0])
    if isinstance(inner, ReshapeOp):
        return by(start(inner.operands[0]).reshape(result))
    if isinstance(inner, BroadcastInDimOp) and shape_of(inner.operands[0]) == ():
        return by(start(inner.operands[0]).broadcast(result))
    return None


@simplifications.on(TransposeOp)
def simplify_transpose(op: Operation) -> Rewrite | None:
    """
    A transpose that only moves dimensions of size 1 becomes a reshape; it merges with another transpose or a broadcast.
    """
    assert isinstance(op, TransposeOp)
    operand, result = op.operands[0], tensor_type(op.results[0])
    source = shape_of(operand)
    if not is_static(source):
        return None
    wide = [dim for dim in op.dims if source[dim] != 1]
    if wide == sorted(wide):
        return by(start(operand).reshape(result))
    inner = operand.owner
    if isinstance(inner, TransposeOp):
        return by(start(inner.operands[0]).transpose([inner.dims[dim] for dim in op.dims]))
    if isinstance(inner, BroadcastInDimOp):
        return by(start(inner.operands[0]).broadcast(result, [op.dims.index(dim) for dim in inner.dims]))
    return None


MOST_INTERLEAVED = 8
"""Tensors whose elements one kernel writes side by side."""


@simplifications.on(TransposeOp)
def transpose_of_stack(op: Operation) -> Rewrite | None:
    """
    A transpose that only moves the dimension along which a few tensors are stacked stacks them there at once: the
    components of a vector, computed one by one, side by side.
    """
    assert isinstance(op, TransposeOp)
    stack = op.operand.owner
    if not isinstance(stack, ConcatenateOp) or not op.operand.has_one_use() or not is_static(shape_of(op.result)):
        return None
    rest = [dim for dim in op.dims if dim != stack.dim]
    parts = stack.operands
    if rest != sorted(rest) or len(parts) > MOST_INTERLEAVED or any(shape_of(part)[stack.dim] != 1 for part in parts):
        return None
    place, shape = op.dims.index(stack.dim), shape_of(op.result)
    of_part = (*shape[:place], 1, *shape[place + 1 :])
    return by(concatenate([part.reshape(of_part) for part in Builder().tensors(parts)], place))


@simplifications.on(SliceOp)
def simplify_slice(op: Operation) -> Rewrite | None:
    """
    Two slices become one; a slice of a broadcast becomes one of a slice, that of a concatenation slices of parts, that
    of a reversed tensor is reversed itself.
    """
    assert isinstance(op, SliceOp)
    inner, shape = op.operands[0].owner, shape_of(op.results[0])
    if not is_static(shape):
        return None
    if isinstance(inner, SliceOp) and 0 not in shape:
        starts = [f + s * step for f, s, step in zip(inner.starts, op.starts, inner.steps, strict=True)]
        strides = [a * b for a, b in zip(inner.steps, op.steps, strict=True)]
        return by(_box(start(inner.operands[0]), starts, strides, shape))
    if isinstance(inner, BroadcastInDimOp):
        return by(_slice_of_broadcast(inner, op))
    if isinstance(inner, ReverseOp) and 0 not in shape:
        return by(_slice_of_reversed(inner, op))
    if isinstance(inner, ConcatenateOp) and is_static(shape_of(inner.results[0])) and 0 not in shape:
        return _slice_of_concatenation(inner, op)
    return None


def _slice_of_reversed(inner: ReverseOp, op: SliceOp) -> Tensor:
    whole, shape = shape_of(inner.results[0]), shape_of(op.results[0])
    starts = [
        whole[dim] - 1 - first - (size - 1) * step if dim in inner.dims else first
        for dim, (first, size, step) in enumerate(zip(op.starts, shape, op.steps, strict=True))
    ]
    taken = _box(start(inner.operands[0]), starts, op.steps, shape)
    dims = [dim for dim in inner.dims if shape[dim] > 1]
    return taken.reverse(dims) if dims else taken


def _slice_of_concatenation(inner: ConcatenateOp, op: SliceOp) -> Rewrite | None:
    """
    The slice of a part, or slices of some, joined; if nothing needs the whole, or the slice is a small part of it.

    Otherwise the parts would be computed for both. Many slices that each reach into many parts read the whole.
    """
    dim, shape = inner.dim, shape_of(op.results[0])
    small = math.prod(shape) <= SMALL_SLICE * math.prod(shape_of(inner.results[0]))
    users = [use.operation for use in inner.results[0].uses]
    several = op.steps[dim] == 1 and (small or _are_joined(inner, users))
    if not several and not all(_is_of_one_part(inner, user) for user in users):
        return None
    parts = _parts_in(inner, op)
    if len(parts) > 1 and len(parts) * (len(users) - 1) > MOST_PIECES:
        return None
    builder, taken = Builder(), list[Tensor]()
    for part, low, high in parts:
        inside = tuple(high - low if d == dim and op.steps[dim] == 1 else n for d, n in enumerate(shape))
        starts = [low if d == dim else start for d, start in enumerate(op.starts)]
        taken.append(_box(Tensor(builder, part), starts, op.steps, inside))
    return by(taken[0] if len(taken) == 1 else concatenate(taken, dim))


def _are_joined(inner: ConcatenateOp, users: Sequence[Operation]) -> bool:
    """Whether the users are slices that take no more elements in all than there are, and that one operation joins."""
    slices = [user for user in users if isinstance(user, SliceOp) and user.steps[inner.dim] == 1]
    taken = sum(math.prod(shape_of(each.results[0])) for each in slices)
    joined = {use.operation for each in slices for use in each.results[0].uses}
    is_one = len(joined) == 1 and isinstance(next(iter(joined)), ConcatenateOp)
    return is_one and len(slices) == len(users) and taken <= math.prod(shape_of(inner.results[0]))


def _is_of_one_part(inner: ConcatenateOp, user: Operation) -> bool:
    return isinstance(user, SliceOp) and len(_parts_in(inner, user)) == 1


def _parts_in(inner: ConcatenateOp, op: SliceOp) -> list[tuple[SSAValue, int, int]]:
    """The parts of a concatenation that a slice reaches into, and the range of each."""
    dim = inner.dim
    first, last = op.starts[dim], op.starts[dim] + (shape_of(op.results[0])[dim] - 1) * op.steps[dim]
    parts: list[tuple[SSAValue, int, int]] = []
    offset = 0
    for part in inner.operands:
        size = shape_of(part)[dim]
        low, high = max(first, offset), min(last + 1, offset + size)
        if low < high:
            parts.append((part, low - offset, high - offset))
        offset += size
    return parts


def _box(x: Tensor, starts: Sequence[int], strides: Sequence[int], shape: Shape) -> Tensor:
    """The slice with a result of `shape`; each limit is the index after the last element taken."""
    limits = [
        first + (size - 1) * stride + 1 if size else first
        for first, size, stride in zip(starts, shape, strides, strict=True)
    ]
    return x.slice(starts, limits, strides)


def _slice_of_broadcast(inner: BroadcastInDimOp, op: SliceOp) -> Tensor:
    x, dims, result = start(inner.operands[0]), inner.dims, tensor_type(op.results[0])
    shape, whole = result.get_shape(), shape_of(inner.results[0])
    stretched = [size == 1 and whole[dim] != 1 for size, dim in zip(x.shape, dims, strict=True)]
    taken = tuple(1 if out else shape[dim] for out, dim in zip(stretched, dims, strict=True))
    if taken != x.shape:
        starts = [0 if out else op.starts[dim] for out, dim in zip(stretched, dims, strict=True)]
        strides = [1 if out else op.steps[dim] for out, dim in zip(stretched, dims, strict=True)]
        x = _box(x, starts, strides, taken)
    return x.broadcast(result, dims)


@simplifications.on(ConcatenateOp)
def simplify_concatenate(op: Operation) -> Rewrite | None:
    """Drop operands without elements."""
    assert isinstance(op, ConcatenateOp)
    kept = [value for value in op.operands if shape_of(value)[op.dim] != 0]
    if len(kept) == 1 and kept[0].type == op.results[0].type:
        return to(kept[0])
    if 0 < len(kept) < len(op.operands):
        return by(Builder().op(ConcatenateOp, kept, op.results[0].type, dimension=op.dimension))
    return None


@simplifications.on(ConcatenateOp)
def concatenate_of_reshapes(op: Operation) -> Rewrite | None:
    """
    A concatenation of transposes whose dimensions are then merged, as of the gradients of q, k and v, merges them after
    it: the transposes are read in its kernel.
    """
    assert isinstance(op, ConcatenateOp)
    inner = [value.owner for value in op.operands if value.has_one_use()]
    if len(inner) != len(op.operands) or not all(isinstance(each, ReshapeOp) for each in inner):
        return None
    reshapes = [cast(ReshapeOp, each) for each in inner]
    if not any(isinstance(each.operands[0].owner, TransposeOp) for each in reshapes):
        return None
    result = tensor_type(op.results[0])
    sources = [shape_of(each.operands[0]) for each in reshapes]
    merged = [merged_dims(shape_of(each.operands[0]), shape_of(each.result), op.dim) for each in reshapes]
    if not all(merged) or len({dims[0] for dims in merged}) != 1:
        return None
    place = merged[0][0]
    if len({(*s[:place], *s[place + 1 :]) for s in sources}) != 1:
        return None
    parts = Builder().tensors([each.operands[0] for each in reshapes])
    return by(concatenate(parts, place).reshape(result))


@simplifications.on(DynamicUpdateSliceOp)
def simplify_update(op: Operation) -> Rewrite | None:
    """
    An update at a known place is joined with the rest, if it is most of a tensor, or a part of an argument that is not
    donated: its computation fuses with that.
    """
    assert isinstance(op, DynamicUpdateSliceOp)
    shape, sizes = shape_of(op.operand), shape_of(op.update)
    if not is_static(shape) or not is_static(sizes) or 0 in sizes:
        return None
    if math.prod(sizes) < (COPIED_UPDATE if _stays(op.operand) else LARGE_UPDATE) * math.prod(shape):
        return None
    starts: list[int] = []
    for index, size, whole in zip(op.start_indices, sizes, shape, strict=True):
        if not isinstance(index.owner, ConstantOp):
            return None
        starts.append(min(max(int(constant_array(index.owner.dense)), 0), whole - size))
    whole = start(op.operand)
    joined = Tensor(whole.builder, op.update)
    low, high = list(starts), [first + size for first, size in zip(starts, sizes, strict=True)]
    for dim in reversed(range(len(shape))):
        parts = [joined]
        for first, last in ((0, starts[dim]), (starts[dim] + sizes[dim], shape[dim])):
            if first < last:
                low[dim], high[dim] = first, last
                parts.insert(len(parts) if first else 0, whole.slice(low, high))
        joined = concatenate(parts, dim) if len(parts) > 1 else joined
        low[dim], high[dim] = 0, shape[dim]
    return by(joined)


def _stays(value: SSAValue) -> bool:
    """Whether a value is an argument of a function that the caller keeps."""
    if not isinstance(value, BlockArgument):
        return False
    function = value.owner.parent_op()
    return isinstance(function, func.FuncOp) and value.index not in stated_donations(function)
