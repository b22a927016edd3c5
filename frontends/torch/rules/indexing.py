"""Elements by computed indices: gathers and scatters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ....hlo_dialect.ops.movement import BroadcastInDimOp
from ...builder.builder import Value
from ..api import torch
from ..dtypes import Unlowered, converted, dtype_of, highest, lowest, working_dtype
from ..registry import lowers
from ..results import order_of
from ..step import Step, broadcast, count, dim_of
from .binary import floor_divided
from .scans import cumulated

Combine = Callable[[Value, Value], Value]

SHORT_SLICE = 4
"""Elements of a slice that takes longer to look for than to copy."""

MOST_COPIED = 4
"""Elements that slices along the dimensions of a grid in turn have together, for each element of the grid."""


def wrapped(index: Value, size: int) -> Value:
    """Indices as i64, counted from the end if they are negative."""
    if dtype_of(index) not in (torch.int64, torch.int32, torch.uint8, torch.int16, torch.int8):
        raise Unlowered(f"indices of dtype {dtype_of(index)}")
    places = converted(index, torch.int64)
    return (places < 0).select(places + size, places)


def unwrapped(index: Value) -> Value:
    """Indices as i64, of operations that take none from the end."""
    if dtype_of(index) not in (torch.int64, torch.int32):
        raise Unlowered(f"indices of dtype {dtype_of(index)}")
    return converted(index, torch.int64)


def unexpanded(index: Value, dim: int) -> Value:
    """An index that was expanded, with size 1 along the dimensions where it repeats; `dim` is not one of them."""
    op = index.value.owner
    if not isinstance(op, BroadcastInDimOp) or list(op.dims) != sorted(op.dims):
        return index
    operand = replace(index, value=op.operand)
    sizes = dict(zip(op.dims, operand.shape, strict=True))
    shape = [sizes.get(one, 1) for one in range(len(index.shape))]
    return operand.reshape(shape) if shape[dim] == index.shape[dim] else index


def _points_and_slices(index: Value, dim: int) -> tuple[Value, list[int], list[int], list[int]]:
    """
    The points of an index along a dimension, the other dimensions where it repeats, along which slices move, those that
    are batches, and where the batches are among the points' dimensions.
    """
    narrow = unexpanded(index, dim)
    whole = [one for one, size in enumerate(index.shape) if narrow.shape[one] != size]
    kept = [one for one in range(len(index.shape)) if one not in whole]
    batches = [one for one in kept if one != dim]
    points = narrow.reshape((*[narrow.shape[one] for one in kept], 1))
    return points, whole, batches, [kept.index(one) for one in batches]


def gathered(step: Step, x: Value, points: Value, dims: Sequence[int]) -> Value:
    """Rows of `x` at (n, len(dims)) points: the result is (n, *the other dimensions)."""
    rest = [dim for dim in range(len(x.shape)) if dim not in dims]
    if not count(x.shape) or not points.shape[0]:
        return step.full(0, dtype_of(x), (points.shape[0], *[x.shape[dim] for dim in rest]))
    return step.builder.gather(
        x,
        points,
        offset_dims=list(range(1, 1 + len(rest))),
        collapsed_slice_dims=list(dims),
        start_index_map=list(dims),
        index_vector_dim=1,
        slice_sizes=[1 if dim in dims else size for dim, size in enumerate(x.shape)],
    )


def scattered(
    step: Step, x: Value, points: Value, updates: Value, dims: Sequence[int], combine: Combine | None, place: int = 0
) -> Value:
    """
    `x` with updates combined into it at (n, len(dims)) points; these have the other dimensions, and n at `place`.
    """
    rest = [dim for dim in range(len(x.shape)) if dim not in dims]
    if not count(updates.shape) or not count(x.shape):
        return x
    return step.builder.scatter(
        x,
        points,
        updates,
        update_window_dims=[*range(place), *range(place + 1, 1 + len(rest))],
        inserted_window_dims=list(dims),
        scatter_dims_to_operand_dims=list(dims),
        index_vector_dim=1,
        update_computation=(lambda old, new: new) if combine is None else combine,
    )


def take_flat(step: Step, flat: Value, places: Value) -> Value:
    """Elements of one dimension at i64 places."""
    found = gathered(step, flat, places.reshape((count(places.shape), 1)), [0])
    return found.reshape(places.shape)


def take_along(step: Step, x: Value, places: Value, dim: int) -> Value:
    """Slices along a dimension at the i64 places (n,)."""
    found = gathered(step, x, places.reshape((count(places.shape), 1)), [dim])
    rank = len(x.shape)
    order = [*range(1, dim + 1), 0, *range(dim + 1, rank)]
    return found.transpose(order)


def slices_at(step: Step, x: Value, dim: int, starts: Value, size: int) -> Value:
    """The slices of `size` elements along a dimension that begin at i64 places (n,): (.., n, size, ..)."""
    if not count(x.shape) or not count(starts.shape):
        return step.full(0, dtype_of(x), (*x.shape[:dim], starts.shape[0], size, *x.shape[dim + 1 :]))
    return step.builder.gather(
        x,
        starts.reshape((*starts.shape, 1)),
        offset_dims=[*range(dim), *range(dim + 1, len(x.shape) + 1)],
        start_index_map=[dim],
        index_vector_dim=1,
        slice_sizes=[size if one == dim else length for one, length in enumerate(x.shape)],
    )


def linear_places(step: Step, index: Value, shape: Sequence[int], dim: int) -> Value:
    """The places in row-major order of the elements that an index along one dimension names."""
    strides = [count(shape[one + 1 :]) for one in range(len(shape))]
    places = index * strides[dim]
    for one, stride in enumerate(strides):
        if one != dim and index.shape[one] > 1:
            places = places + step.iota(one, index.shape) * stride
    return places


@lowers("aten.gather")
def gather(step: Step, x: Value, dim: int, index: Value, sparse_grad: bool = False) -> Value:
    if not x.shape:
        return broadcast(x, step.shape)
    if not count(step.shape):
        return step.full(0, dtype_of(x), step.shape)
    along, rank = dim_of(dim, len(x.shape)), len(x.shape)
    shaped = index.reshape((1,) * rank) if not index.shape else index
    # An index may be smaller than the tensor: places of the other dimensions are those of the index.
    limits = [x.shape[one] if one == along else size for one, size in enumerate(shaped.shape)]
    # Slices along those dimensions where an expanded index repeats.
    points, whole, batches, starts = _points_and_slices(shaped, along)
    return step.builder.gather(
        x if limits == list(x.shape) else x.slice([0] * rank, limits),
        points,
        offset_dims=whole,
        collapsed_slice_dims=[along],
        operand_batching_dims=batches,
        start_indices_batching_dims=starts,
        start_index_map=[along],
        index_vector_dim=rank - len(whole),
        slice_sizes=[limits[one] if one in whole else 1 for one in range(rank)],
    ).reshape(step.shape)


@lowers("aten.index_select")
def index_select(step: Step, x: Value, dim: int, index: Value) -> Value:
    if not x.shape:
        return broadcast(x, step.shape)
    along = dim_of(dim, len(x.shape))
    return take_along(step, x, unwrapped(index.reshape((count(index.shape),))), along)


@lowers("aten.embedding")
def embedding(step: Step, weight: Value, index: Value, *_: Any, **__: Any) -> Value:
    points = unwrapped(index).reshape((count(index.shape), 1))
    return gathered(step, weight, points, [0]).reshape(step.shape)


@lowers("aten.embedding_dense_backward")
def embedding_backward(
    step: Step, gradient: Value, index: Value, num_weights: int, padding_idx: int, scale: bool
) -> Value:
    rows = converted(gradient, working_dtype(dtype_of(gradient))).reshape((count(index.shape), gradient.shape[-1]))
    places = converted(index, torch.int64).reshape((count(index.shape), 1))
    if padding_idx >= 0:
        kept = broadcast(places.compare("NE", padding_idx), rows.shape)
        rows = kept.select(rows, rows.like(0.0))
    if scale:
        ones = step.full(1, torch.int64, places.shape[:1])
        uses = scattered(step, step.full(0, torch.int64, step.shape[:1]), places, ones, [0], _COMBINE["sum"])
        own = converted(gathered(step, uses, places, [0]), dtype_of(rows))
        rows = rows / own.broadcast(rows.shape, [0])
    zeros = step.full(0, dtype_of(rows), step.shape)
    return scattered(step, zeros, places, rows, [0], _COMBINE["sum"])


# x[i, :, j]


def _placed(step: Step, shape: Sequence[int], indices: Sequence[Any]) -> tuple[list[int], Value, tuple[int, ...]]:
    """The indexed dimensions, the points (n, k), and the shape of the indices together."""
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    if any(dtype_of(indices[dim]) in (torch.bool,) for dim in dims):
        raise Unlowered("the number of elements that a mask chooses is not known before it is computed")
    common = tuple(torch.broadcast_shapes(*[indices[dim].shape for dim in dims]))
    columns = [broadcast(wrapped(indices[dim], shape[dim]), common).reshape((count(common), 1)) for dim in dims]
    points = columns[0] if len(columns) == 1 else step.builder.concatenate(columns, dimension=1)
    return dims, points, common


def _order(dims: Sequence[int], rank: int, common: int) -> list[int]:
    """Where the dimensions of (indices.., others..) are in the result: the indices stay if they are neighbours."""
    rest = [dim for dim in range(rank) if dim not in dims]
    together = list(dims) == list(range(dims[0], dims[-1] + 1))
    before = sum(dim < dims[0] for dim in rest) if together else 0
    others = range(common, common + len(rest))
    return [*others[:before], *range(common), *others[before:]]


def _varies(index: Value, rank: int) -> list[int]:
    """The dimensions along which an index varies, among `rank` that all indices have together."""
    return [rank - len(index.shape) + dim for dim, size in enumerate(index.shape) if size != 1]


def _are_outer(indices: Sequence[Any]) -> bool:
    """
    Whether several indices name a grid: they are of neighbouring dimensions, and each varies along dimensions of its
    own, in their order, as those of resized images do.
    """
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    if len(dims) < 2 or dims[-1] - dims[0] >= len(dims):
        return False
    given = [indices[dim] for dim in dims]
    if any(dtype_of(index) == torch.bool for index in given):
        return False
    rank = max(len(index.shape) for index in given)
    own = [_varies(index, rank) for index in given]
    return all(own) and [dim for one in own for dim in one] == list(range(rank))


def _in_turn(x: Value, indices: Sequence[Any]) -> list[int] | None:
    """
    The dimensions of a grid, those first that leave least of the tensor. None if this is no grid; if its elements are
    slices already, as with the channels last; or if slices along one dimension after the other would copy much more
    than the grid has, as for a few rows and columns.
    """
    if not _are_outer(indices):
        return None
    places = {dim: count(index.shape) for dim, index in enumerate(indices) if index is not None}

    def growth(dim: int) -> tuple[float, int]:
        # Outer dimensions have the longest slices, if several shrink alike; inner ones of others are copied element by
        # element while there are few.
        shrinks = places[dim] < x.shape[dim]
        return places[dim] / max(1, x.shape[dim]), dim if shrinks else -dim

    dims, shape, copied = sorted(places, key=growth), list(x.shape), 0
    for dim in dims:
        shape[dim] = places[dim]
        copied += count(shape)
    pays = count(x.shape[max(dims) + 1 :]) <= SHORT_SLICE and copied <= MOST_COPIED * count(shape)
    return dims if pays else None


def _taken(x: Value, indices: Sequence[Any], dims: Sequence[int], step: Step) -> Value:
    """
    The elements of a grid: slices along one dimension after the other, whose places are as few as it is long. The
    dimensions before them are one, so that loops over planes are.
    """
    first, last = min(dims), max(dims)
    given = [indices[dim] for dim in sorted(dims)]
    rows = x.reshape((count(x.shape[:first]), *x.shape[first : last + 1], count(x.shape[last + 1 :])))
    for dim in dims:
        places = wrapped(indices[dim], x.shape[dim])
        rows = take_along(step, rows, places.reshape((count(places.shape),)), 1 + dim - first)
    common = torch.broadcast_shapes(*[index.shape for index in given])
    return rows.reshape((*x.shape[:first], *common, *x.shape[last + 1 :]))


def _labels(indices: Sequence[Any], names: Sequence[int]) -> list[int]:
    """Each dimension of an indexed tensor by name: those of the tensor have `names`, those of the indices follow."""
    rank = len(names)
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    common = max((len(indices[dim].shape) for dim in dims), default=0)
    whole = [*range(rank, rank + common), *(names[dim] for dim in range(rank) if dim not in dims)]
    return [whole[dim] for dim in _order(dims, rank, common)]


def _as_stored(x: Any, indices: Sequence[Any]) -> tuple[list[int], list[Any]]:
    """The order of an indexed tensor's dimensions in memory, and the index of each in that order."""
    order = order_of(x) or list(range(x.dim()))
    return order, [indices[dim] if dim < len(indices) else None for dim in order]


