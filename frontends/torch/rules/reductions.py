"""Folds of dimensions, and the places of extremes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...builder.builder import Value
from ..api import torch
from ..dtypes import Unlowered, converted, dtype_of, element_of_dtype, highest, lowest, parts, real_dtype, working_dtype
from ..registry import lowers
from ..step import Step, broadcast, count, dim_of, dims_of, keep_dims

Combine = Callable[[Value, Value], Value]


def folded(step: Step, x: Value, dims: list[int], start: Any, body: Combine) -> Value:
    """A fold of dimensions, beginning with a number."""
    if not dims:
        return x
    return step.builder.reduce(x, step.full(start, dtype_of(x)), dimensions=dims, body=body)


def _shaped(step: Step, x: Value) -> Value:
    return x.reshape(step.shape)


def summed(step: Step, x: Value, dims: list[int]) -> Value:
    """The sum along dimensions."""
    return folded(step, x, dims, 0, lambda a, b: a + b)


@lowers("aten.sum.dim_IntList aten.sum prims.sum")
def sum_(step: Step, x: Value, dims: Any = None, *_: Any, **__: Any) -> Value:
    value = converted(x, working_dtype(step.dtype))
    return _shaped(step, summed(step, value, dims_of(dims, len(x.shape))))


@lowers("aten.mean.dim aten.mean")
def mean(step: Step, x: Value, dims: Any = None, *_: Any, **__: Any) -> Value:
    axes = dims_of(dims, len(x.shape))
    value = converted(x, working_dtype(step.dtype))
    total = summed(step, value, axes)
    number = count([x.shape[dim] for dim in axes])
    return _shaped(step, total / step.full(number, dtype_of(value), total.shape))


@lowers("aten.prod aten.prod.dim_int prims.prod")
def prod(step: Step, x: Value, dims: Any = None, *_: Any, **__: Any) -> Value:
    value = converted(x, working_dtype(step.dtype))
    return _shaped(step, folded(step, value, dims_of(dims, len(x.shape)), 1, lambda a, b: a * b))


def extreme(step: Step, x: Value, dims: list[int], largest: bool) -> Value:
    """The largest or the smallest along dimensions; NaN wins."""
    dtype = dtype_of(x)
    if largest:
        return folded(step, x, dims, lowest(dtype), lambda a, b: a.maximum(b))
    return folded(step, x, dims, highest(dtype), lambda a, b: a.minimum(b))


@lowers("aten.amax aten.max prims.amax")
def amax(step: Step, x: Value, dims: Any = None, *_: Any, **__: Any) -> Value:
    return _shaped(step, extreme(step, x, dims_of(dims, len(x.shape)), True))


@lowers("aten.amin aten.min prims.amin")
def amin(step: Step, x: Value, dims: Any = None, *_: Any, **__: Any) -> Value:
    return _shaped(step, extreme(step, x, dims_of(dims, len(x.shape)), False))


@lowers("aten.any aten.any.dim aten.any.dims")
def any_(step: Step, x: Value, dims: Any = None, *_: Any, **__: Any) -> Value:
    value = converted(x, torch.bool)
    axes = dims_of(dims, len(x.shape)) if dims is None or isinstance(dims, int) else _stated(dims, len(x.shape))
    return converted(_shaped(step, folded(step, value, axes, False, lambda a, b: a | b)), step.dtype)


@lowers("aten.all aten.all.dim aten.all.dims")
def all_(step: Step, x: Value, dims: Any = None, *_: Any, **__: Any) -> Value:
    value = converted(x, torch.bool)
    axes = dims_of(dims, len(x.shape)) if dims is None or isinstance(dims, int) else _stated(dims, len(x.shape))
    return converted(_shaped(step, folded(step, value, axes, True, lambda a, b: a & b)), step.dtype)


def _stated(dims: Any, rank: int) -> list[int]:
    """Dimensions of which an empty list names none."""
    return sorted(dim_of(one, rank) for one in dims) if rank else []


@lowers("aten.hash_tensor")
def hash_tensor(step: Step, x: Value, dims: Any = (), *, keepdim: bool = False, mode: int = 0) -> Value:
    """The bits of all elements together, those of f64 or of i64."""
    dtype = dtype_of(x)
    if dtype.is_complex:
        raise Unlowered("bits of complex numbers")
    wide = converted(x, torch.float64 if dtype.is_floating_point else torch.int64)
    bits = wide.bits_as(element_of_dtype(torch.uint64))
    return _shaped(step, folded(step, bits, dims_of(dims, len(x.shape)), 0, lambda a, b: a ^ b))


@lowers("prims.xor_sum")
def xor_sum(step: Step, x: Value, dims: Any, *_: Any, **__: Any) -> Value:
    return _shaped(step, folded(step, x, dims_of(dims, len(x.shape)), 0, lambda a, b: a ^ b))


# Variance.


def variance(step: Step, x: Value, dims: list[int], correction: Any) -> tuple[Value, Value]:
    """The variance and the mean along dimensions, which keep size 1. In two passes, as the difference cancels."""
    dtype = working_dtype(dtype_of(x))
    value = converted(x, dtype)
    number = count([x.shape[dim] for dim in dims])
    total = keep_dims(summed(step, value, dims), x.shape, dims)
    centre = total / step.full(number, dtype, total.shape)
    away = value - broadcast(centre, value.shape)
    if dtype.is_complex:
        real, imaginary = parts(away)
        squares = real * real + imaginary * imaginary
    else:
        squares = away * away
    around = keep_dims(summed(step, squares, dims), x.shape, dims)
    divisor = max(0.0, number - float(1 if correction is None else correction))
    return around / step.full(divisor, real_dtype(dtype), around.shape), centre


@lowers("aten.var.correction aten.var.dim aten.var prims.var")
def var(
    step: Step, x: Value, dims: Any = None, unbiased: Any = None, *_: Any, correction: Any = None, **__: Any
) -> Value:
    return _shaped(
        step, variance(step, x, dims_of(_dims(dims), len(x.shape)), _correction(dims, unbiased, correction))[0]
    )


def _dims(dims: Any) -> Any:
    return None if isinstance(dims, bool) else dims


def _correction(dims: Any, unbiased: Any, correction: Any) -> Any:
    """The older overloads say whether the divisor is n - 1."""
    if isinstance(dims, bool):
        unbiased = dims
    if isinstance(unbiased, bool):
        return int(unbiased)
    return unbiased if unbiased is not None else correction


@lowers("aten.var_mean.correction")
def var_mean(step: Step, x: Value, dims: Any = None, *_: Any, correction: Any = None, **__: Any) -> tuple[Value, ...]:
    found = variance(step, x, dims_of(dims, len(x.shape)), correction)
    return tuple(one.reshape(step.shape_of(number)) for number, one in enumerate(found))


# The places of extremes.


def placed(step: Step, x: Value, dim: int, largest: bool) -> tuple[Value, Value]:
    """The extreme along a dimension and its first place; a NaN is one. In two folds, whose loops vectorize."""
    value = converted(x, torch.uint8) if dtype_of(x) == torch.bool else x
    best = extreme(step, value, [dim], largest)
    wide = [one for one in range(len(x.shape)) if one != dim]
    there = value.equals(best.broadcast(x.shape, wide))
    if dtype_of(value).is_floating_point:
        there = there | value.is_nan()
    last = torch.iinfo(torch.int64).max
    places = there.select(step.iota(dim, x.shape), step.full(last, torch.int64, x.shape))
    return converted(best, dtype_of(x)), folded(step, places, [dim], last, lambda a, b: a.minimum(b))


def _place(largest: bool) -> Callable[..., Value]:
    def rule(step: Step, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
        if not x.shape:
            return step.full(0, torch.int64)
        flat = x.reshape((count(x.shape),)) if dim is None else x
        return placed(step, flat, 0 if dim is None else dim_of(dim, len(x.shape)), largest)[1].reshape(step.shape)

    return rule


lowers("aten.argmax")(_place(True))
lowers("aten.argmin")(_place(False))


def _with_place(largest: bool) -> Callable[..., tuple[Value, Value]]:
    def rule(step: Step, x: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
        if not x.shape:
            return x, step.full(0, torch.int64)
        best, place = placed(step, x, dim_of(dim, len(x.shape)), largest)
        return best.reshape(step.shape_of(0)), place.reshape(step.shape_of(1))

    return rule


lowers("aten.max.dim")(_with_place(True))
lowers("aten.min.dim")(_with_place(False))


@lowers("aten.nonzero aten.masked_select aten.unique_dim aten._unique2 aten.unique_consecutive")
def sized_by_elements(step: Step, x: Value, *_: Any, **__: Any) -> Value:
    raise Unlowered("the size of the result depends on the elements")
