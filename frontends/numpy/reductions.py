"""Reductions and cumulative functions."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...hlo_dialect.ops import elementwise_binary as binary
from ...hlo_dialect.ops.elementwise import ElementwiseBinaryOp
from ..builder.builder import Value
from .arrays import (
    FUNCTIONS,
    TracedArray,
    astype,
    axes_of,
    axis_of,
    broadcast_to,
    builder_of,
    common_shape,
    implements,
    lift,
    scalar_type,
)
from .errors import TraceError
from .ufuncs import METHODS_OF_UFUNCS, call_ufunc

NO_VALUE: Any = np._NoValue  # pyright: ignore
"""NumPy's mark of an argument that is not given."""

_BOOLEAN = np.dtype(np.bool_)


def lowest(dtype: np.dtype[Any]) -> Any:
    """The identity of the maximum."""
    if dtype == _BOOLEAN:
        return False
    return -math.inf if dtype.kind == "f" else np.iinfo(dtype).min


def highest(dtype: np.dtype[Any]) -> Any:
    """The identity of the minimum."""
    if dtype == _BOOLEAN:
        return True
    return math.inf if dtype.kind == "f" else np.iinfo(dtype).max


_IDENTITIES: dict[np.ufunc, Callable[[np.dtype[Any]], Any]] = {
    np.add: lambda dtype: dtype.type(0).item(),
    np.multiply: lambda dtype: dtype.type(1).item(),
    np.maximum: lowest,
    np.minimum: highest,
    np.logical_and: lambda dtype: True,
    np.logical_or: lambda dtype: False,
    np.logical_xor: lambda dtype: False,
    np.bitwise_and: lambda dtype: True if dtype == _BOOLEAN else -1 if dtype.kind == "i" else np.iinfo(dtype).max,
    np.bitwise_or: lambda dtype: dtype.type(0).item(),
    np.bitwise_xor: lambda dtype: dtype.type(0).item(),
}
_COMBINERS: dict[np.ufunc, type[ElementwiseBinaryOp]] = {
    np.add: binary.AddOp,
    np.multiply: binary.MultiplyOp,
    np.maximum: binary.MaximumOp,
    np.minimum: binary.MinimumOp,
    np.logical_and: binary.AndOp,
    np.logical_or: binary.OrOp,
    np.logical_xor: binary.XorOp,
    np.bitwise_and: binary.AndOp,
    np.bitwise_or: binary.OrOp,
    np.bitwise_xor: binary.XorOp,
}


def fold(array: TracedArray, ufunc: np.ufunc, axes: tuple[int, ...]) -> TracedArray:
    """Fold axes with a ufunc of one dtype, beginning from its identity."""
    dtype = array.dtype
    begin = array.builder.constant(_IDENTITIES[ufunc](dtype), scalar_type(dtype))
    return array.like(array.value.reduce(_COMBINERS[ufunc], begin, axes))


