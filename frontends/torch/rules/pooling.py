"""Pooling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....hlo_dialect.types import Array
from ...builder.builder import Value
from ..api import torch
from ..dtypes import converted, dtype_of, lowest, working_dtype
from ..memory import memory_order
from ..registry import lowers
from ..step import Step, broadcast, count
from .indexing import scattered, take_along


def _each(numbers: Any, rank: int, default: Any = None) -> list[int]:
    found: list[int] = [numbers] if isinstance(numbers, int) else list(numbers or default)
    return found * rank if len(found) == 1 else found


@dataclass(frozen=True)
class Pool:
    """The windows of a pooling, a number for each spatial dimension."""

    sizes: list[int]
    kernel: list[int]
    stride: list[int]
    padding: list[int]
    dilation: list[int]
    results: list[int]

    @staticmethod
    def of(x: Value, rank: int, results: Sequence[int], kernel: Any, stride: Any, padding: Any, dilation: Any) -> Pool:
        window = _each(kernel, rank)
        return Pool(
            list(x.shape[len(x.shape) - rank :]),
            window,
            _each(stride, rank, window),
            _each(padding, rank, [0] * rank),
            _each(dilation, rank, [1] * rank),
            list(results[len(results) - rank :]),
        )

    def windows(self, leading: int, trailing: int = 0) -> dict[str, Any]:
        """The arguments of reduce_window for operands with other dimensions; the last windows may reach out."""
        padding = [[0, 0]] * leading
        for size, k, s, p, d, n in zip(
            self.sizes, self.kernel, self.stride, self.padding, self.dilation, self.results, strict=True
        ):
            padding.append([p, (n - 1) * s + d * (k - 1) + 1 - size - p])
        return {
            "window_dimensions": [1] * leading + self.kernel + [1] * trailing,
            "window_strides": [1] * leading + self.stride + [1] * trailing,
            "window_dilations": [1] * leading + self.dilation + [1] * trailing,
            "padding": padding + [[0, 0]] * trailing,
        }


@dataclass(frozen=True)
class _Channels:
    """Where poolings have the channels: last if they lie so in memory, so that no copy is transposed."""

    rank: int
    last: bool

    @staticmethod
    def of(fake: Any, rank: int) -> _Channels:
        shape = tuple(map(int, fake.shape))
        usual = [0, *range(2, rank + 2), 1]
        order = memory_order(shape, tuple(map(int, fake.stride())))
        return _Channels(rank, len(shape) == rank + 2 and order == usual)

    def around(self, leading: int) -> tuple[int, int]:
        """The numbers of dimensions before and after those of the windows."""
        return (1, 1) if self.last else (leading, 0)

    def moved(self, x: Value) -> Value:
        return x.transpose([0, *range(2, self.rank + 2), 1]) if self.last else x

    def restored(self, x: Value) -> Value:
        return x.transpose([0, self.rank + 1, *range(1, self.rank + 1)]) if self.last else x


_UNROLLED = 32
"""The most places of a window, or windows of a place, that are taken one after the other, as elements of one kernel."""


def _maxima(step: Step, pool: Pool, x: Value, before: int, after: int, place: Any) -> tuple[Value, Value]:
    """
    The maximum of each window and its place in a plane: the first of equal ones, the last NaN.

    `x`: with `before` and `after` dimensions around those of the windows.
    """
    dtype, rank = dtype_of(x), len(pool.sizes)
    outer, inner = list(x.shape[:before]), list(x.shape[len(x.shape) - after :]) if after else []
    padding = pool.windows(before, after)["padding"]
    low, high = ([max(one, 0) for one in side] for side in zip(*padding, strict=True))
    padded = x.pad(step.full(lowest(dtype), dtype), low, high) if any(low) or any(high) else x
    shape = [*outer, *pool.results, *inner]
    strides = [count(pool.sizes[dim + 1 :]) for dim in range(rank)]
    starts = [step.iota(before + dim, shape, place) * pool.stride[dim] - pool.padding[dim] for dim in range(rank)]
    values = None
    # The first place that is not padding: padding is greater than nothing, and perhaps equal to all of a window.
    places = step.full(0, place, shape)
    for start, apart, padded_by, stride in zip(starts, pool.dilation, pool.padding, strides, strict=True):
        if padded_by:
            places = places + ((-start).maximum(0) + (apart - 1)) / apart * (apart * stride)
    for offsets in np.ndindex(*pool.kernel):
        shift = [offset * dilation for offset, dilation in zip(offsets, pool.dilation, strict=True)]
        limits = [at + (n - 1) * s + 1 for at, n, s in zip(shift, pool.results, pool.stride, strict=True)]
        here = padded.slice(
            [*[0] * before, *shift, *[0] * after],
            [*outer, *limits, *inner],
            [*[1] * before, *pool.stride, *[1] * after],
        )
        if values is None:
            values = here
            continue
        later = here > values
        if dtype.is_floating_point:
            later = later | here.is_nan()
        at = sum(one * stride for one, stride in zip(shift, strides, strict=True))
        values, places = later.select(here, values), later.select(step.full(at, place, shape), places)
    assert values is not None
    for start, stride in zip(starts, strides, strict=True):
        places = places + start * stride
    return values, places


def _max_pool(rank: int) -> Any:
    def rule(
        step: Step, x: Value, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil: bool = False
    ) -> tuple[Value, Value]:
        pool = Pool.of(x, rank, step.shape_of(0), kernel, stride, padding, dilation)
        channels = _Channels.of(step.results[0], rank)
        before, after = channels.around(len(x.shape) - rank)
        # Places as wide as most elements are: in vectors of 64 bits there are half as many.
        place, none = (torch.int32, 2**31 - 1) if count(pool.sizes) < 2**31 else (torch.int64, 2**62)
        moved = channels.moved(x)
        if 1 in step.used and count(pool.kernel) <= _UNROLLED:
            values, found = _maxima(step, pool, moved, before, after, place)
            return channels.restored(values), converted(channels.restored(found), torch.int64)
        windows, b, dtype = pool.windows(before, after), step.builder, dtype_of(x)
        start = step.full(lowest(dtype), dtype)
        each = broadcast(step.iota(0, (count(pool.sizes),), place).reshape(pool.sizes), x.shape)
        values = b.reduce_window(moved, start, body=b.maximum, **windows)
        last = step.full(none, place)

        def first(v: Value, i: Value, w: Value, j: Value) -> list[Value]:
            later = (w > v) | (w.equals(v) & (j < i))
            if dtype.is_floating_point:
                # The last NaN, as torch's loop leaves it.
                later = w.is_nan() & (~v.is_nan() | (j > i) | i.equals(none)) | later & ~v.is_nan()
            return [later.select(w, v), later.select(j, i)]

        _, found = b.reduce_window([moved, channels.moved(each)], [start, last], body=first, **windows)
        return channels.restored(values), converted(channels.restored(found), torch.int64)

    return rule


lowers("aten.max_pool2d_with_indices")(_max_pool(2))
lowers("aten.max_pool3d_with_indices")(_max_pool(3))


@lowers("aten.max_pool2d_with_indices_backward aten.max_pool3d_with_indices_backward")
def max_pool_backward(step: Step, gradient: Value, x: Value, *stated: Any) -> Value:
    """The gradients of windows at the places of their maxima, as the result lies in memory."""
    indices = stated[-1]
    rank = len(stated[0]) if not isinstance(stated[0], int) else 2
    channels = _Channels.of(step.results, rank)
    shape = channels.moved(x).shape
    leading, trailing = channels.around(len(shape) - rank)
    inner = count(shape[len(shape) - trailing :])
    plane = count(shape[leading : leading + rank]) * inner
    wide = channels.moved(converted(gradient, working_dtype(dtype_of(gradient))))
    each = (count(shape[:leading]), count(wide.shape[leading : leading + rank]), inner)
    rows = channels.moved(indices).reshape(each) * inner + step.iota(0, each) * plane + step.iota(2, each)
    zeros = step.full(0, dtype_of(wide), (count(shape),))
    places, updates = rows.reshape((count(each), 1)), wide.reshape((count(each),))
    found = scattered(step, zeros, places, updates, [0], lambda old, new: old + new)
    return channels.restored(found.reshape(shape))


# Averages.


def _divisors(pool: Pool, include_padding: bool, override: Any) -> Array:
    """The divisor of each window."""
    found = np.ones([1] * len(pool.sizes))
    for dim, (size, k, s, p, n) in enumerate(
        zip(pool.sizes, pool.kernel, pool.stride, pool.padding, pool.results, strict=True)
    ):
        starts = np.arange(n) * s - p
        ends = np.minimum(starts + k, size + p)
        lengths = ends - starts if include_padding else np.minimum(ends, size) - np.maximum(starts, 0)
        found = found * lengths.reshape([-1 if one == dim else 1 for one in range(len(pool.sizes))])
    return np.full_like(found, override) if override else found


def _divided(step: Step, x: Value, pool: Pool, include_padding: bool, override: Any, channels: _Channels) -> Value:
    divisors = _divisors(pool, include_padding, override)
    dtype = dtype_of(x)
    if (divisors == divisors.flat[0]).all():
        return x / step.full(divisors.flat[0], dtype, x.shape)
    array = step.constant(divisors[..., None] if channels.last else divisors, dtype)
    return x / broadcast(array, x.shape)


def _avg_pool(rank: int) -> Any:
    def rule(
        step: Step, x: Value, kernel: Any, stride: Any = (), padding: Any = 0, ceil: bool = False,
        include_padding: bool = True, override: Any = None,
    ) -> Value:  # fmt: skip
        pool = Pool.of(x, rank, step.shape, kernel, stride, padding, 1)
        channels = _Channels.of(step.results, rank)
        value = channels.moved(converted(x, working_dtype(dtype_of(x))))
        windows = pool.windows(*channels.around(len(x.shape) - rank))
        total = step.builder.reduce_window(value, step.full(0, dtype_of(value)), body=lambda a, b: a + b, **windows)
        return channels.restored(_divided(step, total, pool, include_padding, override, channels))

    return rule


def _overlaps(kernel: int, stride: int) -> int:
    """The most windows that have one place in common."""
    return -(-kernel // stride)


def _of_windows(step: Step, x: Value, dim: int, pool: Pool, number: int) -> Value:
    """For each place along a dimension of the windows, the sum of the elements of those that contain it."""
    k, stride, n = pool.kernel[number], pool.stride[number], pool.results[number]
    places = np.arange(pool.sizes[number]) + pool.padding[number]
    first, last = np.maximum(-((k - 1 - places) // stride), 0), np.minimum(places // stride, n - 1)
    total: Value | None = None
    for each in range(_overlaps(k, stride)):
        has_window = first + each <= last
        rows = take_along(step, x, step.constant(np.minimum(first + each, n - 1), torch.int32), dim)
        if not has_window.all():
            mask = step.constant(has_window, torch.bool).broadcast(rows.shape, [dim])
            rows = mask.select(rows, step.full(0, dtype_of(rows), rows.shape))
        total = rows if total is None else total + rows
    assert total is not None
    return total


def _avg_pool_backward(rank: int) -> Any:
    def rule(
        step: Step, gradient: Value, x: Value, kernel: Any, stride: Any, padding: Any, ceil: bool,
        include_padding: bool, override: Any,
    ) -> Value:  # fmt: skip
        pool = Pool.of(x, rank, gradient.shape, kernel, stride, padding, 1)
        wide = converted(gradient, working_dtype(dtype_of(gradient)))
        channels = _Channels.of(step.results, rank)
        shares = _divided(step, channels.moved(wide), pool, include_padding, override, channels)
        leading, trailing = channels.around(len(x.shape) - rank)
        overlaps = list(map(_overlaps, pool.kernel, pool.stride))
        if channels.last and max(pool.stride) > 1 and max(overlaps) > 1 and sum(overlaps) <= _UNROLLED:
            # Dimension by dimension, without zeros between the windows: rows of channels are long enough to move.
            for dim in range(rank):
                shares = _of_windows(step, shares, leading + dim, pool, dim)
            return channels.restored(shares)
        low, high, inner = [0] * leading, [0] * leading, [0] * leading
        for size, k, s, p, n in zip(pool.sizes, pool.kernel, pool.stride, pool.padding, pool.results, strict=True):
            low.append(k - 1 - p)
            high.append(size + k - 1 - ((n - 1) * s + 1) - (k - 1 - p))
            inner.append(s - 1)
        zero, rest = step.full(0, dtype_of(wide)), [0] * trailing
        spread = shares.pad(zero, low + rest, high + rest, inner + rest)
        total = step.builder.reduce_window(
            spread, zero, window_dimensions=[1] * leading + pool.kernel + [1] * trailing, body=lambda a, b: a + b
        )
        return channels.restored(total)

    return rule


for _rank in (1, 2, 3):
    lowers(f"aten.avg_pool{_rank}d")(_avg_pool(_rank))
    lowers(f"aten.avg_pool{_rank}d_backward")(_avg_pool_backward(_rank))


def _shares(size: int, results: int) -> Array:
    """The matrix (results, size) of an adaptive average along one dimension."""
    found = np.zeros((results, size))
    for row in range(results):
        first, last = row * size // results, -(-(row + 1) * size // results)
        found[row, first:last] = 1 / (last - first)
    return found


def _by_matrices(step: Step, x: Value, matrices: Sequence[Array]) -> Value:
    """Apply a matrix to each of the last dimensions."""
    value = converted(x, working_dtype(dtype_of(x)))
    rank = len(x.shape)
    for number, matrix in enumerate(matrices):
        dim = rank - len(matrices) + number
        factor = step.constant(matrix, dtype_of(value))
        product = step.builder.dot_general(
            value, factor, lhs_contracting_dimensions=[dim], rhs_contracting_dimensions=[1]
        )
        order = list(range(rank - 1))
        value = product.transpose([*order[:dim], rank - 1, *order[dim:]])
    return value


def _adaptive(rank: int) -> Any:
    def rule(step: Step, x: Value, *_: Any) -> Value:
        sizes, results = x.shape[-rank:], step.shape[-rank:]
        if all(n == 1 for n in results):
            dims = list(range(len(x.shape) - rank, len(x.shape)))
            total = converted(x, working_dtype(dtype_of(x))).sum(dims)
            return (total / step.full(count(sizes), dtype_of(total), total.shape)).reshape(step.shape)
        return _by_matrices(step, x, [_shares(s, n) for s, n in zip(sizes, results, strict=True)])

    return rule


def _adaptive_backward(rank: int) -> Any:
    def rule(step: Step, gradient: Value, x: Value) -> Value:
        sizes, results = x.shape[-rank:], gradient.shape[-rank:]
        if all(n == 1 for n in results):
            wide = converted(gradient, working_dtype(dtype_of(gradient)))
            return broadcast(wide / step.full(count(sizes), dtype_of(wide), wide.shape), x.shape)
        return _by_matrices(step, gradient, [_shares(s, n).T for s, n in zip(sizes, results, strict=True)])

    return rule


for _rank in (2, 3):
    lowers(f"aten._adaptive_avg_pool{_rank}d")(_adaptive(_rank))
    lowers(f"aten._adaptive_avg_pool{_rank}d_backward")(_adaptive_backward(_rank))
