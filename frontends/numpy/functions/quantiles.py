"""Medians, quantiles and percentiles, also without NaN."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import TracedArray, astype, axes_of, builder_of, constant_index, implements, lift
from ..errors import TraceError
from ..indexing import take_along_axis
from ..joining import stack
from ..reductions import NO_VALUE, reduced
from ..shapes import moveaxis, reshape, where
from ..sorting import sorted_with
from ..ufuncs import call_ufunc
from .selection import LEAST, MOST, ranked


def _lines(a: Any, axis: Any) -> tuple[TracedArray, list[int]]:
    """Floats with the axes that are reduced as the last one, and the shape with these kept."""
    array = a if a.dtype.kind == "f" else astype(a, np.float64)
    axes = axes_of(axis, array.ndim)
    kept = [1 if dim in axes else size for dim, size in enumerate(array.shape)]
    rest = [size for dim, size in enumerate(array.shape) if dim not in axes]
    moved = moveaxis(array, axes, tuple(range(-len(axes), 0))) if len(axes) < array.ndim else array
    return reshape(moved, [*rest, math.prod(array.shape[dim] for dim in axes)]), kept


def _given(result: TracedArray, out: Any) -> Any:
    return result if out is None else out.write(result)


@implements(np.median)
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    array, kept = _lines(a, axis)
    size = array.shape[-1]
    if not size:
        return quantile(a, 0.5, axis, out, keepdims=keepdims)
    middle = np.asarray((size - 1) // 2)
    first, second, has_nan = _neighbours(array, middle, middle + 1 - size % 2)
    wide = np.float32 if array.dtype.itemsize == 2 else array.dtype
    both = astype((astype(first, wide) + astype(second, wide)) / 2, array.dtype)
    result = where(has_nan, np.asarray(np.nan, array.dtype), first if size % 2 else both)
    return _given(reshape(result, kept) if keepdims not in (False, NO_VALUE) else result, out)


def _neighbours(array: TracedArray, low: Any, high: Any) -> tuple[TracedArray, TracedArray, TracedArray]:
    """The elements of these ranks in each line, each of the second the same or one more; whether there are NaN."""
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
    ordered = moveaxis(sorted_with(array, [], array.ndim - 1)[0], -1, 0)
    return ordered[low], ordered[high], call_ufunc(np.isnan, ordered[-1])


def _percents(q: Any) -> Any:
    return q / 100.0 if isinstance(q, TracedArray | int | float) else np.asarray(q) / 100.0


@implements(np.percentile)
def percentile(a: Any, q: Any, axis: Any = None, out: Any = None, *rest: Any, **stated: Any) -> Any:
    return quantile(a, _percents(q), axis, out, *rest, **stated)


@implements(np.quantile)
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    if weights is not None:
        raise TraceError("np.quantile with weights= is not compiled", "np.interp(q, np.cumsum(weights), np.sort(a))")
    if isinstance(q, TracedArray):
        constant_index(q, "the quantile")
    array, kept = _lines(a, axis)
    size = array.shape[-1]
    if not size:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    # A number of Python is of the array's type.
    kind = array.dtype if isinstance(q, int | float) else np.result_type(array.dtype, np.asarray(q).dtype)
    places = _places(q, size, method)
    low = np.floor(places).astype(int)
    high = np.minimum(low + 1, size - 1)
    rest = np.asarray(places - low, kind).reshape((*places.shape, *[1] * (array.ndim - 1)))
    if not rest.any():
        high = low
    first, second, has_nan = _neighbours(array, low, high)
    result = first + (second - first) * rest if rest.any() else first
    if method == "linear" or rest.any():
        result = astype(result, np.result_type(result.dtype, kind))
    elif a.dtype.kind in "iu":
        # Methods that choose an element give one.
        return _given(_shaped(astype(result, a.dtype), places, kept, keepdims), out)
    result = where(has_nan, np.asarray(np.nan, result.dtype), result)
    return _given(_shaped(result, places, kept, keepdims), out)


def _shaped(result: TracedArray, places: Any, kept: list[int], keepdims: Any) -> TracedArray:
    return reshape(result, [*places.shape, *kept]) if keepdims not in (False, NO_VALUE) else result


def _places(q: Any, size: int, method: str) -> Any:
    """The ranks between which the quantiles lie: what NumPy finds for 0, 1, 2, .."""
    numbers = np.asarray(q, np.float64)
    if ((numbers < 0) | (numbers > 1)).any():
        raise ValueError("Quantiles must be in the range [0, 1]")
    if method == "linear":
        return numbers * (size - 1)
    return np.asarray(np.quantile(np.arange(float(size)), numbers, method=method))  # pyright: ignore


# Without NaN.


@implements(np.nanquantile)
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    if a.dtype.kind != "f":
        return quantile(a, q, axis, out, overwrite_input, method, keepdims, weights=weights)
    if method != "linear" or weights is not None:
        raise TraceError(f"np.nanquantile with method={method!r} or weights= is not compiled", "method='linear'")
    if isinstance(q, TracedArray):
        constant_index(q, "the quantile")
    array, kept = _lines(a, axis)
    numbers = np.asarray(q, np.float64)
    ordered = sorted_with(array, [], array.ndim - 1)[0]
    # NaN are the last ones.
    count = reduced(np.add, ~call_ufunc(np.isnan, array), -1, np.int64, keepdims=True)
    found = [_between(ordered, count, float(one)) for one in numbers.reshape(-1)]
    result = reshape(stack(found), [*numbers.shape, *array.shape[:-1]])
    if not isinstance(q, int | float):
        result = astype(result, np.result_type(array.dtype, np.asarray(q).dtype))
    return _given(_shaped(result, numbers, kept, keepdims), out)


def _between(ordered: TracedArray, count: TracedArray, part: float) -> TracedArray:
    """The quantile of the first elements of each line, NaN where there are none."""
    last = call_ufunc(np.maximum, count - 1, 0)
    place = part * astype(last, np.float64)
    low = astype(call_ufunc(np.floor, place), np.int64)
    first = take_along_axis(ordered, low, -1)
    second = take_along_axis(ordered, call_ufunc(np.minimum, low + 1, last), -1)
    rest = astype(place - astype(low, np.float64), ordered.dtype)
    step = where(rest == 0, ordered.dtype.type(0), second - first)
    return (first + step * rest)[..., 0]


@implements(np.nanpercentile)
def nanpercentile(a: Any, q: Any, axis: Any = None, out: Any = None, *rest: Any, **stated: Any) -> Any:
    return nanquantile(a, _percents(q), axis, out, *rest, **stated)


@implements(np.nanmedian)
def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    return nanquantile(lift(builder_of(a), a), 0.5, axis, out, keepdims=keepdims)