def _accumulator(ufunc: np.ufunc, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of a sum or product: small integers and booleans are added as the platform's integers."""
    if ufunc in (np.add, np.multiply) and dtype.kind in "biu" and dtype.itemsize < np.dtype(int).itemsize:
        return np.dtype(np.uint if dtype.kind == "u" else int)
    if ufunc in (np.logical_and, np.logical_or, np.logical_xor):
        return _BOOLEAN
    return dtype


def reduced(
    ufunc: np.ufunc,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> Any:
    """`ufunc.reduce`; axis None is all axes, as in np.sum."""
    if ufunc not in _COMBINERS:
        raise TraceError(f"np.{ufunc.__name__}.reduce is not compiled")
    array = lift(builder_of(a, where), a)
    axes = axes_of(axis, array.ndim)
    array = astype(array, np.dtype(dtype) if dtype is not None else _accumulator(ufunc, array.dtype))
    empty = any(array.shape[one] == 0 for one in axes)
    if ufunc in (np.maximum, np.minimum) and (empty or where is not True) and initial in (NO_VALUE, None):
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    if where is not True:
        identity = array.like(array.value.like(_IDENTITIES[ufunc](array.dtype)))
        array = choose(where, array, identity)
    if ufunc in (np.maximum, np.minimum) and array.dtype.kind == "c":
        raise TraceError("complex numbers are not ordered", "reduce their real parts or absolute values")
    result = fold(array, ufunc, axes)
    if initial not in (NO_VALUE, None):
        result = astype(call_ufunc(ufunc, result, initial), result.dtype)
    if keepdims not in (False, NO_VALUE):
        result = keep(result, array.shape, axes)
    if out is not None:
        return out[0].write(result) if isinstance(out, tuple) else out.write(result)
    return result


def keep(result: TracedArray, shape: tuple[int, ...], axes: tuple[int, ...]) -> TracedArray:
    """The reduced axes with size 1."""
    return result.like(result.value.reshape([1 if dim in axes else size for dim, size in enumerate(shape)]))


def choose(where: Any, x: TracedArray, y: TracedArray) -> TracedArray:
    """x where a condition holds, else y, of one dtype."""
    mask = astype(lift(x.builder, where), np.bool_)
    shape = common_shape(mask.shape, x.shape, y.shape)
    chosen, first, second = (broadcast_to(one, shape).value for one in (mask, x, y))
    return x.like(chosen.select(first, second))


def _reduce_first(ufunc: np.ufunc, a: Any, axis: Any = 0, *rest: Any, **stated: Any) -> Any:
    return reduced(ufunc, a, axis, *rest, **stated)


METHODS_OF_UFUNCS["reduce"] = _reduce_first


def _register(ufunc: np.ufunc, method: str, *functions: Any, dtyped: bool) -> None:
    def with_dtype(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, **stated: Any) -> Any:
        return reduced(ufunc, a, axis, dtype, out, **stated)

    def without(a: Any, axis: Any = None, out: Any = None, **stated: Any) -> Any:
        return reduced(ufunc, a, axis, None, out, **stated)

    implements(*functions, method=method)(with_dtype if dtyped else without)


_register(np.add, "sum", np.sum, dtyped=True)
_register(np.multiply, "prod", np.prod, dtyped=True)
_register(np.maximum, "max", np.max, np.amax, dtyped=False)
_register(np.minimum, "min", np.min, np.amin, dtyped=False)
_register(np.logical_and, "all", np.all, dtyped=False)
_register(np.logical_or, "any", np.any, dtyped=False)


def _count(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return math.prod(shape[one] for one in axes)


@implements(np.mean, method="mean")
def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    array = lift(builder_of(a, where), a)
    wanted = np.dtype(dtype) if dtype is not None else array.dtype if array.dtype.kind in "fc" else np.dtype(float)
    # NumPy sums half precision in single.
    wide = np.dtype(np.float32) if wanted == np.float16 else wanted
    total = reduced(np.add, array, axis, wide, keepdims=keepdims, where=where)
    if where is True:
        number: Any = _count(array.shape, axes_of(axis, array.ndim))
    else:
        number = reduced(np.add, broadcast_to(lift(array.builder, where), array.shape), axis, keepdims=keepdims)
    result = astype(total / number, wanted)
    return result if out is None else out.write(result)


@implements(np.var, method="var")
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = NO_VALUE,
    correction: Any = NO_VALUE,
) -> Any:
    array = lift(builder_of(a, where), a)
    delta = ddof if correction is NO_VALUE else correction
    wanted = np.dtype(dtype) if dtype is not None else array.dtype if array.dtype.kind in "fc" else np.dtype(float)
    wide = astype(array, np.dtype(np.float32) if wanted == np.float16 else wanted)
    centre = _mean(wide, axis, keepdims=True, where=where) if mean is NO_VALUE else mean
    from_mean = wide - centre
    squares = from_mean * from_mean if array.dtype.kind != "c" else call_ufunc(np.square, abs(from_mean))
    total = reduced(np.add, squares, axis, keepdims=keepdims, where=where)
    if where is True:
        number: Any = max(_count(array.shape, axes_of(axis, array.ndim)) - delta, 0)
    else:
        counted = reduced(np.add, broadcast_to(lift(array.builder, where), array.shape), axis, keepdims=keepdims)
        number = call_ufunc(np.maximum, counted - delta, 0)
    real = np.dtype(f"f{wanted.itemsize // 2}") if wanted.kind == "c" else wanted
    result = astype(total / number, real)
    return result if out is None else out.write(result)


_mean = mean


@implements(np.std, method="std")
def std(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, **rest: Any
) -> Any:
    result = call_ufunc(np.sqrt, var(a, axis, dtype, None, ddof, keepdims, **rest))
    return result if out is None else out.write(result)


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return reduced(np.add, a != 0, axis, int, keepdims=keepdims)


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return call_ufunc(
        np.subtract, reduced(np.maximum, a, axis, keepdims=keepdims), reduced(np.minimum, a, axis, keepdims=keepdims)
    )


def _weighted(a: Any, axis: Any, weights: Any) -> tuple[Any, Any]:
    array, factors = lift(builder_of(a, weights), a), lift(builder_of(a, weights), weights)
    if factors.shape != array.shape and factors.ndim == 1 and axis is not None:
        factors = factors.reshape([-1 if dim == axis_of(axis, array.ndim) else 1 for dim in range(array.ndim)])
    return array, factors


@implements(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False) -> Any:
    if weights is None:
        result = mean(a, axis, keepdims=keepdims)
        total: Any = result.like(result.value.like(float(_count(a.shape, axes_of(axis, a.ndim)))))
    else:
        array, factors = _weighted(a, axis, weights)
        product = array * factors
        total = reduced(np.add, broadcast_to(astype(factors, product.dtype), product.shape), axis, keepdims=keepdims)
        result = reduced(np.add, product, axis, keepdims=keepdims) / total
    return (result, total) if returned else result


# Without NaN.


def _ignoring_nan(ufunc: np.ufunc, value: Callable[[np.dtype[Any]], Any]) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, *rest: Any, **stated: Any) -> Any:
        if a.dtype.kind not in "fc":
            return reduced(ufunc, a, axis, *rest, **stated)
        clean = choose(call_ufunc(np.isnan, a), a.like(a.value.like(value(a.dtype))), a)
        return reduced(ufunc, clean, axis, *rest, **stated)

    return function


implements(np.nansum)(_ignoring_nan(np.add, lambda dtype: 0.0))
implements(np.nanprod)(_ignoring_nan(np.multiply, lambda dtype: 1.0))


def _nan_extreme(ufunc: np.ufunc, identity: Callable[[np.dtype[Any]], Any]) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
        if a.dtype.kind != "f":
            return reduced(ufunc, a, axis, keepdims=keepdims)
        missing = call_ufunc(np.isnan, a)
        clean = choose(missing, a.like(a.value.like(identity(a.dtype))), a)
        result = reduced(ufunc, clean, axis, keepdims=keepdims)
        nothing = reduced(np.logical_and, missing, axis, keepdims=keepdims)
        return choose(nothing, result.like(result.value.like(math.nan)), result)

    return function


implements(np.nanmax)(_nan_extreme(np.maximum, lowest))
implements(np.nanmin)(_nan_extreme(np.minimum, highest))


@implements(np.nanmean)
def nanmean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return mean(a, axis, dtype, out, keepdims, where=call_ufunc(np.logical_not, call_ufunc(np.isnan, a)))


def _ordinary_where(a: Any, axis: Any, keepdims: Any, ddof: Any) -> Any:
    there = call_ufunc(np.logical_not, call_ufunc(np.isnan, a))
    clean = choose(there, a, a.like(a.value.like(0.0)))
    return var(clean, axis, None, None, ddof, keepdims, where=there)


@implements(np.nanvar)
def nanvar(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False) -> Any:
    return _ordinary_where(a, axis, keepdims, ddof)


@implements(np.nanstd)
def nanstd(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False) -> Any:
    return call_ufunc(np.sqrt, _ordinary_where(a, axis, keepdims, ddof))


# The place of an extreme.


_BODIES: dict[str, Callable[[Value, Value], Value]] = {
    "maximum": lambda x, y: x.maximum(y),
    "minimum": lambda x, y: x.minimum(y),
}


def _place(extreme: str) -> Callable[..., Any]:
    """The first place of an extreme; a NaN is one."""

    def function(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        array = a if axis is not None else a.reshape(-1)
        dim = 0 if axis is None else axis_of(axis, array.ndim)
        if array.shape[dim] == 0:
            raise ValueError(f"attempt to get arg{extreme[:3]} of an empty sequence")
        b = array.builder
        plain = astype(array, np.uint8) if array.dtype == _BOOLEAN else array
        places = b.iota(iota_dimension=dim, result_type=("i64", plain.shape))

        # In two reductions, whose loops vectorize, and not in one of pairs.
        start = lowest(plain.dtype) if extreme == "maximum" else highest(plain.dtype)
        best = b.reduce(
            [plain.value], [b.constant(start, scalar_type(plain.dtype))], dimensions=[dim], body=_BODIES[extreme]
        )
        kept = [1 if d == dim else size for d, size in enumerate(plain.shape)]
        there = plain.value.compare("EQ", broadcast_to(plain.like(best).reshape(kept), plain.shape).value)
        if plain.dtype.kind == "f":
            there = b.or_(there, plain.value.compare("NE", plain.value))
        last = np.iinfo(np.int64).max
        chosen = there.select(places, places.like(last))
        found = b.reduce([chosen], [b.constant(last, "i64")], dimensions=[dim], body=_BODIES["minimum"])
        result = array.like(found)
        if keepdims:
            shape = a.shape
            result = result.reshape(
                [1] * len(shape) if axis is None else [1 if d == dim else n for d, n in enumerate(shape)]
            )
        return result

    return function


implements(np.argmax, method="argmax")(_place("maximum"))
implements(np.argmin, method="argmin")(_place("minimum"))


# Cumulative functions.


def accumulated(ufunc: np.ufunc, array: TracedArray, axis: int) -> TracedArray:
    """The folds of the first 1, 2, .. elements along an axis."""
    b, size = array.builder, array.shape[axis]
    if size == 0 or array.size == 0:
        return array
    begin = b.constant(_IDENTITIES[ufunc](array.dtype), scalar_type(array.dtype))
    window = [size if dim == axis else 1 for dim in range(array.ndim)]
    padding = [[size - 1 if dim == axis else 0, 0] for dim in range(array.ndim)]
    combiner = partial(b.operation, _COMBINERS[ufunc].name)
    return array.like(
        b.reduce_window(
            array.value,
            begin,
            window_dimensions=window,
            padding=padding,
            body=combiner,
        )
    )


def _accumulate(ufunc: np.ufunc, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    if ufunc not in _COMBINERS:
        raise TraceError(f"np.{ufunc.__name__}.accumulate is not compiled")
    array = astype(a, np.dtype(dtype) if dtype is not None else _accumulator(ufunc, a.dtype))
    result = accumulated(ufunc, array, axis_of(axis, array.ndim))
    return result if out is None else out.write(result)


METHODS_OF_UFUNCS["accumulate"] = _accumulate


def _reduce_parts(
    ufunc: np.ufunc, a: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> TracedArray:
    """`ufunc.reduceat` for constant indices; a part that ends before it begins is its first element."""
    if isinstance(indices, TracedArray):
        raise TraceError(f"the indices of np.{ufunc.__name__}.reduceat must be constants", "np.bincount(groups, a)")
    dim = axis_of(axis, a.ndim)
    starts = np.asarray(indices).tolist()
    size, before = a.shape[dim], (slice(None),) * dim
    if any(not 0 <= start < size for start in starts):
        raise IndexError(f"index out of bounds for np.{ufunc.__name__}.reduceat on an axis of size {size}")
    ends = [*starts[1:], size]
    parts = [
        reduced(ufunc, a[(*before, slice(start, max(end, start + 1)))], dim, dtype, keepdims=True)
        for start, end in zip(starts, ends, strict=True)
    ]
    result = FUNCTIONS[np.concatenate](parts, dim)
    return result if out is None else out.write(result)


METHODS_OF_UFUNCS["reduceat"] = _reduce_parts


def _cumulative(ufunc: np.ufunc) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return _accumulate(ufunc, a.reshape(-1) if axis is None else a, 0 if axis is None else axis, dtype, out)

    return function


implements(np.cumsum, method="cumsum")(_cumulative(np.add))
implements(np.cumprod, method="cumprod")(_cumulative(np.multiply))


def _cumulative_standard(ufunc: np.ufunc) -> Callable[..., Any]:
    def function(
        x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
    ) -> Any:
        if axis is None and x.ndim != 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        dim = axis_of(0 if axis is None else axis, x.ndim)
        result = _accumulate(ufunc, x, dim, dtype)
        if include_initial:
            shape = tuple(1 if one == dim else size for one, size in enumerate(result.shape))
            first = np.full(shape, _IDENTITIES[ufunc](result.dtype), result.dtype)
            result = FUNCTIONS[np.concatenate]([lift(result.builder, first), result], axis=dim)
        return result

    return function


implements(np.cumulative_sum)(_cumulative_standard(np.add))
implements(np.cumulative_prod)(_cumulative_standard(np.multiply))