@lowers("aten.index.Tensor aten._unsafe_index.Tensor")
def index(step: Step, x: Value, indices: Sequence[Any]) -> Value:
    """Elements are taken as they lie in memory: those of images with the channels last are slices."""
    order, given = _as_stored(step.operands[0], indices)
    found = _indexed(step, x.transpose(order), given)
    wanted, stored = _labels(indices, range(len(order))), _labels(given, order)
    return found.transpose([stored.index(one) for one in wanted])


def _indexed(step: Step, x: Value, indices: Sequence[Any]) -> Value:
    grid = _in_turn(x, indices)
    if grid is not None:
        return _taken(x, indices, grid, step)
    dims, points, common = _placed(step, x.shape, indices)
    rest = [size for dim, size in enumerate(x.shape) if dim not in dims]
    found = gathered(step, x, points, dims).reshape((*common, *rest))
    return found.transpose(_order(dims, len(x.shape), len(common)))


@lowers("aten.index_put aten._unsafe_index_put")
def index_put(step: Step, x: Value, indices: Sequence[Any], values: Value, accumulate: bool = False) -> Value:
    new = converted(values, dtype_of(x))
    masks = [one for one in indices if one is not None]
    if len(masks) == 1 and dtype_of(masks[0]) == torch.bool:
        return _masked_put(step, x, indices, new, accumulate)
    # The updates stay as they lie in memory: pixels with all their channels, for one, are slices.
    rank = len(x.shape)
    whole = _labels(indices, range(rank))
    stored = order_of(step.operands[1 + len(masks)]) if len(new.shape) == len(whole) else None
    order = list(range(rank)) if stored is None else _order_of_target(indices, [whole[dim] for dim in stored], rank)
    given = [indices[dim] if dim < len(indices) else None for dim in order]
    common = torch.broadcast_shapes(*[index.shape for index in masks])
    sizes = [*x.shape, *common]
    moved = [whole.index(one) for one in _labels(given, order)]
    shown = broadcast(new, [sizes[one] for one in whole]).transpose(moved)
    found = _put(step, x.transpose(order), given, shown, "sum" if accumulate else None)
    return found.transpose([order.index(dim) for dim in range(rank)])


