"""Cumulative folds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...builder.builder import Value
from ..api import torch
from ..dtypes import converted, dtype_of, highest, lowest, working_dtype
from ..registry import lowers
from ..step import Step, count, dim_of

_BODIES: dict[str, Callable[[Value, Value], Value]] = {
    "sum": lambda a, b: a + b,
    "prod": lambda a, b: a * b,
    "max": lambda a, b: a.maximum(b),
    "min": lambda a, b: a.minimum(b),
}


def cumulated(step: Step, x: Value, dim: int, how: str) -> Value:
    """The folds of the first 1, 2, .. elements along a dimension."""
    if not x.shape or not count(x.shape):
        return x
    dtype = dtype_of(x)
    start: Any = {"sum": 0, "prod": 1}.get(how)
    if start is None:
        start = lowest(dtype) if how == "max" else highest(dtype)
    size = x.shape[dim]
    return step.builder.reduce_window(
        x,
        step.full(start, dtype),
        window_dimensions=[size if one == dim else 1 for one in range(len(x.shape))],
        padding=[[size - 1 if one == dim else 0, 0] for one in range(len(x.shape))],
        body=_BODIES[how],
    )


def _cumulative(how: str) -> Callable[..., Value]:
    def rule(step: Step, x: Value, dim: int, *_: Any, **__: Any) -> Value:
        value = converted(x, working_dtype(step.dtype))
        return cumulated(step, value, dim_of(dim, len(x.shape)), how)

    return rule


lowers("aten.cumsum")(_cumulative("sum"))
lowers("aten.cumprod")(_cumulative("prod"))


def _with_places(largest: bool) -> Callable[..., tuple[Value, Value]]:
    """The last place wins; once there was a NaN, every later place with one."""

    def rule(step: Step, x: Value, dim: int) -> tuple[Value, Value]:
        if not x.shape or not count(x.shape):
            return x, step.full(0, torch.int64, x.shape)
        along = dim_of(dim, len(x.shape))
        value = converted(x, torch.uint8) if dtype_of(x) == torch.bool else x
        best = cumulated(step, value, along, "max" if largest else "min")
        here = value.equals(best)
        if dtype_of(value).is_floating_point:
            here = here | value.is_nan()
        narrow = torch.int32 if x.shape[along] < 1 << 31 else torch.int64
        places = here.select(step.iota(along, x.shape, narrow), step.full(0, narrow, x.shape))
        return converted(best, dtype_of(x)), converted(cumulated(step, places, along, "max"), torch.int64)

    return rule


lowers("aten.cummax")(_with_places(True))
lowers("aten.cummin")(_with_places(False))


@lowers("aten.logcumsumexp")
def log_cumulated(step: Step, x: Value, dim: int) -> Value:
    """A loop: the sum so far is kept as a logarithm."""
    if not x.shape or not count(x.shape):
        return x
    value = converted(x, working_dtype(dtype_of(x)))
    along = dim_of(dim, len(x.shape))
    order = [along, *[one for one in range(len(x.shape)) if one != along]]
    moved = value.transpose(order)
    start = step.full(float("-inf"), dtype_of(value), moved.shape[1:])

    def body(carries: list[Value], elements: list[Value]) -> tuple[list[Value], list[Value]]:
        (before,), (new,) = carries, elements
        most, least = before.maximum(new), before.minimum(new)
        total = most + (least - most).exponential().log_plus_one()
        # Equal infinities have no difference.
        total = (least.equals(most) & most.is_infinite()).select(most, total)
        return [total], [total]

    _, stacks = step.builder.scan(body, [start], [moved])
    return stacks[0].transpose([order.index(one) for one in range(len(order))])
