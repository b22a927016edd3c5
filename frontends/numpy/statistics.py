"""Counts, bins and correlations, comparison of arrays, and functions that choose elements."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..builder.builder import Builder
from .arrays import (
    FUNCTIONS,
    TracedArray,
    astype,
    broadcast_to,
    builder_of,
    common_shape,
    constant_index,
    implements,
    lift,
)
from .errors import TraceError
from .indexing import searchsorted
from .joining import concatenate
from .linear_algebra import matmul
from .reductions import reduced
from .shapes import matrix_transpose, moveaxis, reshape, together, where
from .ufuncs import call_ufunc

# Bins.


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> TracedArray:
    """The size is `minlength`; larger numbers are not counted."""
    builder = builder_of(x, weights)
    places = lift(builder, x)
    count = constant_index(minlength, "minlength")
    if not isinstance(x, TracedArray) and np.size(x):
        count = max(count, int(np.max(x)) + 1)
    elif not count:
        raise TraceError(
            "np.bincount: the size of the result depends on the elements",
            "minlength= with the number of bins; larger numbers are not counted then",
        )
    if places.dtype.kind not in "iub" or places.ndim != 1:
        raise TypeError("np.bincount counts a vector of integers")
    return _counted(places, count, weights)


def _counted(places: TracedArray, count: int, weights: Any) -> TracedArray:
    """The number, or the sum of weights, of each of the first integers."""
    builder = places.builder
    if weights is None:
        each: TracedArray = lift(builder, np.ones(places.shape, np.int64))
    else:
        each = astype(lift(builder, weights), np.float64)
    bins = lift(builder, np.zeros(count, each.dtype))
    if not count or not places.size:
        return bins
    indices = astype(places, np.uint8) if places.dtype == np.bool_ else places
    # Updates of bins that there are not, negative ones too, are dropped.
    return bins.like(
        builder.scatter(
            bins.value,
            indices.value.reshape((places.size, 1)),
            each.value,
            update_window_dims=[],
            inserted_window_dims=[0],
            scatter_dims_to_operand_dims=[0],
            index_vector_dim=1,
            update_computation=lambda old, new: old + new,
        )
    )


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> TracedArray:
    builder = builder_of(x, bins)
    edges = lift(builder, bins)
    side = "left" if right else "right"
    if not isinstance(bins, TracedArray) and np.all(np.diff(bins) <= 0) and np.size(bins) > 1:
        return edges.shape[0] - searchsorted(FUNCTIONS[np.flip](edges), x, "right" if right else "left")
    return searchsorted(edges, x, side)


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    builder = builder_of(a, bins, range)
    if isinstance(bins, str):
        raise TraceError("the number of bins depends on the elements", "a number of bins")
    if np.ndim(bins) == 1:
        return lift(builder, bins)
    count = constant_index(bins, "the number of bins")
    array = lift(builder, a)
    low, high = _bounds(builder, array, range)
    return astype(linspace(low, high, count + 1), _kind_of_edges(array))


def _kind_of_edges(array: TracedArray) -> Any:
    return array.dtype if array.dtype.kind == "f" else np.dtype(np.float64)


def _bounds(builder: Builder, array: TracedArray, range: Any) -> tuple[TracedArray, TracedArray]:
    """The first and the last edge of bins of equal widths."""
    if range is not None:
        low, high = (lift(builder, bound, np.float64) for bound in range)
    elif not array.size:
        low, high = lift(builder, 0.0), lift(builder, 1.0)
    else:
        low, high = (astype(reduced(ufunc, array), np.float64) for ufunc in (np.minimum, np.maximum))
    same = low == high
    return where(same, low - 0.5, low), where(same, high + 0.5, high)


def _places_in_equal_bins(values: TracedArray, low: TracedArray, high: TracedArray, count: int) -> TracedArray:
    """
    The bin of each value, -1 for those outside: the quotient, corrected by the edges, which are computed as
    `linspace` computes them.
    """
    kind = _kind_of_edges(values)
    values = astype(values, kind)
    step = (high - low) / count

    def edge(place: TracedArray) -> TracedArray:
        return astype(where(place == count, high, low + astype(place, np.float64) * step), kind)

    inside = (values >= astype(low, kind)) & (values <= astype(high, kind))
    quotient = where(inside, (astype(values, np.float64) - low) / (high - low) * count, 0.0)
    place = call_ufunc(np.minimum, astype(quotient, np.int64), count - 1)
    place = place - astype(values < edge(place), np.int64)
    place = place + astype((values >= edge(place + 1)) & (place != count - 1), np.int64)
    return where(inside, place, -1)


def _numbers_of_bins(values: TracedArray, bins: Any, range: Any, edges: TracedArray) -> TracedArray:
    """The bin of each value, -1 or one more than the last for those outside."""
    count = edges.shape[0] - 1
    if np.ndim(bins) == 0 and values.size and values.dtype.kind in "iuf":
        return _places_in_equal_bins(values, *_bounds(values.builder, values, range), count)
    place = searchsorted(edges, values, "right") - 1
    # The last bin has both of its edges.
    return where(values == edges[-1], count - 1, place)


@implements(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    builder = builder_of(a, bins, weights)
    edges = histogram_bin_edges(a, bins, range)
    values, count = reshape(lift(builder, a), -1), edges.shape[0] - 1
    place = _numbers_of_bins(values, bins, range, edges)
    flat = None if weights is None else reshape(lift(builder, weights), -1)
    found = _counted(place, count, flat)
    if flat is not None and flat.dtype.kind in "iu":
        found = astype(found, flat.dtype)
    if density:
        widths = edges[1:] - edges[:-1]
        found = found / widths / reduced(np.add, found)
    return found, edges


@implements(np.histogramdd)
def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    builder = builder_of(sample, bins, weights)
    if isinstance(sample, (tuple, list)):
        columns = [reshape(lift(builder, one), -1) for one in sample]
    else:
        table = lift(builder, sample)
        columns = [table[:, dim] for dim in np.arange(table.shape[1]).tolist()] if table.ndim == 2 else [table]
    rank = len(columns)
    each = list(bins) if isinstance(bins, (tuple, list)) else [bins] * rank
    ranges = [None] * rank if range is None else list(range)
    if len(each) != rank or len(ranges) != rank:
        raise ValueError("bins and range must have an entry for each dimension of the sample")
    edges = [histogram_bin_edges(*of_one) for of_one in zip(columns, each, ranges, strict=True)]
    sizes = [len(one) - 1 for one in edges]
    flat: Any = 0
    inside: Any = True
    for values, number, bounds, own, size in zip(columns, each, ranges, edges, sizes, strict=True):
        place = _numbers_of_bins(values, number, bounds, own)
        inside = (place >= 0) & (place < size) & inside
        flat = flat * size + place
    count = math.prod(sizes)
    found = _counted(
        where(inside, flat, count), count, None if weights is None else reshape(lift(builder, weights), -1)
    )
    found = astype(reshape(found, sizes), np.float64)
    if density:
        total = reduced(np.add, found)
        for dim, own in enumerate(edges):
            widths = own[1:] - own[:-1]
            found = found / reshape(widths, [-1 if one == dim else 1 for one in np.arange(rank).tolist()])
        found = found / total
    return found, tuple(edges)


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, ...]:
    if np.ndim(bins) == 1 and not (isinstance(bins, (tuple, list)) and len(bins) == 2):
        bins = [bins, bins]
    found, (first, second) = histogramdd([x, y], bins, range, density, weights)
    return found, first, second


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: Any = 0,
    *,
    device: Any = None,
) -> Any:
    builder = builder_of(start, stop)
    count = constant_index(num, "the number of samples")
    first, last = (lift(builder, one) for one in (start, stop))
    kind = np.result_type(first.dtype, last.dtype, np.float64)
    first, last = astype(first, kind), astype(last, kind)
    shape = common_shape(first.shape, last.shape)
    steps = np.arange(count, dtype=np.float64).reshape(-1, *[1] * len(shape))
    step = (last - first) / (max(count - 1, 1) if endpoint else max(count, 1))
    result = first + steps * step
    if endpoint and count > 1:
        result = where(steps == count - 1, last, result)
    wanted = kind if dtype is None else np.dtype(dtype)
    result = astype(call_ufunc(np.floor, result) if wanted.kind in "iu" else result, wanted)
    result = moveaxis(result, 0, axis)
    return (result, step) if retstep else result


# Correlation.


@implements(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> TracedArray:
    builder = builder_of(m, y, fweights, aweights)
    parts = [lift(builder, one) for one in (m, y) if one is not None]
    kind = np.result_type(np.float64, *(one.dtype for one in parts)) if dtype is None else np.dtype(dtype)
    rows = [reshape(one, (1, -1)) if one.ndim < 2 else one for one in parts]
    rows = [matrix_transpose(one) if not rowvar and one.shape[0] != 1 else one for one in rows]
    x = concatenate([astype(one, kind) for one in rows])
    weights: Any = None
    for one in (fweights, aweights):
        if one is not None:
            weights = lift(builder, one, np.float64) if weights is None else weights * lift(builder, one, np.float64)
    delta = (0 if bias else 1) if ddof is None else ddof
    if weights is None:
        total: Any = x.shape[1]
        mean = reduced(np.add, x, 1) / total
        divisor: Any = max(total - delta, 0)
        centred = x - mean[:, None]
        weighted = centred
    else:
        total = reduced(np.add, weights)
        mean = reduced(np.add, x * weights, 1) / total
        extra = total if aweights is None else reduced(np.add, weights * lift(builder, aweights, np.float64))
        divisor = total - delta * (extra / total if aweights is not None else 1)
        centred = x - mean[:, None]
        weighted = centred * weights
    found = matmul(centred, call_ufunc(np.conjugate, matrix_transpose(weighted)))
    return FUNCTIONS[np.squeeze](found * (1.0 / divisor if weights is not None or divisor else math.inf))


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> TracedArray:
    found = cov(x, y, rowvar, dtype=dtype)
    if not found.ndim:
        return found / found
    spread = call_ufunc(np.sqrt, FUNCTIONS[np.real](FUNCTIONS[np.diagonal](found)))
    found = found / spread[:, None] / spread[None, :]
    if found.dtype.kind == "c":
        return found
    return FUNCTIONS[np.clip](found, -1, 1)


# Comparison of arrays.


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> TracedArray:
    x, y = together([a, b])
    if y.dtype.kind in "iub":
        y = astype(y, np.float64)
    size = call_ufunc(np.absolute, y)
    near = call_ufunc(np.absolute, x - y) <= atol + rtol * size
    found = where(call_ufunc(np.isfinite, y), near, x == y)
    if equal_nan:
        found = found | (call_ufunc(np.isnan, x) & call_ufunc(np.isnan, y))
    return found


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> TracedArray:
    return reduced(np.logical_and, isclose(a, b, rtol, atol, equal_nan))


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> TracedArray:
    builder = builder_of(a1, a2)
    if np.shape(a1) != np.shape(a2):
        return lift(builder, np.asarray(False))
    same = call_ufunc(np.equal, a1, a2)
    if equal_nan:
        same = same | (call_ufunc(np.not_equal, a1, a1) & call_ufunc(np.not_equal, a2, a2))
    return reduced(np.logical_and, same)


implements(np.isreal)(lambda x: FUNCTIONS[np.imag](x) == 0)
implements(np.iscomplex)(lambda x: FUNCTIONS[np.imag](x) != 0)
implements(np.isposinf)(lambda x, out=None: x == math.inf)
implements(np.isneginf)(lambda x, out=None: x == -math.inf)
implements(np.fix)(lambda x, out=None: call_ufunc(np.trunc, x))


@implements(np.isin)
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> TracedArray:
    x, y = together([element, test_elements])
    found = reduced(np.logical_or, x[..., None] == reshape(y, -1), -1)
    return ~found if invert else found


# Choice.


@implements(np.choose, method="choose")
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> TracedArray:
    """Numbers outside of the choices are clamped where NumPy's `raise` would raise an error."""
    builder = builder_of(a, choices)
    found = [choices[number] for number in range(len(choices))]
    arrays = together([lift(builder, one) for one in found])
    number = lift(builder, a)
    number = number % len(arrays) if mode == "wrap" else FUNCTIONS[np.clip](number, 0, len(arrays) - 1)
    shape = common_shape(number.shape, *(one.shape for one in arrays))
    result = arrays[-1]
    for index in range(len(arrays) - 1):
        result = where(number == index, arrays[index], result)
    result = broadcast_to(result, shape)
    return result if out is None else out.write(result)


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> TracedArray:
    """Functions are called with the whole array."""
    conditions = list(condlist) if isinstance(condlist, (list, tuple)) else [condlist]
    functions = list(funclist)
    if len(functions) == len(conditions) + 1:
        result: Any = _piece(x, functions.pop(), args, kw)
    elif len(functions) == len(conditions):
        result = lift(x.builder, np.zeros(x.shape, x.dtype))
    else:
        count = len(conditions)
        raise ValueError(f"with {count} condition(s), either {count} or {count + 1} functions are expected")
    for condition, function in zip(conditions, functions, strict=True):
        result = where(condition, _piece(x, function, args, kw), result)
    return broadcast_to(result, x.shape)


