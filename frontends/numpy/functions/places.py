"""
Functions that change elements of an array, and those of places: numbers of elements, insertion, windows, bits.

The functions that change an argument give it all elements anew, as item assignment does; clusters do not record them.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import (
    FUNCTIONS,
    METHODS,
    TracedArray,
    astype,
    axes_of,
    axis_of,
    broadcast_to,
    builder_of,
    common_shape,
    constant_index,
    implements,
    lift,
)
from ..errors import TraceError
from ..indexing import put as assigned
from ..indexing import take
from ..joining import concatenate
from ..reductions import choose, reduced
from ..shapes import moveaxis, reshape, shape_argument, together, where
from ..ufuncs import call_ufunc

# Changes.


def _target(array: Any, name: str) -> TracedArray:
    if not isinstance(array, TracedArray):
        raise TraceError(
            f"np.{name} changes an array that the function did not make, by values that only the run knows",
            "make it inside of the function, and return it",
        )
    return array


@implements(np.copyto, in_clusters=False)
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    array = _target(dst, "copyto")
    source = lift(array.builder, src)
    if not np.can_cast(source.dtype, array.dtype, casting):
        raise TypeError(
            f"Cannot cast array data from {source.dtype} to {array.dtype} according to the rule '{casting}'"
        )
    new = broadcast_to(astype(source, array.dtype), array.shape)
    array.write(new if where is True else choose(where, new, array))


@implements(np.fill_diagonal, in_clusters=False)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    array = _target(a, "fill_diagonal")
    if array.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if array.ndim > 2 and len(set(array.shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    step = (
        array.shape[1] + 1 if array.ndim == 2 else 1 + sum(math.prod(array.shape[:dim]) for dim in range(1, array.ndim))
    )
    end = array.size if wrap or array.ndim != 2 or array.shape[0] <= array.shape[1] else array.shape[1] ** 2
    places = np.arange(0, end, step)
    _put(array, places, val)


@implements(np.put, in_clusters=False)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    array = _target(a, "put")
    places = lift(array.builder, ind) if isinstance(ind, TracedArray) else np.asarray(ind)
    if mode == "wrap":
        places = call_ufunc(np.remainder, places, array.size) if isinstance(ind, TracedArray) else places % array.size
    elif mode == "clip":
        places = FUNCTIONS[np.clip](lift(array.builder, places), 0, array.size - 1)
    _put(array, places, v)


METHODS["put"] = put


def _put(array: TracedArray, places: Any, values: Any) -> None:
    """Set elements by their number in row-major order; values are repeated."""
    flat = reshape(places, -1) if isinstance(places, TracedArray) else places.reshape(-1)
    given = reshape(lift(array.builder, values), -1)
    if not flat.shape[0] or not given.size:
        return
    if given.size != flat.shape[0]:
        given = given[np.arange(flat.shape[0]) % given.size]
    array.write(reshape(assigned(reshape(array, -1), flat, given), array.shape))


@implements(np.putmask, in_clusters=False)
def putmask(a: Any, mask: Any, values: Any) -> None:
    array = _target(a, "putmask")
    given = reshape(lift(array.builder, values), -1)
    if not given.size or not array.size:
        return
    repeated = reshape(given[np.arange(array.size) % given.size], array.shape)
    array.write(choose(mask, astype(repeated, array.dtype), array))


@implements(np.place, in_clusters=False)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """The n-th element under the mask takes the n-th value, from the first again after the last."""
    array = _target(arr, "place")
    given = reshape(lift(array.builder, vals), -1)
    under = astype(reshape(lift(array.builder, mask), -1), np.int64)
    if not given.size:
        raise ValueError("Cannot insert from an empty array!")
    number = FUNCTIONS[np.cumsum](under) - 1
    chosen = take(given, call_ufunc(np.remainder, number, given.size))
    array.write(choose(mask, astype(reshape(chosen, array.shape), array.dtype), array))


@implements(np.put_along_axis, in_clusters=False)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    array = _target(arr, "put_along_axis")
    if axis is None:
        array.write(reshape(assigned(reshape(array, -1), indices, values), array.shape))
        return
    dim = axis_of(axis, array.ndim)
    places = indices if isinstance(indices, TracedArray) else np.asarray(indices)
    fixed = [1 if one == dim else size for one, size in enumerate(array.shape)]
    shape = common_shape(tuple(fixed), (*places.shape[:dim], 1, *places.shape[dim + 1 :]))
    key: list[Any] = list(np.ogrid[tuple(slice(size) for size in shape)])
    key[dim] = places
    array.write(assigned(array, tuple(key), values))


# Numbers of elements.


@implements(np.ravel_multi_index, in_clusters=False)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> TracedArray:
    """Numbers outside of an axis are not looked for where NumPy's `raise` would raise an error."""
    shape = shape_argument(dims)
    modes = mode if isinstance(mode, tuple) else (mode,) * len(shape)
    total: Any = 0
    builder = builder_of(multi_index)
    strides = _strides(shape, order)
    for number, size, how, stride in zip(multi_index, shape, modes, strides, strict=True):
        index = astype(lift(builder, number), np.int64)
        if how == "wrap":
            index = index % size
        elif how == "clip":
            index = FUNCTIONS[np.clip](index, 0, size - 1)
        total = index * stride + total
    return total


