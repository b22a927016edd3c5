"""np.pad in all of its modes: an axis after the other, as NumPy does."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import FUNCTIONS, TracedArray, astype, implements, lift
from ..errors import TraceError
from ..joining import concatenate, flip
from ..reductions import mean, reduced
from ..ufuncs import call_ufunc
from .quantiles import median

_EDGES = ("edge", "wrap", "reflect", "symmetric")
"""The modes that repeat elements by their places."""
_STATISTICS: dict[str, Callable[..., TracedArray]] = {
    "maximum": lambda x, axis: reduced(np.maximum, x, axis, keepdims=True),
    "minimum": lambda x, axis: reduced(np.minimum, x, axis, keepdims=True),
    "mean": lambda x, axis: mean(x, axis, keepdims=True),
    "median": lambda x, axis: median(x, axis, keepdims=True),
}
_ARGUMENTS = {
    "constant": {"constant_values"},
    "linear_ramp": {"end_values"},
    "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
    **{name: {"stat_length"} for name in _STATISTICS},
}

MANY_RUNS = 16
"""The number of slices up to which they are joined; more are a gather."""


def _runs(places: np.ndarray[Any, Any]) -> list[slice]:
    """Indices as slices, forwards and backwards."""
    runs: list[slice] = []
    first = 0
    while first < len(places):
        step = 0 if first + 1 == len(places) else int(places[first + 1] - places[first])
        step = step if abs(step) == 1 else 1
        last = first
        while last + 1 < len(places) and places[last + 1] - places[last] == step:
            last += 1
        end = int(places[last]) + step
        runs.append(slice(int(places[first]), None if end < 0 else end, step))
        first = last + 1
    return runs


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **stated: Any) -> TracedArray:
    if callable(mode):
        raise TraceError("np.pad with a function is not compiled", "np.concatenate of the array and its borders")
    modes = ("constant", "empty", "linear_ramp", *_EDGES, *_STATISTICS)
    if mode not in modes:
        raise ValueError(f"mode '{mode}' is not supported")
    unknown = stated.keys() - _ARGUMENTS.get(mode, set())
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    if isinstance(pad_width, dict):
        rank = array.ndim
        sizes = {dim % rank: size for dim, size in pad_width.items()}
        pad_width = [sizes.get(dim, (0, 0)) for dim in range(rank)]
    if isinstance(pad_width, TracedArray):
        raise TraceError("the widths of np.pad must be constants", "make the argument static: static_argnames=..")
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2))
    if widths.dtype.kind not in "iu":
        raise TypeError("`pad_width` must be of integral type.")
    if (widths < 0).any():
        raise ValueError("index can't contain negative values")
    if mode in ("constant", "empty"):
        return _with_constants(array, widths, stated.get("constant_values", 0))
    odd = stated.get("reflect_type", "even") == "odd"
    for dim, (low, high) in enumerate(widths.tolist()):
        if not low and not high:
            continue
        if mode in _STATISTICS:
            array = _with_statistics(array, dim, (low, high), _STATISTICS[mode], stated.get("stat_length"))
        elif mode == "linear_ramp":
            array = _with_ramps(array, dim, (low, high), stated.get("end_values", 0))
        elif odd:
            array = _reflected_oddly(array, dim, (low, high), mode)
        else:
            array = _repeated(array, dim, (low, high), mode)
    return array.like(array.value)


def _repeated(array: TracedArray, dim: int, widths: tuple[int, int], mode: str) -> TracedArray:
    """The elements whose places NumPy's own padding of 0, 1, 2, .. names."""
    places = np.pad(np.arange(array.shape[dim]), widths, mode)  # pyright: ignore
    runs = _runs(places)
    before = (slice(None),) * dim
    if len(runs) > MANY_RUNS:
        return array[(*before, places)]
    parts = [array[(*before, run)] for run in runs]
    return concatenate(parts, dim) if len(parts) > 1 else parts[0]


def _end(array: TracedArray, dim: int, first: bool, count: int | None) -> TracedArray:
    """The first or the last elements along a dimension; all for None."""
    size = array.shape[dim]
    number = size if count is None else min(count, size)
    return array[(*(slice(None),) * dim, slice(0, number) if first else slice(size - number, size))]


def _with_statistics(
    array: TracedArray, dim: int, widths: tuple[int, int], statistic: Callable[..., TracedArray], lengths: Any
) -> TracedArray:
    counts = (None, None) if lengths is None else np.broadcast_to(np.asarray(lengths), (array.ndim, 2))[dim].tolist()
    parts: list[TracedArray] = [array]
    for side, (width, count) in enumerate(zip(widths, counts, strict=True)):
        if count is not None and count < 1:
            raise ValueError("stat_length of 0 yields no value for padding")
        value = statistic(_end(array, dim, side == 0, count), dim)
        if array.dtype.kind in "iu" and value.dtype.kind == "f":
            value = call_ufunc(np.rint, value)
        value = FUNCTIONS[np.repeat](astype(value, array.dtype), width, dim)
        parts = [value, *parts] if side == 0 else [*parts, value]
    return concatenate(parts, dim)


def _with_ramps(array: TracedArray, dim: int, widths: tuple[int, int], ends: Any) -> TracedArray:
    pairs = np.broadcast_to(np.asarray(ends), (array.ndim, 2))[dim].tolist()
    parts: list[TracedArray] = [array]
    for side, (width, end) in enumerate(zip(widths, pairs, strict=True)):
        edge = _end(array, dim, side == 0, 1)[(*(slice(None),) * dim, 0)]
        ramp = FUNCTIONS[np.linspace](end, edge, width, endpoint=False, dtype=array.dtype, axis=dim)
        parts = [ramp, *parts] if side == 0 else [*parts, flip(ramp, dim)]
    return concatenate(parts, dim)


def _reflected_oddly(array: TracedArray, dim: int, widths: tuple[int, int], mode: str) -> TracedArray:
    """Twice the element at the edge, less the reflected ones; in several rounds where these are too few."""
    skipped = 1 if mode == "reflect" else 0
    low, high = widths
    while low or high:
        most = array.shape[dim] - skipped
        if most < 1:
            return _repeated(array, dim, (low, high), "edge")
        counts = min(low, most), min(high, most)
        size = array.shape[dim]
        before = (slice(None),) * dim
        parts: list[TracedArray] = [array]
        if counts[0]:
            near = flip(array[(*before, slice(skipped, skipped + counts[0]))], dim)
            parts = [_end(array, dim, True, 1) * 2 - near, *parts]
        if counts[1]:
            near = flip(array[(*before, slice(size - skipped - counts[1], size - skipped))], dim)
            parts = [*parts, _end(array, dim, False, 1) * 2 - near]
        array = concatenate(parts, dim)
        low, high = low - counts[0], high - counts[1]
    return array


def _with_constants(array: TracedArray, widths: Any, constant_values: Any) -> TracedArray:
    traced = isinstance(constant_values, TracedArray)
    values = constant_values if traced else np.asarray(constant_values)
    if not values.ndim:
        fill = astype(lift(array.builder, values), array.dtype).value
        return array.like(array.value.pad(fill, [int(low) for low, _ in widths], [int(high) for _, high in widths]))
    pairs = FUNCTIONS[np.broadcast_to](values, (array.ndim, 2)) if traced else np.broadcast_to(values, (array.ndim, 2))
    for dim, ends in enumerate(widths.tolist()):
        for side in range(2):
            here = np.zeros((array.ndim, 2), int)
            here[dim, side] = ends[side]
            array = _with_constants(array, here, pairs[dim, side])
    return array