def _piece(x: TracedArray, function: Any, args: Any, kw: Any) -> TracedArray:
    found = function(x, *args, **kw) if callable(function) else function
    return astype(lift(x.builder, found), x.dtype)


@implements(np.ix_)
def ix_(*args: Any) -> tuple[TracedArray, ...]:
    builder = builder_of(*args)
    found: list[TracedArray] = []
    for dim, one in enumerate(args):
        array = lift(builder, one)
        if array.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if array.dtype == np.bool_:
            raise TraceError("the size of an index of booleans depends on the elements", "indices of a known number")
        found.append(reshape(array, [-1 if other == dim else 1 for other in range(len(args))]))
    return tuple(found)


@implements(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> TracedArray:
    builder = builder_of(arr, values)
    return concatenate([lift(builder, one) for one in (arr, values)], axis)


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> TracedArray:
    if isinstance(obj, TracedArray):
        constant_index(obj, "the place to delete")
    array = reshape(arr, -1) if axis is None else arr
    dim = 0 if axis is None else axis
    return FUNCTIONS[np.take](array, np.delete(np.arange(array.shape[dim]), obj), dim)


@implements(np.rollaxis)
def rollaxis(a: Any, axis: Any, start: Any = 0) -> TracedArray:
    return moveaxis(a, axis, start - 1 if axis % a.ndim < start else start)
