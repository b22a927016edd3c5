"""Views, copies, and how tensors are put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....hlo_dialect.types import make_tensor
from ...builder.builder import Value
from ..api import torch
from ..dtypes import Unlowered, converted, dtype_of, element_of_dtype
from ..memory import memory_order
from ..registry import lowers
from ..step import Step, broadcast, count, dim_of
from .indexing import gathered, scattered, slices_at, take_flat


@lowers(
    "aten.view aten._unsafe_view aten.reshape aten.squeeze aten.squeeze.dim aten.squeeze.dims aten.unsqueeze "
    "aten.squeeze_copy aten.squeeze_copy.dim aten.squeeze_copy.dims "
    "aten._reshape_alias aten.reshape_copy aten.view_copy prims.collapse_view prims.split_dim prims.squeeze "
    "prims.reshape prims.collapse aten._reshape_copy prims.expand_dims aten.flatten.using_ints aten.unsqueeze_copy"
)
def reshape(step: Step, x: Value, *_: Any, **__: Any) -> Value:
    return x.reshape(step.shape)


@lowers(
    "aten.alias aten.clone aten.detach aten.lift_fresh aten.lift_fresh_copy aten.contiguous prims.clone aten.lift "
    "prims.view_of aten.resolve_conj aten.resolve_neg prims.copy_strided aten.alias_copy prims.view_of_dtype "
    "aten.detach_copy aten._fw_primal_copy"
)
def same(step: Step, x: Value, *_: Any, **__: Any) -> Value:
    return x


@lowers("aten._to_copy prims.convert_element_type prims.device_put aten.to.dtype aten._autocast_to_reduced_precision")
def to_copy(step: Step, x: Value, *_: Any, **__: Any) -> Value:
    return converted(x, step.dtype)


@lowers("aten.copy prims.copy_to")
def copy(step: Step, x: Value, source: Any, *_: Any) -> Value:
    return step.value(source, step.dtype, step.shape)


@lowers("aten.view.dtype aten.view_copy.dtype prims.view_element_type")
def view_as(step: Step, x: Value, dtype: Any) -> Value:
    if torch.bool in (dtype, dtype_of(x)):
        if dtype_of(x) == torch.bool and dtype in (torch.uint8, torch.int8):
            return converted(x, dtype)
        raise Unlowered("bytes are viewed as booleans")
    element, here, there = element_of_dtype(dtype), dtype_of(x).itemsize, dtype.itemsize
    if here == there:
        return x.bits_as(element)
    if there < here:
        found = step.builder.bitcast_convert(x, result_type=make_tensor((*x.shape, here // there), element))
    else:
        parts = there // here
        folded = x.reshape((*x.shape[:-1], x.shape[-1] // parts, parts))
        found = step.builder.bitcast_convert(folded, result_type=make_tensor(folded.shape[:-1], element))
    return found.reshape(step.shape)


@lowers("aten.permute prims.transpose aten.permute_copy")
def permute(step: Step, x: Value, dims: Sequence[int]) -> Value:
    return x.transpose([dim_of(one, len(x.shape)) for one in dims])


@lowers("aten.t aten.t_copy aten.numpy_T")
def transpose_matrix(step: Step, x: Value) -> Value:
    return x.transpose(list(reversed(range(len(x.shape)))))


@lowers("aten.transpose.int aten.transpose_copy.int")
def transpose(step: Step, x: Value, one: int, other: int) -> Value:
    rank = len(x.shape)
    order = list(range(rank))
    if rank:
        first, second = dim_of(one, rank), dim_of(other, rank)
        order[first], order[second] = second, first
    return x.transpose(order)


@lowers("aten.expand aten.expand_copy aten.broadcast_to")
def expand(step: Step, x: Value, *_: Any, **__: Any) -> Value:
    return broadcast(x, step.shape)


@lowers("prims.broadcast_in_dim")
def broadcast_in_dim(step: Step, x: Value, shape: Any, dims: Sequence[int]) -> Value:
    kept = [(dim, size) for dim, size in zip(dims, x.shape, strict=True) if size == step.shape[dim]]
    plain = x.reshape([size for _, size in kept])
    return plain.broadcast(step.shape, [dim for dim, _ in kept])


def _bounds(size: int, start: Any, end: Any) -> tuple[int, int]:
    """The bounds of a slice, as Python counts them."""
    first, last, _ = slice(start, end).indices(size)
    return first, max(first, last)


@lowers("aten.slice.Tensor aten.slice_copy.Tensor")
def slice_(step: Step, x: Value, dim: int = 0, start: Any = None, end: Any = None, stride: int = 1) -> Value:
    rank = len(x.shape)
    along = dim_of(dim, rank)
    first, last = _bounds(x.shape[along], start, end)
    starts, limits, strides = [0] * rank, list(x.shape), [1] * rank
    starts[along], limits[along], strides[along] = first, last, stride
    if (first, last, stride) == (0, x.shape[along], 1):
        return x
    return x.slice(starts, limits, strides)


@lowers("prims.slice")
def slice_all(step: Step, x: Value, starts: Any, limits: Any, strides: Any = None) -> Value:
    return x.slice(starts, limits, strides)


@lowers("aten.slice_scatter")
def slice_scatter(
    step: Step, x: Value, source: Value, dim: int = 0, start: Any = None, end: Any = None, stride: int = 1
) -> Value:
    along = dim_of(dim, len(x.shape))
    first, last = _bounds(x.shape[along], start, end)
    length = len(range(first, last, stride))
    shape = tuple(length if one == along else size for one, size in enumerate(x.shape))
    update = step.value(source, dtype_of(x), shape)
    return _updated(step, x, update, along, first, stride)


def _updated(step: Step, x: Value, update: Value, dim: int, first: int, stride: int) -> Value:
    """A value with elements along a dimension set."""
    if not count(update.shape):
        return x
    if update.shape == x.shape:
        return update
    if stride == 1 or update.shape[dim] == 1:
        starts = [step.full(first if one == dim else 0, torch.int64) for one in range(len(x.shape))]
        return x.dynamic_update_slice(update, starts)
    rest = x.shape[dim] - first - (update.shape[dim] - 1) * stride - 1
    low, high, inner = (
        [value if one == dim else 0 for one in range(len(x.shape))] for value in (first, rest, stride - 1)
    )
    spread = update.pad(step.full(0, dtype_of(x)), low, high, inner)
    ones = step.full(True, torch.bool, update.shape).pad(step.full(False, torch.bool), low, high, inner)
    return ones.select(spread, x)


@lowers("aten.select.int aten.select_copy.int")
def select(step: Step, x: Value, dim: int, index: int) -> Value:
    along = dim_of(dim, len(x.shape))
    return x.take(along, index + x.shape[along] if index < 0 else index)


@lowers("aten.select_scatter")
def select_scatter(step: Step, x: Value, source: Value, dim: int, index: int) -> Value:
    along = dim_of(dim, len(x.shape))
    shape = tuple(1 if one == along else size for one, size in enumerate(x.shape))
    place = index + x.shape[along] if index < 0 else index
    return _updated(step, x, converted(source, dtype_of(x)).reshape(shape), along, place, 1)


@lowers(
    "aten.split_with_sizes aten.split.Tensor aten.split_copy.Tensor aten.split_with_sizes_copy "
    "aten.unsafe_split.Tensor aten.unsafe_split_with_sizes"
)
def split(step: Step, x: Value, sizes: Any, dim: int = 0) -> tuple[Value, ...]:
    along = dim_of(dim, len(x.shape))
    found: list[Value] = []
    start = 0
    for number in range(len(step.results)):
        length = step.shape_of(number)[along]
        found.append(x.part(along, start, start + length))
        start += length
    return tuple(found)


@lowers("aten.unbind.int aten.unbind_copy.int")
def unbind(step: Step, x: Value, dim: int = 0) -> tuple[Value, ...]:
    along = dim_of(dim, len(x.shape))
    return tuple(x.take(along, number) for number in range(x.shape[along]))


@lowers("aten.cat prims.cat")
def cat(step: Step, tensors: Sequence[Value], dim: int = 0) -> Value:
    along = dim_of(dim, len(step.shape))
    # Tensors of shape (0,) fit any other; torch keeps that from its early days.
    parts = [converted(one, step.dtype) for one in tensors if len(one.shape) == len(step.shape) and count(one.shape)]
    if not parts:
        return step.full(0, step.dtype, step.shape)
    return parts[0] if len(parts) == 1 else step.builder.concatenate(parts, dimension=along)


@lowers("aten.stack")
def stack(step: Step, tensors: Sequence[Value], dim: int = 0) -> Value:
    along = dim_of(dim, len(step.shape))
    shape = tuple(1 if one == along else size for one, size in enumerate(step.shape))
    parts = [converted(one, step.dtype).reshape(shape) for one in tensors]
    return parts[0] if len(parts) == 1 else step.builder.concatenate(parts, dimension=along)


@lowers("aten.constant_pad_nd")
def constant_pad(step: Step, x: Value, pad: Sequence[int], value: Any = 0) -> Value:
    rank = len(x.shape)
    low, high = [0] * rank, [0] * rank
    for number in range(len(pad) // 2):
        low[rank - 1 - number], high[rank - 1 - number] = pad[2 * number], pad[2 * number + 1]
    return x.pad(step.full(value, dtype_of(x)), low, high)


@lowers("aten.flip prims.rev")
def flip(step: Step, x: Value, dims: Sequence[int]) -> Value:
    return x.reverse(sorted({dim_of(one, len(x.shape)) for one in dims})) if x.shape else x


@lowers("aten.repeat")
def repeat(step: Step, x: Value, repeats: Sequence[int]) -> Value:
    rank = len(repeats)
    sizes = [1] * (rank - len(x.shape)) + list(x.shape)
    paired = [one for pair in zip(repeats, sizes, strict=True) for one in pair]
    kept = [2 * dim + 1 for dim in range(rank)]
    return x.reshape(sizes).broadcast(paired, kept).reshape(step.shape)


def in_memory_order(x: Value, fake: Any) -> Value:
    """The elements in the order of memory, as one dimension. Raises Unlowered where memory has gaps."""
    order = memory_order(tuple(map(int, fake.shape)), tuple(map(int, fake.stride())))
    if order is None:
        raise Unlowered("the memory of a tensor that is not dense is viewed")
    return x.transpose(order).reshape((count(x.shape),))


def strided(step: Step, flat: Value, shape: Sequence[int], strides: Sequence[int], offset: int) -> Value:
    """The elements of one dimension at the places that strides give."""
    runs = bool(shape) and strides[-1] == 1 and count(shape) > 0
    outer = shape[:-1] if runs else shape
    places = step.full(offset, torch.int64, outer)
    for dim, stride in enumerate(strides[: len(outer)]):
        if shape[dim] > 1:
            places = places + step.iota(dim, outer) * stride
    if runs:
        return slices_at(step, flat, 0, places.reshape((count(outer),)), shape[-1]).reshape(shape)
    return take_flat(step, flat, places)


@lowers("aten.as_strided prims.as_strided aten.as_strided_copy")
def as_strided(step: Step, x: Value, size: Any, stride: Any, offset: Any = None) -> Value:
    fake = step.operands[0]
    # A view of a view counts from the beginning of the storage, of which the program sees only a part.
    if fake.storage_offset() != 0 or fake.numel() * fake.element_size() != fake.untyped_storage().nbytes():
        raise Unlowered("a part of a tensor's storage is viewed through another view")
    return strided(step, in_memory_order(x, fake), step.shape, tuple(map(int, stride)), int(offset or 0))


@lowers("prims.as_strided_scatter aten.as_strided_scatter")
def as_strided_scatter(step: Step, x: Value, source: Value, size: Any, stride: Any, offset: Any = None) -> Value:
    fake = step.operands[0]
    shape = tuple(map(int, fake.shape))
    if memory_order(shape, tuple(map(int, fake.stride()))) != list(range(len(shape))):
        raise Unlowered("a part of memory that is not row-major is written")
    places = step.full(int(offset or 0), torch.int64, source.shape)
    for dim, one in enumerate(stride):
        if source.shape[dim] > 1:
            places = places + step.iota(dim, source.shape) * int(one)
    rows = converted(source, dtype_of(x)).reshape((count(source.shape),))
    flat = x.reshape((count(x.shape),))
    return scattered(step, flat, places.reshape((count(source.shape), 1)), rows, [0], None).reshape(x.shape)


@lowers("aten.diagonal aten.diagonal_copy")
def diagonal(step: Step, x: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    """Every n-th element of rows that lie one after the other; elements at places of dimensions that are apart."""
    rank = len(x.shape)
    first, second = dim_of(dim1, rank), dim_of(dim2, rank)
    length, row, column = step.shape[-1], max(0, -offset), max(0, offset)
    if not count(step.shape):
        return step.full(0, step.dtype, step.shape)
    if first > second:
        first, second, row, column = second, first, column, row
    if second > first + 1:
        numbers = step.iota(0, (length, 1))
        points = step.builder.concatenate([numbers + row, numbers + column], dimension=1)
        return gathered(step, x, points, (first, second)).transpose([*range(1, rank - 1), 0])
    rest = [dim for dim in range(rank) if dim not in (first, second)]
    before, after = [x.shape[dim] for dim in rest[:first]], [x.shape[dim] for dim in rest[first:]]
    width = x.shape[second]
    neighbours = x.transpose([*rest[:first], first, second, *rest[first:]])
    flat = neighbours.reshape((*before, x.shape[first] * width, *after))
    begin = row * width + column
    starts, limits, steps = [0] * (rank - 1), list(flat.shape), [1] * (rank - 1)
    starts[first], limits[first], steps[first] = begin, begin + (length - 1) * (width + 1) + 1, width + 1
    found = flat.slice(starts, limits, steps)
    return found.transpose([*[dim for dim in range(rank - 1) if dim != first], first])


@lowers("aten.unfold aten.unfold_copy")
def unfold(step: Step, x: Value, dim: int, size: int, stride: int) -> Value:
    if not x.shape:
        return x.reshape(step.shape)
    along = dim_of(dim, len(x.shape))
    windows, rank = step.shape[along], len(x.shape)
    if size <= stride and windows * stride <= x.shape[along]:
        rows = x.part(along, 0, windows * stride)
        rows = rows.reshape((*x.shape[:along], windows, stride, *x.shape[along + 1 :])).part(along + 1, 0, size)
    else:
        rows = slices_at(step, x, along, step.iota(0, (windows,)) * stride, size)
    return rows.transpose([*[one for one in range(rank + 1) if one != along + 1], along + 1])


@lowers("aten.diagonal_scatter")
def diagonal_scatter(step: Step, x: Value, source: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    rank = len(x.shape)
    first, second = dim_of(dim1, rank), dim_of(dim2, rank)
    row, column = max(0, -offset), max(0, offset)
    length = source.shape[-1]
    if not count(source.shape):
        return x
    # The source as rows of a matrix that holds one element each, the others are the old ones.
    rest = [dim for dim in range(rank) if dim not in (first, second)]
    order = [*rest, first, second]
    old = x.transpose(order)
    wide = converted(source, dtype_of(x)).pad(
        step.full(0, dtype_of(x)), [0] * len(rest) + [row], [0] * len(rest) + [old.shape[-2] - row - length]
    )
    rows = wide.broadcast(old.shape, [*range(rank - 1)])
    at, across = step.iota(rank - 2, old.shape), step.iota(rank - 1, old.shape)
    chosen = (across - at).equals(offset) & (at >= row) & (at < row + length) & (across >= column)
    return chosen.select(rows, old).transpose([order.index(dim) for dim in range(rank)])


@lowers("aten._assert_tensor_metadata")
def assert_metadata(step: Step, x: Value, *_: Any, **__: Any) -> None:
    """Exported programs state the dtype of what is converted, which tracing has compared with the operand's."""
