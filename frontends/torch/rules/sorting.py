"""Order."""

from __future__ import annotations

from typing import Any

from ...builder.builder import Value
from ..api import torch
from ..dtypes import converted, dtype_of
from ..registry import lowers
from ..step import Step, count, dim_of


def ordered(step: Step, x: Value, dim: int, descending: bool) -> tuple[Value, Value]:
    """The elements in order along a dimension and their places; stable, NaN is the largest."""
    if not x.shape or not count(x.shape):
        return x, step.full(0, torch.int64, x.shape)
    keys = converted(x, torch.uint8) if dtype_of(x) == torch.bool else x

    def before(x: Value, y: Value, *_: Value) -> Value:
        return y.precedes(x) if descending else x.precedes(y)

    found, places = step.builder.sort([keys, step.iota(dim, x.shape)], dimension=dim, is_stable=True, comparator=before)
    return converted(found, dtype_of(x)), places


@lowers("aten.sort aten.sort.stable")
def sort(step: Step, x: Value, dim: int = -1, descending: bool = False, *, stable: Any = None) -> tuple[Value, Value]:
    return ordered(step, x, dim_of(dim, len(x.shape)), bool(descending))


def _firsts(step: Step, x: Value, k: int, dim: int, largest: bool) -> tuple[Value, Value]:
    """The first `k` elements in order along a dimension, and their places; NaN is the largest."""
    dtype = dtype_of(x)
    if not count(x.shape) or 4 * k > x.shape[dim]:
        return _cut(ordered(step, x, dim, largest), dim, 0, k)
    order = [one for one in range(len(x.shape)) if one != dim] + [dim]
    keys = (converted(x, torch.uint8) if dtype == torch.bool else x).transpose(order)
    if dtype.is_floating_point:
        # `top_k` has NaNs with a sign last.
        keys = keys.compare("EQ", keys).select(keys, float("nan"))
    turned = keys if largest else -keys if dtype.is_floating_point else ~keys
    values, places = step.builder.top_k(turned, k=k)
    values = values if largest else -values if dtype.is_floating_point else ~values
    back = [order.index(one) for one in range(len(order))]
    return converted(values.transpose(back), dtype), converted(places.transpose(back), torch.int64)


def _cut(found: tuple[Value, Value], dim: int, start: int, limit: int) -> tuple[Value, Value]:
    values, places = found
    return values.part(dim, start, limit), places.part(dim, start, limit)


@lowers("aten.topk")
def topk(step: Step, x: Value, k: int, dim: int = -1, largest: bool = True, *_: Any, **__: Any) -> tuple[Value, ...]:
    if not x.shape:
        return x.reshape(step.shape_of(0)), step.full(0, torch.int64, step.shape_of(1))
    return _firsts(step, x, k, dim_of(dim, len(x.shape)), largest)


@lowers("aten.kthvalue")
def kth_value(step: Step, x: Value, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Value, ...]:
    if not x.shape:
        return x, step.full(0, torch.int64)
    along = dim_of(dim, len(x.shape))
    size = x.shape[along]
    # The k-th least is the (n - k + 1)-th greatest.
    smallest = 2 * k <= size
    at = k if smallest else size - k + 1
    found = _cut(_firsts(step, x, at, along, not smallest), along, at - 1, at)
    return tuple(one.reshape(step.shape_of(0)) for one in found)
