"""Places in sorted rows, by bisection of all values together."""

from __future__ import annotations

from typing import Any

from ...builder.builder import Value
from ..api import torch
from ..dtypes import converted, dtype_of
from ..registry import lowers
from ..step import Step, broadcast, count
from .indexing import linear_places, take_flat


def _places(step: Step, rows: Value, values: Value, right: bool) -> Value:
    """For each value (.., m) the number of elements of its row (.., n) that are below it, or not above it."""
    shape, size = values.shape, rows.shape[-1]
    is_float = dtype_of(rows).is_floating_point
    starts = step.full(0, torch.int64, shape)
    for dim in range(len(rows.shape) - 1):
        starts = starts + step.iota(dim, shape) * count(rows.shape[dim + 1 :])
    flat = rows.reshape((count(rows.shape),))
    low, high = step.full(0, torch.int64, shape), step.full(size, torch.int64, shape)
    for _ in range(size.bit_length()):
        middle = (low + high).shift_right_arithmetic(1)
        at = take_flat(step, flat, starts + middle.minimum(size - 1))
        before = at <= values if right else at < values
        if is_float:
            # NaN is the largest.
            before = before | (values.is_nan() if right else values.is_nan() & ~at.is_nan())
        goes_on = low < high
        low, high = (before & goes_on).select(middle + 1, low), (~before & goes_on).select(middle, high)
    return low


def _sorted_by(step: Step, rows: Value, sorter: Value) -> Value:
    """Rows (.., n) in the order that their sorters state."""
    dim = len(rows.shape) - 1
    return take_flat(step, rows.reshape((count(rows.shape),)), linear_places(step, sorter, rows.shape, dim))


@lowers("aten.searchsorted.Tensor aten.searchsorted.Scalar")
def search_sorted(
    step: Step, rows: Value, values: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Value | None = None,
) -> Value:  # fmt: skip
    dtype = step.promoted()
    given = step.value(values, dtype)
    shaped = given.reshape((1,)) if not given.shape else given
    table = converted(rows if sorter is None else _sorted_by(step, rows, sorter), dtype)
    if len(table.shape) == 1 and len(shaped.shape) > 1:
        shaped = shaped.reshape((count(shaped.shape),))
    return _places(step, table, shaped, right or side == "right").reshape(step.shape)


@lowers("aten.bucketize.Tensor aten.bucketize.Scalar")
def bucketize(step: Step, values: Any, boundaries: Value, *, out_int32: bool = False, right: bool = False) -> Value:
    dtype = step.promoted()
    given = broadcast(step.value(values, dtype), step.shape)
    flat = given.reshape((count(step.shape),))
    return _places(step, converted(boundaries, dtype), flat, right).reshape(step.shape)