def _order_of_target(indices: Sequence[Any], labels: Sequence[int], rank: int) -> list[int]:
    """The dimensions of an indexed tensor in the order of updates: the indexed ones where the indices' begin."""
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    found: list[int] = []
    for label in labels:
        if label < rank:
            found.append(label)
        elif not set(dims) & set(found):
            found += dims
    return found if len(found) == rank else list(range(rank))


def _put(step: Step, x: Value, indices: Sequence[Any], updates: Value, how: str | None) -> Value:
    """A tensor with updates, whose dimensions are those of the indexed tensor."""
    dims, points, common = _placed(step, x.shape, indices)
    rest = [size for dim, size in enumerate(x.shape) if dim not in dims]
    before = _order(dims, len(x.shape), len(common)).index(0) if common else 0
    rows = updates.reshape((*rest[:before], count(common), *rest[before:]))
    return _combined(step, x, points, rows, dims, how, before)


def _masked_put(step: Step, x: Value, indices: Sequence[Any], new: Value, accumulate: bool) -> Value:
    """The values of a mask's elements in order; one with a single value, or none, along the mask is for all of them."""
    (place,) = [number for number, one in enumerate(indices) if one is not None]
    mask = indices[place]
    after = len(x.shape) - place - len(mask.shape)
    shape = [1] * place + list(mask.shape) + [1] * after
    split = max(0, len(new.shape) - after)
    lead, last = new.shape[:split], new.shape[split:]
    if lead and lead[-1] != 1:
        flat = converted(mask, torch.int64).reshape((count(mask.shape),))
        places = (cumulated(step, flat, 0, "sum") - 1).maximum(0)
        shown = take_along(step, new, places, split - 1).reshape((*lead[:-1], *mask.shape, *last))
    else:
        shown = new.reshape((*lead[:-1], *[1] * len(mask.shape), *last)) if lead else new
    chosen, value = broadcast(mask.reshape(shape), x.shape), broadcast(shown, x.shape)
    return chosen.select(x + value if accumulate else value, x)


