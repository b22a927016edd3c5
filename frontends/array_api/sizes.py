"""
Functions whose results have as many elements as the arrays' values say.

On computed arrays NumPy finds that out. In a compiled function `size=` states it: what is missing is filled, and what
is too much is left out.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .functions import FUNCTIONS, applied


class UniqueAll(NamedTuple):
    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    values: Any
    inverse_indices: Any


def _places(mask: Any, size: int, fill: Any) -> Any:
    """The first `size` places of a flat mask where it holds, then `fill`."""
    last = max(mask.shape[0] - 1, 0)
    order = np.argsort(np.logical_not(mask), stable=True)
    numbers = np.arange(size)
    found = np.take(order, np.minimum(numbers, last)) if mask.shape[0] else np.zeros_like(order, shape=(size,))
    return np.where(numbers < np.count_nonzero(mask), found, fill)


def _nonzero(x: Any, size: int, fill_value: int) -> tuple[Any, ...]:
    flat = np.reshape(x, (-1,)) != 0
    places = _places(flat, size, -1)
    found: list[Any] = []
    for dim, length in enumerate(x.shape):
        index = places // max(math.prod(x.shape[dim + 1 :]), 1) % max(length, 1)
        found.append(np.where(places < 0, fill_value, index))
    return tuple(found)


def _unique(x: Any, size: int, fill_value: Any) -> UniqueAll:
    """Equal elements follow each other in order; every NaN is one of its own."""
    flat = np.reshape(x, (-1,))
    count = flat.shape[0]
    if not count:
        none = np.zeros_like(flat, shape=(size,), dtype=np.int64)
        values = np.full_like(flat, 0 if fill_value is None else fill_value, shape=(size,))
        return UniqueAll(values, none, np.zeros_like(flat, shape=x.shape, dtype=np.int64), none)
    order = np.argsort(flat, stable=True)
    ordered = np.take(flat, order)
    first = np.concat([np.ones_like(ordered[:1], dtype=np.bool_), ordered[1:] != ordered[:-1]])
    edges = _places(first, size + 1, count)
    places = edges[:-1]
    there = places < count
    values = np.take(ordered, np.minimum(places, count - 1))
    rest = ordered[0] if fill_value is None else np.full_like(ordered[0], fill_value)
    values = np.where(there, values, rest)
    indices = np.where(there, np.take(order, np.minimum(places, count - 1)), 0)
    ranks = np.cumulative_sum(np.astype(first, np.int64)) - 1
    inverse = np.take(ranks, np.argsort(order, stable=True))
    return UniqueAll(values, indices, np.reshape(inverse, x.shape), edges[1:] - places)


def _sized(function: Callable[..., Any]) -> Callable[..., Any]:
    FUNCTIONS[function.__name__] = function
    return function


@_sized
def nonzero(x: Any, /, *, size: int | None = None, fill_value: int = 0) -> tuple[Any, ...]:
    """
    The indices of the elements that are not zero, an array for each dimension.

    `size` is the number of indices, which a compiled function must know; `fill_value` takes the place of those that are
    missing.
    """
    return applied(np.nonzero, (x,), {}) if size is None else applied(_nonzero, (x, size, fill_value), {})


@_sized
def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """
    The different elements in order, the first place of each in the flat array, for each element the place of its value
    among them, and how often each is there.

    `size` is the number of different elements, which a compiled function must know; `fill_value`, or the least
    element, takes the place of those that are missing, and their number is 0.
    """
    return applied(np.unique_all, (x,), {}) if size is None else applied(_unique, (x, size, fill_value), {})


@_sized
def unique_counts(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The different elements in order, and how often each is there; as `unique_all`."""
    if size is None:
        return applied(np.unique_counts, (x,), {})
    found = unique_all(x, size=size, fill_value=fill_value)
    return UniqueCounts(found.values, found.counts)


@_sized
def unique_inverse(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The different elements in order, and for each element the place of its value among them; as `unique_all`."""
    if size is None:
        return applied(np.unique_inverse, (x,), {})
    found = unique_all(x, size=size, fill_value=fill_value)
    return UniqueInverse(found.values, found.inverse_indices)


@_sized
def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The different elements in order; as `unique_all`."""
    if size is None:
        return applied(np.unique, (x,), {"equal_nan": False})
    return unique_all(x, size=size, fill_value=fill_value).values
