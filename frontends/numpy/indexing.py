"""Indexing: slices and fancy indices, reading and writing, and the functions that index."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from .arrays import (
    METHODS,
    WHY,
    TracedArray,
    astype,
    axis_of,
    broadcast_to,
    builder_of,
    common_shape,
    constant_index,
    implements,
    lift,
)
from .errors import TraceError
from .joining import concatenate
from .reductions import choose
from .shapes import reshape, where
from .ufuncs import call_ufunc
from .views import KINDS, Kind, Layout, linked


@dataclass
class _Box:
    """The part of an array that slices and integers choose, in the order of its dimensions."""

    starts: list[int]
    limits: list[int]
    strides: list[int]
    reversed_dims: list[int]
    """The dimensions whose step is negative."""
    whole: bool = True
    """Whether it is all of the array, reversed or not."""


@dataclass
class _Index:
    """A key in parts: first the box, then arrays of indices along some dimensions, then the result's shape."""

    box: _Box
    arrays: dict[int, Any]
    """The arrays of indices, by the array's dimension."""
    layout: list[Any]
    """The result's dimensions in order: a dimension of the array, None for a new one, "arrays" for the indices'."""


def _expanded(shape: tuple[int, ...], key: Any) -> list[Any]:
    """The key with an entry for each dimension, boolean arrays as arrays of indices, and None for new dimensions."""
    parts = list(key) if isinstance(key, tuple) else [key]
    entries: list[Any] = []
    for part in parts:
        if isinstance(part, (list, np.ndarray)) and not isinstance(part, TracedArray):
            part = _stacked(part)
        if isinstance(part, TracedArray) and part.dtype == np.bool_:
            raise TraceError(
                "an index of booleans has a result whose size depends on the elements",
                "np.where(mask, x, other), or x[mask] = value, or np.sum(x, where=mask)",
            )
        if isinstance(part, (bool, np.bool_)):
            raise TraceError("an index that is a boolean is not compiled", "np.where")
        if isinstance(part, np.ndarray) and part.dtype == np.bool_:
            entries += [*np.nonzero(part)]
        else:
            entries.append(part)
    used = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if used > len(shape):
        raise IndexError(f"too many indices for array: array is {len(shape)}-dimensional, but {used} were indexed")
    places = [number for number, entry in enumerate(entries) if entry is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    at = places[0] if places else len(entries)
    return [*entries[:at], *[slice(None)] * (len(shape) - used), *entries[at + 1 :]]


def _stacked(part: Any) -> Any:
    try:
        return lift(builder_of(part), part)
    except LookupError:
        found = np.asarray(part)
        return found.astype(int) if not found.size and found.dtype.kind == "f" else found


def _bound(value: Any) -> Any:
    return None if value is None else constant_index(value, "the bound of a slice")


def _index_of(shape: tuple[int, ...], key: Any) -> _Index:
    """The parts of a key into an array of that shape. Raises IndexError, TraceError."""
    facts = _facts(key)
    return _parsed(shape, key) if facts is None else _parsed_once(shape, facts)


_BOUNDS = frozenset((int, type(None)))


def _facts(key: Any) -> tuple[Any, ...] | None:
    """The parts of a key of integers and slices, hashable; None for one with arrays."""
    facts: list[Any] = []
    for part in key if type(key) is tuple else (key,):
        kind = type(part)
        if kind is slice:
            bounds = part.start, part.stop, part.step
            if not _BOUNDS.issuperset(map(type, bounds)):
                return None
            facts.append(bounds)
        elif kind is int or part is None or part is Ellipsis:
            facts.append(part)
        else:
            return None
    return tuple(facts)


@lru_cache(maxsize=4096)
def _parsed_once(shape: tuple[int, ...], facts: tuple[Any, ...]) -> _Index:
    return _parsed(shape, tuple(slice(*one) if isinstance(one, tuple) else one for one in facts))


def _parsed(shape: tuple[int, ...], key: Any) -> _Index:
    box = _Box([], [], [], [])
    index = _Index(box, {}, [])
    entries = _expanded(shape, key)
    with_arrays = any(
        isinstance(entry, TracedArray) or np.ndim(entry) for entry in entries if not isinstance(entry, slice)
    )
    positions: list[int] = []
    dim = 0
    for position, entry in enumerate(entries):
        if entry is None:
            index.layout.append(None)
            continue
        size = shape[dim]
        if isinstance(entry, slice):
            bounds = slice(_bound(entry.start), _bound(entry.stop), _bound(entry.step))
            chosen = range(*bounds.indices(size))
            _add_range(box, chosen, size, dim)
            index.layout.append(dim)
        elif isinstance(entry, TracedArray) or (isinstance(entry, np.ndarray) and entry.ndim):
            if entry.dtype.kind not in "iu":
                raise IndexError("arrays used as indices must be of integer (or boolean) type")
            _add_range(box, range(size), size, dim)
            index.arrays[dim] = _checked(entry, size, dim)
            positions.append(position)
        else:
            number = operator.index(entry)
            if not -size <= number < size:
                raise IndexError(f"index {number} is out of bounds for axis {dim} with size {size}")
            if with_arrays:
                # An integer beside arrays is an array of indices.
                _add_range(box, range(size), size, dim)
                index.arrays[dim] = np.asarray(number % size)
                positions.append(position)
            else:
                _add_range(box, range(number % size, number % size + 1), size, dim)
        dim += 1
    if positions:
        # The new dimensions take the place of those indexed by arrays, if these follow each other.
        adjacent = positions == list(range(positions[0], positions[-1] + 1))
        index.layout.insert(positions[0] if adjacent else 0, "arrays")
    return index


def _add_range(box: _Box, chosen: range, size: int, dim: int) -> None:
    if chosen.step < 0:
        box.reversed_dims.append(dim)
        chosen = chosen[::-1]
    box.starts.append(chosen.start if len(chosen) else 0)
    box.limits.append(chosen[-1] + 1 if len(chosen) else 0)
    box.strides.append(chosen.step)
    box.whole = box.whole and (box.starts[-1], box.limits[-1], chosen.step) == (0, size, 1)


def _checked(entry: Any, size: int, dim: int) -> Any:
    """Indices from the front. Constant ones are checked; others that are outside of the array are clamped."""
    if isinstance(entry, TracedArray):
        if entry.dtype.kind == "u":
            return astype(entry, np.int64)
        wide = astype(entry, np.int64)
        return where(wide < 0, wide + size, wide)
    if entry.size and (entry.min() < -size or entry.max() >= size):
        wrong = entry[(entry < -size) | (entry >= size)].flat[0]
        raise IndexError(f"index {wrong} is out of bounds for axis {dim} with size {size}")
    return np.where(entry < 0, entry + size, entry)


def _boxed(array: TracedArray, box: _Box) -> TracedArray:
    value = array.value
    if not box.whole:
        value = value.slice(box.starts, box.limits, box.strides)
    return array.like(value.reverse(box.reversed_dims) if box.reversed_dims else value)


def _indices(array: TracedArray, index: _Index) -> tuple[TracedArray, tuple[int, ...]]:
    """The indices as a matrix, a row for each point, and the shape of their broadcast."""
    shape = common_shape(*(one.shape for one in index.arrays.values()))
    columns = [
        reshape(broadcast_to(astype(lift(array.builder, one), np.int64), shape), (math.prod(shape), 1))
        for one in index.arrays.values()
    ]
    return concatenate(columns, 1), shape


def get(array: TracedArray, key: Any) -> TracedArray:
    """`array[key]`. Raises IndexError for constants outside of it, TraceError."""
    index = _index_of(array.shape, key)
    part = _boxed(array, index.box)
    if not index.arrays:
        kept = [part.shape[one] if one is not None else 1 for one in index.layout]
        found = part.like(part.value.reshape(kept))
        # One element is a number of its own.
        return linked(found, array, "item", key) if index.layout else found
    points, shape = _indices(array, index)
    b, dims = array.builder, list(index.arrays)
    rest = [dim for dim in range(array.ndim) if dim not in dims]
    sizes = [part.shape[dim] for dim in rest]
    if part.size and points.size:
        gathered = b.gather(
            part.value,
            points.value,
            offset_dims=list(range(1, 1 + len(rest))),
            collapsed_slice_dims=dims,
            start_index_map=dims,
            index_vector_dim=1,
            slice_sizes=[1 if dim in dims else part.shape[dim] for dim in range(array.ndim)],
        )
        taken = part.like(gathered)
    else:
        taken = lift(b, np.zeros((points.shape[0], *sizes), array.dtype))
    taken = reshape(taken, (*shape, *sizes))
    labels = _labels(index, len(shape))
    stored = [*range(-len(shape), 0), *rest]
    moved = taken.like(taken.value.transpose([stored.index(one) for one in labels if one is not None]))
    found = iter(moved.shape)
    result = reshape(moved, [1 if one is None else next(found) for one in labels])
    result.source = None
    if not shape and labels:
        # Integers that the run knows, beside slices.
        return linked(result, array, "item", key)
    return result


def _known_layout(layout: Layout, key: Any) -> Layout:
    """The layout of a part; where it begins does not matter."""
    parts = key if isinstance(key, tuple) else (key,)
    return layout[tuple(0 if isinstance(one, TracedArray) else one for one in parts)]


def _labels(index: _Index, rank: int) -> list[int | None]:
    """
    The result's dimensions: those of the array, those of the indices as -rank .. -1, None for new ones.
    """
    labels: list[int | None] = []
    for one in index.layout:
        labels += range(-rank, 0) if one == "arrays" else [one]
    return labels


def put(array: TracedArray, key: Any, value: Any) -> TracedArray:
    """The array after `array[key] = value`."""
    return put_with(array, key, value, None)


def put_with(array: TracedArray, key: Any, value: Any, combine: str | None) -> TracedArray:
    """The array with elements set, or combined with the value by an operation ("add")."""
    new = astype(lift(array.builder, value), array.dtype)
    if isinstance(key, TracedArray) and key.dtype == np.bool_ and key.ndim == array.ndim:
        if new.ndim and new.shape not in ((1,), array.shape):
            raise TraceError("values for a mask must be one, or of the array's shape", "np.where(mask, values, x)")
        return choose(key, broadcast_to(new, array.shape), array)
    index = _index_of(array.shape, key)
    if index.arrays:
        return _scattered(array, index, new, combine)
    box = index.box
    part = [len(range(*one)) for one in zip(box.starts, box.limits, box.strides, strict=True)]
    shown = [1 if dim is None else part[dim] for dim in index.layout]
    update = reshape(broadcast_to(_fitted(new, shown), shown), part)
    if combine is not None:
        update = update.like(array.builder.operation(combine, _boxed(array, box).value, update.value))
    if box.reversed_dims:
        update = update.like(update.value.reverse(box.reversed_dims))
    if not update.size:
        return array
    if any(step != 1 for step in box.strides):
        return _set_strided(array, box, update)
    b = array.builder
    starts = [b.constant(start, "i64") for start in box.starts]
    return array.like(array.value.dynamic_update_slice(update.value, starts))


def _fitted(value: TracedArray, shape: list[int]) -> TracedArray:
    """Leading dimensions of size 1 are dropped, as NumPy's assignment does."""
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = reshape(value, value.shape[1:])
    return value


def _set_strided(array: TracedArray, box: _Box, update: TracedArray) -> TracedArray:
    """Set elements with gaps: the update is spread by padding, under a mask of its places."""
    b = array.builder
    high = [size - limit for size, limit in zip(array.shape, box.limits, strict=True)]
    interior = [step - 1 for step in box.strides]
    zero = lift(b, np.zeros((), array.dtype)).value
    spread = update.value.pad(zero, box.starts, high, interior)
    places = np.zeros(array.shape, np.bool_)
    places[tuple(slice(*one) for one in zip(box.starts, box.limits, box.strides, strict=True))] = True
    return choose(places, array.like(spread), array)


def _scattered(array: TracedArray, index: _Index, new: TracedArray, combine: str | None) -> TracedArray:
    b, dims, box = array.builder, list(index.arrays), index.box
    points, shape = _indices(array, index)
    rest = [dim for dim in range(array.ndim) if dim not in dims]
    if any((box.starts[dim], box.limits[dim], box.strides[dim]) != (0, array.shape[dim], 1) for dim in rest):
        raise TraceError("assignment by arrays of indices and a part of another dimension is not compiled", "two steps")
    if box.reversed_dims:
        raise TraceError("assignment by arrays of indices and a negative step is not compiled", "np.flip")
    labels = _labels(index, len(shape))
    sizes = [1 if one is None else shape[one] if one < 0 else array.shape[one] for one in labels]
    update = broadcast_to(_fitted(new, sizes), sizes)
    kept = [one for one in labels if one is not None]
    update = reshape(update, [size for size, one in zip(sizes, labels, strict=True) if one is not None])
    order = [kept.index(one) for one in (*range(-len(shape), 0), *rest)]
    rows = reshape(update.like(update.value.transpose(order)), (points.shape[0], *[array.shape[dim] for dim in rest]))
    if not rows.size:
        return array
    found = b.scatter(
        array.value,
        points.value,
        rows.value,
        update_window_dims=list(range(1, 1 + len(rest))),
        inserted_window_dims=dims,
        scatter_dims_to_operand_dims=dims,
        index_vector_dim=1,
        update_computation=lambda old, value: value if combine is None else b.operation(combine, old, value),
    )
    return array.like(found)


KINDS["item"] = Kind(get, lambda base, new, key: put(base, key, new), _known_layout)
METHODS["__getitem__"] = get
METHODS["__setitem__"] = put


@implements(np.take, method="take")
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> TracedArray:
    builder = builder_of(a, indices)
    array = lift(builder, a)
    if axis is None:
        array, axis = reshape(array, -1), 0
    dim = axis_of(axis, array.ndim)
    size = array.shape[dim]
    places = indices if isinstance(indices, TracedArray) else np.asarray(indices)
    if mode == "clip":
        places = call_ufunc(np.minimum, call_ufunc(np.maximum, lift(builder, places), 0), size - 1)
    elif mode == "wrap":
        places = lift(builder, places) % size
    return array[(*(slice(None),) * dim, places)]


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> TracedArray:
    builder = builder_of(arr, indices)
    array, places = lift(builder, arr), lift(builder, indices)
    if axis is None:
        array, axis = reshape(array, -1), 0
    dim = axis_of(axis, array.ndim)
    shape = common_shape(
        (*array.shape[:dim], 1, *array.shape[dim + 1 :]), (*places.shape[:dim], 1, *places.shape[dim + 1 :])
    )
    key: list[Any] = list(np.ogrid[tuple(slice(size) for size in shape)])
    key[dim] = places
    return array[tuple(key)]


@implements(np.nonzero, np.flatnonzero, np.argwhere, np.extract)
@implements(np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d, np.trim_zeros)
@implements(np.unique, np.unique_all, np.unique_counts, np.unique_inverse, np.unique_values)
def size_depends_on_elements(*args: Any, **stated: Any) -> Any:
    raise TraceError(
        "the size of the result depends on the elements",
        "np.unique(x, size=..), which fills what is missing, or this function outside of the compiled one",
    )


@implements(np.compress, in_clusters=False)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> TracedArray:
    if isinstance(condition, TracedArray):
        return size_depends_on_elements()
    builder = builder_of(a)
    array, dim = (reshape(lift(builder, a), -1), 0) if axis is None else (a, axis_of(axis, a.ndim))
    result = take(array, np.flatnonzero(np.asarray(condition)), dim)
    return result if out is None else out.write(result)


METHODS["compress"] = lambda a, condition, axis=None, out=None: compress(condition, a, axis, out)
METHODS["nonzero"] = size_depends_on_elements


@implements(np.searchsorted, method="searchsorted")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> TracedArray:
    """The number of elements below: O(log n) steps of bisection for all values together."""
    builder = builder_of(a, v, sorter)
    array, values = lift(builder, a), lift(builder, v)
    if sorter is not None:
        array = take(array, sorter)
    common = np.result_type(array.dtype, values.dtype)
    array, values = astype(array, common), astype(values, common)
    size = array.shape[0]
    low = lift(builder, np.zeros(values.shape, np.int64))
    high = lift(builder, np.full(values.shape, size, np.int64))
    for _ in range(size.bit_length() if size else 0):
        middle = (low + high) // 2
        at = take(array, call_ufunc(np.minimum, middle, size - 1))
        right = _before(at, values, side) & (low < high)
        low, high = where(right, middle + 1, low), where(right, high, where(low < high, middle, high))
    return low


def _before(element: TracedArray, value: TracedArray, side: str) -> Any:
    """NaN is the largest."""
    if element.dtype.kind != "f":
        return element < value if side == "left" else element <= value
    no_number = call_ufunc(np.isnan, value)
    if side == "left":
        return (element < value) | (no_number & ~call_ufunc(np.isnan, element))
    return (element <= value) | no_number


_TEXT = "it makes text or a file of elements", "call it on the results, outside of the compiled function"
_TYPE = "its dtype depends on the elements"
_MEMORY = "it is of memory, and arrays of a program are values", "call it outside of the compiled function"
for _function in (np.array2string, np.array_repr, np.array_str, np.save, np.savez, np.savetxt, np.savez_compressed):
    WHY[_function] = f": {_TEXT[0]}", _TEXT[1]
for _function in (np.shares_memory, np.may_share_memory):
    WHY[_function] = f": {_MEMORY[0]}", _MEMORY[1]
for _name in ("sqrt", "log", "log2", "log10", "logn", "power", "arccos", "arcsin", "arctanh"):
    WHY[getattr(np.emath, _name)] = f": {_TYPE}", f"np.{_name} of x.astype(complex)"
WHY[np.real_if_close] = f": {_TYPE}", "x.real"