# Scatters along a dimension.

_COMBINE: dict[str | None, Combine | None] = {
    None: None,
    "sum": lambda old, new: old + new,
    "add": lambda old, new: old + new,
    "prod": lambda old, new: old * new,
    "multiply": lambda old, new: old * new,
    "amax": lambda old, new: old.maximum(new),
    "amin": lambda old, new: old.minimum(new),
}


def _combined(
    step: Step, x: Value, points: Value, rows: Value, dims: Sequence[int], how: str | None, place: int = 0
) -> Value:
    """`scattered`; sums of halves are those of f32, rounded once."""
    return _widened(x, rows, how, lambda x, rows: scattered(step, x, points, rows, dims, _COMBINE[how], place))


def _widened(x: Value, rows: Value, how: str | None, scatter: Combine) -> Value:
    dtype = dtype_of(x)
    wide = working_dtype(dtype) if how in ("sum", "add", "mean") else dtype
    return converted(scatter(converted(x, wide), converted(rows, wide)), dtype)


def _scattered_rows(step: Step, x: Value, rows: Value, *, places: Value, dim: int, how: str | None) -> Value:
    """
    `x` with `rows` combined into it at `places` along a dimension; the others are batches of all three, or slices where
    an expanded index repeats.
    """
    combine, rank = _COMBINE[how], len(x.shape)
    points, whole, batches, starts = _points_and_slices(places, dim)
    return step.builder.scatter(
        x,
        points,
        rows,
        update_window_dims=whole,
        inserted_window_dims=[dim],
        input_batching_dims=batches,
        scatter_indices_batching_dims=starts,
        scatter_dims_to_operand_dims=[dim],
        index_vector_dim=rank - len(whole),
        update_computation=(lambda old, new: new) if combine is None else combine,
    )