def _strides(shape: Sequence[int], order: str) -> list[int]:
    if order == "F":
        return [math.prod(shape[:dim]) for dim in range(len(shape))]
    return [math.prod(shape[dim + 1 :]) for dim in range(len(shape))]


@implements(np.unravel_index, in_clusters=False)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[TracedArray, ...]:
    sizes = shape_argument(shape)
    number = astype(lift(builder_of(indices), indices), np.int64)
    return tuple(number // stride % size for size, stride in zip(sizes, _strides(sizes, order), strict=True))


implements(np.diag_indices_from, in_clusters=False)(lambda arr: np.diag_indices(arr.shape[0], arr.ndim))
implements(np.tril_indices_from, in_clusters=False)(lambda arr, k=0: np.tril_indices(arr.shape[0], k, arr.shape[1]))
implements(np.triu_indices_from, in_clusters=False)(lambda arr, k=0: np.triu_indices(arr.shape[0], k, arr.shape[1]))


# Elements in more or fewer places.


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> TracedArray:
    if isinstance(obj, TracedArray):
        constant_index(obj, "the place of insertion")
    builder = builder_of(arr, values)
    array = lift(builder, arr)
    array, dim = (reshape(array, -1), 0) if axis is None else (array, axis_of(axis, array.ndim))
    new = astype(lift(builder, values), array.dtype)
    size = array.shape[dim]
    # NumPy shows where the old elements and the new ones go.
    marks = np.insert(np.arange(size), obj, -1)
    count = int(np.count_nonzero(marks < 0))
    one_place = np.ndim(obj) == 0 and not isinstance(obj, slice)
    if one_place:
        new = moveaxis(new, 0, dim) if new.ndim == array.ndim and new.ndim else new
        if new.ndim == array.ndim:
            count = new.shape[dim]
            at = int(np.flatnonzero(marks < 0)[0])
            marks = np.insert(np.delete(marks, at), [at] * count, -1)
    shape = tuple(count if one == dim else length for one, length in enumerate(array.shape))
    given = broadcast_to(new, shape)
    order = np.where(marks < 0, 0, marks)
    order[marks < 0] = size + _inserted(obj, size, count, one_place)
    return take(concatenate([array, given], dim), order, dim)


def _inserted(obj: Any, size: int, count: int, one_place: bool) -> Any:
    """The numbers of the new elements in the order of their places, which may be any."""
    if one_place or isinstance(obj, slice):
        return np.arange(count)
    places = np.asarray(obj).reshape(-1)
    if places.dtype == np.bool_:
        return np.arange(count)
    return np.argsort(np.where(places < 0, places + size, places), kind="stable")[:count]


@implements(np.resize)
def resize(a: Any, new_shape: Any) -> TracedArray:
    shape = shape_argument(new_shape)
    flat, count = reshape(lift(builder_of(a), a), -1), math.prod(shape)
    if not flat.size or not count:
        return lift(flat.builder, np.zeros(shape, flat.dtype))
    if count > flat.size:
        flat = FUNCTIONS[np.tile](flat, (-(-count // flat.size),))
    return reshape(flat[:count], shape)


@implements(np.block)
def block(arrays: Any) -> TracedArray:
    depth = _depth(arrays)
    builder = builder_of(arrays)
    leaves = list(_leaves(arrays))
    kind = np.result_type(*(one.dtype for one in together(leaves)))
    rank = max(depth, *(np.ndim(one) for one in leaves))

    def joined(part: Any, level: int) -> TracedArray:
        if not isinstance(part, list):
            found = astype(lift(builder, part), kind)
            return reshape(found, (*[1] * (rank - found.ndim), *found.shape))
        return concatenate([joined(one, level + 1) for one in part], rank - depth + level)

    return joined(arrays, 0)


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(one) for one in arrays}
    if len(depths) != 1:
        raise ValueError("List depths are mismatched")
    return 1 + depths.pop()


def _leaves(arrays: Any) -> Any:
    if isinstance(arrays, list):
        for one in arrays:
            yield from _leaves(one)
    else:
        yield arrays


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> TracedArray:
    return FUNCTIONS[np.diag](reshape(lift(builder_of(v), v), -1), k)


implements(np.dsplit)(lambda ary, parts: FUNCTIONS[np.split](ary, parts, 2))


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> TracedArray:
    sizes = shape_argument(window_shape)
    if axis is None and len(sizes) != x.ndim:
        raise ValueError("Since axis is None, must provide window_shape for all dimensions of `x`")
    axes = tuple(axis_of(one, x.ndim) for one in (range(x.ndim) if axis is None else np.atleast_1d(axis).tolist()))
    if len(axes) != len(sizes):
        raise ValueError("Must provide matching length window_shape and axis")
    for dim, size in zip(axes, sizes, strict=True):
        count = x.shape[dim] - size + 1
        if count < 1:
            raise ValueError("window shape cannot be larger than input array shape")
        before = (slice(None),) * dim
        x = FUNCTIONS[np.stack]([x[(*before, slice(start, start + count))] for start in range(size)], -1)
    return x


# Bits.


@implements(np.packbits)
def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> TracedArray:
    array, dim = (reshape(a, -1), 0) if axis is None else (a, axis_of(axis, a.ndim))
    bits = astype(moveaxis(array, dim, -1) != 0, np.uint8)
    missing = -bits.shape[-1] % 8
    if missing:
        bits = FUNCTIONS[np.pad](bits, [(0, 0)] * (bits.ndim - 1) + [(0, missing)])
    groups = reshape(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8))
    found = reduced(np.add, groups * _weights(bitorder), -1, np.uint8)
    return moveaxis(found, -1, dim)


@implements(np.unpackbits)
def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> TracedArray:
    if a.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    array, dim = (reshape(a, -1), 0) if axis is None else (a, axis_of(axis, a.ndim))
    bytes_ = moveaxis(array, dim, -1)
    bits = astype(call_ufunc(np.bitwise_and, bytes_[..., None], _weights(bitorder)) != 0, np.uint8)
    flat = reshape(bits, (*bytes_.shape[:-1], 8 * bytes_.shape[-1]))
    if count is not None:
        wanted = constant_index(count, "the number of bits")
        more = wanted - flat.shape[-1]
        if more > 0:
            flat = FUNCTIONS[np.pad](flat, [(0, 0)] * (flat.ndim - 1) + [(0, more)])
        flat = flat[..., :wanted]
    return moveaxis(flat, -1, dim)


def _weights(bitorder: str) -> Any:
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    weights = 1 << np.arange(8, dtype=np.uint8)
    return weights[::-1] if bitorder == "big" else weights


# Without NaN.


def _place_of_extreme(function: Any, worst: float) -> Callable[..., Any]:
    def nan_place(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        """A line of NaN alone has place 0, where NumPy raises an error."""
        if a.dtype.kind == "f":
            a = where(call_ufunc(np.isnan, a), np.asarray(worst, a.dtype), a)
        return FUNCTIONS[function](a, axis, out, keepdims=keepdims)

    return nan_place


implements(np.nanargmax, in_clusters=False)(_place_of_extreme(np.argmax, -math.inf))
implements(np.nanargmin, in_clusters=False)(_place_of_extreme(np.argmin, math.inf))


def _cumulative_without_nan(function: Any, neutral: float) -> Callable[..., Any]:
    def cumulative(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        if a.dtype.kind in "fc":
            a = where(call_ufunc(np.isnan, a), np.asarray(neutral, a.dtype), a)
        return FUNCTIONS[function](a, axis, dtype, out)

    return cumulative


implements(np.nancumsum)(_cumulative_without_nan(np.cumsum, 0.0))
implements(np.nancumprod)(_cumulative_without_nan(np.cumprod, 1.0))


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> TracedArray:
    builder = builder_of(a1, a2)
    try:
        common_shape(np.shape(a1), np.shape(a2))
    except ValueError:
        return lift(builder, np.asarray(False))
    return reduced(np.logical_and, call_ufunc(np.equal, a1, a2))


# Along axes.


@implements(np.apply_over_axes, in_clusters=False)
def apply_over_axes(func: Any, a: Any, axes: Any) -> TracedArray:
    result = a
    for axis in axes_of(tuple(np.atleast_1d(axes).tolist()), a.ndim):
        found = func(result, axis)
        if found.ndim != result.ndim:
            found = FUNCTIONS[np.expand_dims](found, axis)
        if found.ndim != result.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        result = found
    return result


@implements(np.logspace)
def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: Any = 0
) -> TracedArray:
    builder = builder_of(start, stop, base)
    samples = FUNCTIONS[np.linspace](*(lift(builder, one) for one in (start, stop)), num, endpoint=endpoint, axis=axis)
    found = call_ufunc(np.power, base, samples)
    return found if dtype is None else astype(found, dtype)


@implements(np.geomspace)
def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: Any = 0
) -> TracedArray:
    """The ends exactly; real numbers of one sign."""
    builder = builder_of(start, stop)
    count = constant_index(num, "the number of samples")
    first, last = (lift(builder, one) + 0.0 for one in (start, stop))
    if "c" in first.dtype.kind + last.dtype.kind:
        raise TraceError("np.geomspace of complex numbers is not compiled", "np.exp(np.linspace(..)) of logarithms")
    sign = call_ufunc(np.sign, first)
    ends = (call_ufunc(np.log10, one * sign) for one in (first, last))
    found = call_ufunc(np.power, 10.0, FUNCTIONS[np.linspace](*ends, count, endpoint=endpoint)) * sign
    places = np.arange(count).reshape(-1, *[1] * (found.ndim - 1))
    found = where(places == 0, first, found)
    if endpoint and count > 1:
        found = where(places == count - 1, last, found)
    found = moveaxis(found, 0, axis)
    return found if dtype is None else astype(found, dtype)


@implements(np.sort_complex, in_clusters=False)
def sort_complex(a: Any) -> TracedArray:
    found = FUNCTIONS[np.sort](a)
    return found if found.dtype.kind == "c" else astype(found, np.result_type(found.dtype, np.complex64))
