"""
Rules for where the windows of a gather are: in a part of what is in memory, which is read where it is and not copied,
along dimensions that they fill, whose elements become those of one long dimension, and in a transposed tensor, of which
a diagonal over any two dimensions is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from ...hlo_dialect.expressions.tensor import Builder, Tensor, concatenate
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.ops.gather import GatherOp
from ...hlo_dialect.ops.movement import ReshapeOp, TransposeOp
from ...hlo_dialect.ops.slicing import ConcatenateOp, SliceOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import is_unsigned, make_tensor, numpy_dtype, shape_of
from .chains import gather
from .indexing import FEW, counted_dim, holds_indices
from .known_rows import SHORT
from .rewrite import Rewrite, by, simplifications

FEW_WINDOWS = 1 / 2
"""The part of a transposed tensor up to which a gather reads what was transposed, if its indices are not of the last
dimension, in which it would read single elements of lines: `FEW` of those."""


class _Part(NamedTuple):
    """A part of a tensor: the tensor, the shape as which it is read, and where the part begins in that shape."""

    source: SSAValue
    shape: tuple[int, ...]
    first: tuple[int, ...]


@dataclass(frozen=True)
class _Places:
    """Where windows are moved: the last place in each dimension, and in some what comes on top of it or scales it."""

    last: dict[int, int]
    first: dict[int, int] = field(default_factory=dict[int, int])
    factors: dict[int, int] = field(default_factory=dict[int, int])

    def of(self, index: Tensor, order: Sequence[int], along: int) -> Tensor:
        """Indices of dimensions in an order, clamped and moved; `along`: their dimension with one place for each."""
        inside = index if is_unsigned(index.element) else index.maximum(0)
        inside = inside.minimum(_numbers(index, [self.last[dim] for dim in order], along))
        scaled = inside * _numbers(index, [self.factors.get(dim, 1) for dim in order], along)
        return scaled + _numbers(index, [self.first.get(dim, 0) for dim in order], along)


@simplifications.on(GatherOp)
def gather_from_part(op: Operation) -> Rewrite | None:
    """
    A gather from a slice of what is in memory, such as `x[:200][i]` or `tables[3][i]`, reads the whole of it.

    Its indices are clamped to the slice, and moved to where the slice begins.
    """
    assert isinstance(op, GatherOp)
    part, dims = _part(op.operand), op.dims
    if part is None or not is_static(shape_of(op.start_indices)):
        return None
    sizes = shape_of(op.operand)
    cut = [dim for dim, (size, whole) in enumerate(zip(sizes, part.shape, strict=True)) if size != whole]
    if any(dim in dims.batching or (dim not in dims.index_map and part.first[dim]) for dim in cut):
        return None
    if not all(holds_indices(op.start_indices, part.shape[dim]) for dim in dims.index_map):
        return None
    places = _Places(_last_places(op), dict(enumerate(part.first)))
    builder = Builder()
    moved = _moved(builder, op, [dim for dim in cut if dim in dims.index_map], places)
    if moved is None:
        return None
    whole = Tensor(builder, part.source).reshape(part.shape)
    return by(gather(builder, whole.value, moved, dims, op.sizes, shape_of(op.result)))


@simplifications.on(GatherOp)
def gather_of_whole_dimensions(op: Operation) -> Rewrite | None:
    """A dimension that windows fill has no index: the nearest place that is there is the first one."""
    assert isinstance(op, GatherOp)
    dims, shape = op.dims, shape_of(op.operand)
    if not is_static(shape) or not is_static(shape_of(op.start_indices)) or len(dims.index_map) < 2:
        return None
    kept = [place for place, dim in enumerate(dims.index_map) if op.sizes[dim] != shape[dim]]
    if not kept or len(kept) == len(dims.index_map):
        return None
    builder, joined = Builder(), op.start_indices.owner
    if isinstance(joined, ConcatenateOp) and joined.dim == dims.vector_dim:
        if len(joined.operands) != len(dims.index_map):
            return None
        parts = builder.tensors([joined.operands[place] for place in kept])
    else:
        indices = Tensor(builder, op.start_indices)
        if kept == [*range(kept[0], kept[-1] + 1)]:
            parts = [indices.part(dims.vector_dim, kept[0], kept[-1] + 1)]
        else:
            parts = [indices.part(dims.vector_dim, place, place + 1) for place in kept]
    index = parts[0] if len(parts) == 1 else concatenate(parts, dims.vector_dim)
    new = replace(dims, index_map=tuple(dims.index_map[place] for place in kept))
    return by(gather(builder, op.operand, index, new, op.sizes, shape_of(op.result)))


@simplifications.on(GatherOp)
def gather_of_long_windows(op: Operation) -> Rewrite | None:
    """Windows that fill a last dimension of few elements have one of both last dimensions: loops along it are long."""
    assert isinstance(op, GatherOp)
    dims, shape, result = op.dims, shape_of(op.operand), shape_of(op.result)
    if not (is_static(shape) and is_static(result) and is_static(shape_of(op.start_indices))) or len(shape) < 2:
        return None
    merged, few, window = len(shape) - 2, shape[-1], dims.window
    if not 1 < few < SHORT or op.sizes[-1] != few or op.sizes[merged] == 1 or merged not in dims.index_map:
        return None
    if merged + 1 in (*dims.index_map, *dims.collapsed, *dims.batching) or merged in (*dims.collapsed, *dims.batching):
        return None
    if window[-1] != window[-2] + 1 or not all(
        holds_indices(op.start_indices, shape[dim] * few if dim == merged else shape[dim]) for dim in dims.index_map
    ):
        return None
    builder = Builder()
    moved = _moved(builder, op, [merged], _Places(_last_places(op), factors={merged: few}))
    if moved is None:
        return None
    first = window[-2]
    new = replace(dims, window=window[:-1])
    sizes = (*op.sizes[:merged], op.sizes[merged] * few)
    x = Tensor(builder, op.operand).reshape([*shape[:merged], shape[merged] * few])
    long = [*result[:first], result[first] * few, *result[first + 2 :]]
    # The dimensions after a window's last are those of indices.
    new = replace(new, window=tuple(dim if dim <= first else dim - 1 for dim in new.window))
    return by(gather(builder, x.value, moved, new, sizes, long).reshape(result))


@simplifications.on(GatherOp)
def gather_of_transpose(op: Operation) -> Rewrite | None:
    """
    A gather of few elements of a transposed tensor, such as `jnp.diagonal(x, 0, 0, 2)`, gathers them where they were,
    and transposes those alone.
    """
    assert isinstance(op, GatherOp)
    inner, dims, result = op.operand.owner, op.dims, shape_of(op.result)
    if not isinstance(inner, TransposeOp) or not inner.dims or not op.operand.has_one_use():
        return None
    order, shape = inner.dims, shape_of(op.operand)
    most = FEW if order.index(len(shape) - 1) in dims.index_map else FEW_WINDOWS
    if not is_static(shape) or not is_static(result) or math.prod(result) > most * math.prod(shape):
        return None
    batching = sorted((order[dim], along) for dim, along in zip(dims.batching, dims.index_batching, strict=True))
    new = replace(
        dims,
        collapsed=tuple(sorted(order[dim] for dim in dims.collapsed)),
        batching=tuple(dim for dim, _ in batching),
        index_batching=tuple(along for _, along in batching),
        index_map=tuple(order[dim] for dim in dims.index_map),
    )
    windows = dict(zip(new.offset_dims(len(shape)), dims.window, strict=True))
    moved = list(range(len(result)))
    for dim, place in zip(dims.offset_dims(len(shape)), dims.window, strict=True):
        moved[place] = windows[order[dim]]
    sizes = {order[dim]: size for dim, size in enumerate(op.sizes)}
    taken = [0] * len(result)
    for place, source in enumerate(moved):
        taken[source] = result[place]
    builder = Builder()
    indices = Tensor(builder, op.start_indices)
    found = gather(builder, inner.operands[0], indices, new, tuple(sizes[dim] for dim in range(len(shape))), taken)
    return by(found.transpose(moved))


def _part(value: SSAValue) -> _Part | None:
    """
    The part that a value is of what is in memory; None for other values. It may have another shape if it is in one
    piece, and rows of which the whole is a number.
    """
    inner = value.owner
    reshaped = isinstance(inner, ReshapeOp)
    if isinstance(inner, ReshapeOp):
        inner = inner.operand.owner
    if not isinstance(inner, SliceOp) or any(step != 1 for step in inner.steps) or not _is_stored(inner.operand):
        return None
    whole, sizes, shape = shape_of(inner.operand), shape_of(inner.result), shape_of(value)
    if not is_static(whole) or 0 in sizes:
        return None
    if not reshaped:
        return _Part(inner.operand, whole, inner.starts)
    cut = next(dim for dim in range(len(whole)) if sizes[dim] != 1 or dim == len(whole) - 1)
    row, total = math.prod(shape[1:]), math.prod(whole)
    at = sum(begin * math.prod(whole[dim + 1 :]) for dim, begin in enumerate(inner.starts))
    if sizes[cut + 1 :] != whole[cut + 1 :] or not shape or at % row or total % row:
        return None
    return _Part(inner.operand, (total // row, *shape[1:]), (at // row, *(0 for _ in shape[1:])))


def _is_stored(value: SSAValue) -> bool:
    """
    Whether a value is in memory whoever reads it, and stays as it is: an argument of the program, a constant, or a
    shape of those. What a loop carries may be updated in place, and would be copied as a whole where it is read later.
    """
    while isinstance(value.owner, ReshapeOp):
        value = value.owner.operand
    owner = value.owner
    return isinstance(owner.parent_op(), FuncOp) if isinstance(owner, Block) else isinstance(owner, ConstantOp)


def _last_places(op: GatherOp) -> dict[int, int]:
    """The last place of a window in each dimension that has indices."""
    sizes = shape_of(op.operand)
    return {dim: sizes[dim] - op.sizes[dim] for dim in op.dims.index_map}


def _moved(builder: Builder, op: GatherOp, changed: Sequence[int], places: _Places) -> Tensor | None:
    """
    The indices of a gather with those of some dimensions at other places; None if one of them counts, which says more
    of a gather than where it reads. Components that are put together stay apart, for rules that treat each by itself.
    """
    dims, indices = op.dims, op.start_indices
    joined = indices.owner
    if not changed:
        return Tensor(builder, indices)
    if not isinstance(joined, ConcatenateOp) or joined.dim != dims.vector_dim:
        along = dims.vector_dim if dims.vector_dim < len(shape_of(indices)) else 0
        return places.of(Tensor(builder, indices), dims.index_map, along)
    if len(joined.operands) != len(dims.index_map):
        return None
    parts = [*zip(builder.tensors(joined.operands), dims.index_map, strict=True)]
    if any(dim in changed and counted_dim(index.value) for index, dim in parts):
        return None
    return concatenate(
        [places.of(index, [dim], dims.vector_dim) if dim in changed else index for index, dim in parts], dims.vector_dim
    )


def _numbers(index: Tensor, numbers: Sequence[int], along: int) -> Tensor:
    """One number for each place of a dimension, in the shape of indices."""
    if len(set(numbers)) == 1:
        return index.like(numbers[0])
    dtype: Any = numpy_dtype(index.element)
    vector = index.builder.constant(np.array(numbers, dtype), make_tensor((len(numbers),), index.element))
    return vector.broadcast(index.shape, [along])