def _along(step: Step, x: Value, dim: int, index: Value, source: Any, how: str | None) -> Value:
    if not count(index.shape):
        return x
    shape = x.shape or (1,)
    along = dim_of(dim, len(shape))
    places = index if index.shape else index.reshape((1,))
    if isinstance(source, Value) and source.shape:
        rows = source.slice([0] * len(source.shape), places.shape)
    else:
        rows = step.value(source, dtype_of(x), places.shape)
    rows, places = converted(rows, dtype_of(x)), unwrapped(places)
    if all(size == shape[one] for one, size in enumerate(places.shape) if one != along):
        scatter: Combine = partial(_scattered_rows, step, places=places, dim=along, how=how)
        return _widened(x.reshape(shape), rows, how, scatter).reshape(x.shape)
    # An index may be smaller than the tensor, which is one batch then.
    number = count(places.shape)
    linear = linear_places(step, places, shape, along).reshape((number, 1))
    return _combined(step, x.reshape((count(shape),)), linear, rows.reshape((number,)), [0], how).reshape(x.shape)


@lowers("aten.scatter.src aten.scatter.value aten.scatter.reduce aten.scatter.value_reduce")
def scatter(step: Step, x: Value, dim: int, index: Value, source: Any, *, reduce: str | None = None) -> Value:
    return _along(step, x, dim, index, source, reduce)


@lowers("aten.index_add")
def index_add(step: Step, x: Value, dim: int, index: Value, source: Value, *, alpha: Any = 1) -> Value:
    shape = x.shape or (1,)
    along = dim_of(dim, len(shape))
    points = unwrapped(index).reshape((count(index.shape), 1))
    rows = converted(source, dtype_of(x)).reshape((*shape[:along], points.shape[0], *shape[along + 1 :]))
    if alpha != 1:
        rows = rows * step.full(alpha, dtype_of(x), rows.shape)
    return _combined(step, x.reshape(shape), points, rows, [along], "sum", along).reshape(x.shape)


@lowers("aten.scatter_add")
def scatter_add(step: Step, x: Value, dim: int, index: Value, source: Value) -> Value:
    return _along(step, x, dim, index, source, "sum")


@lowers("aten.scatter_reduce.two")
def scatter_reduce(
    step: Step, x: Value, dim: int, index: Value, source: Value, reduce: str, *, include_self: bool = True
) -> Value:
    dtype = dtype_of(x)
    start = x
    if not include_self:
        identity: Any = {"prod": 1, "amax": lowest(dtype), "amin": highest(dtype)}.get(reduce, 0)
        touched = _along(step, step.full(0, torch.int32, x.shape), dim, index, 1, None).compare("NE", 0)
        start = touched.select(step.full(identity, dtype, x.shape), x)
    if reduce != "mean":
        return _along(step, start, dim, index, source, reduce)
    total = _along(step, start, dim, index, source, "sum")
    one = 1 if include_self else 0
    number = _along(step, step.full(one, torch.int64, x.shape), dim, index, 1, "sum").maximum(1)
    if dtype.is_floating_point or dtype.is_complex:
        return total / converted(number, dtype)
    return floor_divided(total, converted(number, dtype))


@lowers("aten.masked_scatter")
def masked_scatter(step: Step, x: Value, mask: Value, source: Value) -> Value:
    shape = step.shape
    chosen = broadcast(mask, shape).reshape((count(shape),))
    places = cumulated(step, converted(chosen, torch.int64), 0, "sum") - 1
    taken = take_flat(step, source.reshape((count(source.shape),)), places.maximum(0))
    return broadcast(mask, shape).select(taken.reshape(shape), broadcast(x, shape))
