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


@lowers("aten.topk")
def topk(step: Step, x: Value, k: int, dim: int = -1, largest: bool = True, *_: Any, **__: Any) -> tuple[Value, ...]:
    if not x.shape:
        return x.reshape(step.shape_of(0)), step.full(0, torch.int64, step.shape_of(1))
    along = dim_of(dim, len(x.shape))
    found = ordered(step, x, along, largest)
    return tuple(one.part(along, 0, k) for one in found)


@lowers("aten.kthvalue")
def kth_value(step: Step, x: Value, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Value, ...]:
    if not x.shape:
        return x, step.full(0, torch.int64)
    along = dim_of(dim, len(x.shape))
    found = ordered(step, x, along, False)
    return tuple(one.part(along, k - 1, k).reshape(step.shape_of(0)) for one in found)
