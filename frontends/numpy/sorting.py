"""Sorting, and what is built on it."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

from typing import Any

import numpy as np

from ..builder.builder import Value
from .arrays import METHODS, TracedArray, astype, axis_of, builder_of, constant_index, implements, lift
from .errors import TraceError
from .indexing import take_along_axis
from .joining import stack
from .reductions import reduced
from .selection import LEAST, MOST, ranked
from .shapes import moveaxis, reshape, where
from .ufuncs import call_ufunc


def sorted_with(array: TracedArray, others: list[TracedArray], axis: int) -> list[TracedArray]:
    """The array in order along an axis, stable, NaN last, and others along with it."""
    b = array.builder
    if array.dtype.kind == "c":
        raise TraceError("complex numbers are not ordered", "sort their real parts or absolute values")
    keys = astype(array, np.uint8) if array.dtype == np.bool_ else array

    def before(x: Value, y: Value, *rest: Value) -> Value:
        smaller = x < y
        if keys.dtype.kind != "f":
            return smaller
        return b.or_(smaller, b.and_(y.compare("NE", y), x.compare("EQ", x)))

    values = [one.value for one in (keys, *others)]
    found = b.sort(values, dimension=axis, is_stable=True, comparator=before)
    results = [array.like(value) for value in (found if isinstance(found, tuple) else (found,))]
    return [astype(results[0], array.dtype), *results[1:]]


def _flat(a: Any, axis: Any) -> tuple[TracedArray, int]:
    return (reshape(a, -1), 0) if axis is None else (a, axis_of(axis, a.ndim))


@implements(np.sort)
def sort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: bool = False
) -> Any:
    array, dim = _flat(a, axis)
    return sorted_with(array, [], dim)[0]


def _sort_in_place(a: TracedArray, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    a.write(sort(a, axis))


METHODS["sort"] = _sort_in_place


@implements(np.argsort, method="argsort")
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> TracedArray:
    array, dim = _flat(a, axis)
    places = array.like(array.builder.iota(iota_dimension=dim, result_type=("i64", array.shape)))
    return sorted_with(array, [places], dim)[1]


@implements(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    return sort(a, axis)


@implements(np.argpartition)
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    return argsort(a, axis)


@implements(np.lexsort)
def lexsort(keys: Any, axis: Any = -1) -> TracedArray:
    found = [lift(builder_of(keys), key) for key in keys]
    order = argsort(found[0], axis)
    for key in found[1:]:
        order = take_along_axis(order, argsort(take_along_axis(key, order, axis), axis), axis)
    return order


@implements(np.median)
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    if isinstance(axis, tuple):
        raise TraceError("np.median over several axes is not compiled", "reshape the axes into one")
    array, dim = _flat(a if a.dtype.kind == "f" else astype(a, np.float64), axis)
    size = array.shape[dim]
    if not size:
        return quantile(a, 0.5, axis, keepdims=keepdims)
    middle = np.asarray((size - 1) // 2)
    first, second, has_nan = _neighbours(array, dim, middle, middle + 1 - size % 2)
    wide = np.float32 if array.dtype.itemsize == 2 else array.dtype
    both = astype((astype(first, wide) + astype(second, wide)) / 2, array.dtype)
    result = where(has_nan, np.asarray(np.nan, array.dtype), first if size % 2 else both)
    return reshape(result, _kept(a, axis, dim)) if keepdims else result


def _kept(a: TracedArray, axis: Any, dim: int) -> list[int]:
    return [1] * a.ndim if axis is None else [1 if each == dim else size for each, size in enumerate(a.shape)]


def _neighbours(array: TracedArray, dim: int, low: Any, high: Any) -> tuple[TracedArray, TracedArray, TracedArray]:
    """The elements of these ranks along a dimension, each of the second the same or one more; whether there are NaN."""
    ranks = np.unique(low).tolist()
    if array.ndim == 1 and array.size >= LEAST and len(ranks) <= MOST and array.dtype.itemsize in (4, 8):
        pairs = ranked(array, ranks)
        if not low.ndim:
            first, second = pairs[0]
            second = second if high > low else first
        else:
            place = np.searchsorted(ranks, low)
            first, following = (stack([pair[side] for pair in pairs])[place] for side in (0, 1))
            second = where(high > low, following, first)
        return first, second, reduced(np.logical_or, call_ufunc(np.isnan, array))
    ordered = moveaxis(sorted_with(array, [], dim)[0], dim, 0)
    return ordered[low], ordered[high], call_ufunc(np.isnan, ordered[-1])


@implements(np.percentile)
def percentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, *rest: Any, keepdims: bool = False, **stated: Any
) -> Any:
    part = q / 100.0 if isinstance(q, TracedArray | int | float) else np.asarray(q) / 100.0
    return quantile(a, part, axis, keepdims=keepdims, **stated)


@implements(np.quantile)
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    **stated: Any,
) -> Any:
    if method != "linear" or stated:
        raise TraceError(f"np.quantile with method={method!r} is not compiled", "method='linear'")
    if isinstance(axis, tuple):
        raise TraceError("np.quantile over several axes is not compiled", "reshape the axes into one")
    wide = a if a.dtype.kind == "f" else astype(a, np.float64)
    array, dim = _flat(wide, axis)
    size = array.shape[dim]
    if isinstance(q, TracedArray):
        constant_index(q, "the quantile")
    # A number of Python is of the array's type.
    kind = array.dtype if isinstance(q, int | float) else np.result_type(array.dtype, np.asarray(q).dtype)
    places = np.asarray(q, np.float64) * (size - 1)
    low = np.floor(places).astype(int)
    high = np.minimum(low + 1, size - 1)
    rest = np.asarray(places - low, kind).reshape((*places.shape, *[1] * (array.ndim - 1)))
    first, second, has_nan = _neighbours(array, dim, low, high)
    result = first + (second - first) * rest
    result = where(has_nan, np.asarray(np.nan, result.dtype), result)
    if keepdims:
        result = reshape(result, [*places.shape, *_kept(wide, axis, dim)])
    return result
