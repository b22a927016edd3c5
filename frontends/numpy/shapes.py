"""Functions that move elements: reshaping, joining, splitting, padding."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .arrays import (
    FUNCTIONS,
    METHODS,
    TracedArray,
    astype,
    axes_of,
    axis_of,
    broadcast_to,
    builder_of,
    common_shape,
    constant_index,
    implements,
    lift,
)
from .errors import TraceError
from .reductions import choose
from .ufuncs import call_ufunc
from .views import KINDS, Kind, Layout, linked


def _traced(a: Any) -> TracedArray:
    return lift(builder_of(a), a)


def shape_argument(shape: Any) -> tuple[int, ...]:
    """A shape that must be known while tracing. Raises TraceError."""
    found = shape if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(constant_index(size, "a shape") for size in found)


def _is_column_major(order: Any) -> bool:
    """Whether an order is Fortran's. Arrays of a program are row-major, so that "A" and "K" are "C"."""
    if order not in ("C", "F", "K", "A", None):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return order == "F"


@implements(np.reshape)
def reshape(a: Any, /, shape: Any = None, order: Any = "C", *, newshape: Any = None, copy: Any = None) -> TracedArray:
    array, sizes = _traced(a), list(shape_argument(newshape if shape is None else shape))
    if _is_column_major(order):
        return transpose(reshape(transpose(array), sizes[::-1]))
    if sizes.count(-1) == 1:
        rest = math.prod(size for size in sizes if size != -1)
        sizes[sizes.index(-1)] = array.size // rest if rest else 0
    if math.prod(sizes) != array.size or -1 in sizes:
        raise ValueError(f"cannot reshape array of size {array.size} into shape {tuple(shape_argument(shape))}")
    return linked(array.like(array.value.reshape(sizes)), array, "reshape", sizes)


@implements(np.ravel, method="ravel")
def ravel(a: Any, order: Any = "C") -> TracedArray:
    found = reshape(a, -1, order)
    return found if found.source is None or order == "F" else linked(found, found.source[0], "ravel", None)


def _raveled(layout: Layout, _: Any) -> Layout:
    """NumPy's ravel copies what has gaps, even at equal distances."""
    if not layout.flags.c_contiguous:
        raise ValueError("a copy")
    return layout.reshape(-1)


KINDS["reshape"] = Kind(
    lambda base, sizes: reshape(base, sizes),
    lambda base, new, _: reshape(new, base.shape),
    lambda layout, sizes: np.reshape(layout, sizes, copy=False),
)
KINDS["ravel"] = Kind(lambda base, _: reshape(base, -1), KINDS["reshape"].back, _raveled)
KINDS["flat"] = Kind(lambda base, _: reshape(base, -1), KINDS["reshape"].back, lambda layout, _: layout.reshape(-1))
KINDS["transpose"] = Kind(
    lambda base, order: transpose(base, order),
    lambda base, new, order: transpose(new, np.argsort(order).tolist()),
    lambda layout, order: layout.transpose(order),
)
KINDS["real"] = Kind(
    lambda base, _: real(base),
    lambda base, new, _: base.like(base.builder.complex(new.value, imag(base).value)),
    lambda layout, _: _spread(layout),
)
KINDS["imag"] = Kind(
    lambda base, _: imag(base),
    lambda base, new, _: base.like(base.builder.complex(real(base).value, new.value)),
    lambda layout, _: _spread(layout),
)


def _spread(layout: Layout) -> Layout:
    """Every other number."""
    return np.lib.stride_tricks.as_strided(layout, layout.shape, [2 * stride for stride in layout.strides])


METHODS["reshape"] = lambda a, *shape, order="C", copy=None: reshape(a, shape[0] if len(shape) == 1 else shape, order)
METHODS["flatten"] = ravel
METHODS["copy"] = lambda a, order="C": a.like(a.value)
METHODS["astype"] = lambda a, dtype, order="K", casting="unsafe", subok=True, copy=True: a.like(astype(a, dtype).value)
METHODS["conj"] = METHODS["conjugate"] = lambda a: call_ufunc(np.conjugate, a)


def _fill(a: TracedArray, value: Any) -> None:
    a.write(astype(broadcast_to(lift(a.builder, value), a.shape), a.dtype))


METHODS["fill"] = _fill


def _view(a: TracedArray, dtype: Any = None, type: Any = None) -> TracedArray:
    """The same bits as another type, of the same size."""
    if dtype is None:
        return reshape(a, a.shape)
    wanted = np.dtype(dtype)
    if wanted.itemsize != a.dtype.itemsize:
        raise TraceError(f"a view of {a.dtype} as {wanted} is not compiled: their sizes differ", "x.astype(..)")
    return a.like(a.builder.bitcast_convert(a.value, result_type=wanted))


METHODS["view"] = _view


@implements(np.copy)
def copy(a: Any, order: Any = "K", subok: bool = False) -> TracedArray:
    return a.like(a.value)


@implements(np.astype)
def astype_(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> TracedArray:
    return x.like(astype(x, dtype).value)


@implements(np.transpose, np.permute_dims)
def transpose(a: Any, axes: Any = None) -> TracedArray:
    array = _traced(a)
    order = range(array.ndim)[::-1] if axes is None else [axis_of(axis, array.ndim) for axis in axes]
    if sorted(order) != list(range(array.ndim)):
        raise ValueError("axes don't match array")
    return linked(array.like(array.value.transpose(list(order))), array, "transpose", list(order))


METHODS["transpose"] = lambda a, *axes: transpose(
    a, None if not axes or axes == (None,) else axes[0] if isinstance(axes[0], (tuple, list)) else axes
)


@implements(np.matrix_transpose)
def matrix_transpose(x: Any, /) -> TracedArray:
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return swapaxes(x, -1, -2)


@implements(np.swapaxes, method="swapaxes")
def swapaxes(a: Any, axis1: Any, axis2: Any) -> TracedArray:
    order = list(range(a.ndim))
    first, second = axis_of(axis1, a.ndim), axis_of(axis2, a.ndim)
    order[first], order[second] = second, first
    return transpose(a, order)


@implements(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> TracedArray:
    sources, targets = axes_of(source, a.ndim), axes_of(destination, a.ndim)
    if len(sources) != len(targets):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [dim for dim in range(a.ndim) if dim not in sources]
    for target, origin in sorted(zip(targets, sources, strict=True)):
        order.insert(target, origin)
    return transpose(a, order)


@implements(np.squeeze, method="squeeze")
def squeeze(a: Any, axis: Any = None) -> TracedArray:
    dropped = [dim for dim, size in enumerate(a.shape) if size == 1] if axis is None else axes_of(axis, a.ndim)
    if any(a.shape[dim] != 1 for dim in dropped):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return reshape(a, [size for dim, size in enumerate(a.shape) if dim not in dropped])


@implements(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> TracedArray:
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    new = axes_of(axis, a.ndim + count)
    sizes = iter(a.shape)
    return reshape(a, [1 if dim in new else next(sizes) for dim in range(a.ndim + count)])


def _at_least(rank: int) -> Any:
    def function(*arrays: Any) -> Any:
        found = [widened(lift(builder_of(*arrays), one), rank) for one in arrays]
        return found[0] if len(found) == 1 else tuple(found)

    return function


def widened(array: TracedArray, rank: int) -> TracedArray:
    if array.ndim >= rank:
        return array
    if rank == 3:
        return reshape(array, {0: (1, 1, 1), 1: (1, *array.shape, 1), 2: (*array.shape, 1)}[array.ndim])
    return reshape(array, (*[1] * (rank - array.ndim), *array.shape))


for _rank, _function in ((1, np.atleast_1d), (2, np.atleast_2d), (3, np.atleast_3d)):
    implements(_function)(_at_least(_rank))


@implements(np.broadcast_to)
def broadcast_to_(array: Any, shape: Any, subok: bool = False) -> TracedArray:
    return broadcast_to(_traced(array), shape_argument(shape))


@implements(np.broadcast_arrays)
def broadcast_arrays(*arrays: Any, subok: bool = False) -> tuple[TracedArray, ...]:
    found = [lift(builder_of(*arrays), one) for one in arrays]
    shape = common_shape(*(one.shape for one in found))
    return tuple(broadcast_to(one, shape) for one in found)


# Choice and creation.


def promoted(values: Sequence[Any]) -> np.dtype[Any]:
    """The dtype that all promote to; numbers of Python are weak."""
    kinds: list[Any] = []
    for one in values:
        if isinstance(one, TracedArray):
            kinds.append(one.dtype if one.weak in (None, bool) else one.weak(0))
        else:
            kinds.append(one if type(one) in (int, float, complex) else np.asarray(one).dtype)
    first = kinds[0]
    if isinstance(first, np.dtype) and all(kind is first for kind in kinds):
        return first
    return np.result_type(*kinds)


def together(arrays: Sequence[Any], dtype: Any = None) -> list[TracedArray]:
    """Arrays of the dtype that all promote to."""
    builder = builder_of(*arrays)
    common = np.dtype(dtype) if dtype is not None else promoted(arrays)
    return [astype(lift(builder, one), common) for one in arrays]


@implements(np.where)
def where(condition: Any, x: Any = None, y: Any = None, /) -> TracedArray:
    if x is None or y is None:
        raise TraceError(
            "np.where of one argument has a result whose size depends on the elements", "np.where(c, x, y)"
        )
    builder = builder_of(condition, x, y)
    common = promoted((x, y))
    first, second = (lift(builder, _wrapped(one, common), common) for one in (x, y))
    return choose(lift(builder, condition), first, second)


def _wrapped(value: Any, dtype: Any) -> Any:
    """A number that is chosen: an int that the integers of the result do not hold wraps."""
    return np.asarray(value).astype(dtype) if type(value) is int and dtype.kind in "iu" else value


@implements(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> TracedArray:
    *choices, result = together([*choicelist, default])
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        result = where(condition, choice, result)
    return result


@implements(np.clip, method="clip")
def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = a_min if min is None else min, a_max if max is None else max
    result: Any = a
    if low is not None:
        result = call_ufunc(np.maximum, result, low)
    if high is not None:
        result = call_ufunc(np.minimum, result, high)
    return result if out is None else out.write(result)


def _filled(value: Any) -> Any:
    def function(
        a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
    ) -> TracedArray:
        return lift(a.builder, np.full(a.shape if shape is None else shape, value, a.dtype if dtype is None else dtype))

    return function


for _function, _value in ((np.zeros_like, 0), (np.ones_like, 1), (np.empty_like, 0)):
    implements(_function)(_filled(_value))


@implements(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> TracedArray:
    value = astype(lift(builder_of(a, fill_value), fill_value), a.dtype if dtype is None else dtype)
    return broadcast_to(value, a.shape if shape is None else shape_argument(shape))


@implements(np.real, method="real")
def real(val: Any) -> TracedArray:
    return linked(val.like(val.builder.real(val.value)), val, "real", None) if val.dtype.kind == "c" else val


@implements(np.imag, method="imag")
def imag(val: Any) -> TracedArray:
    if val.dtype.kind == "c":
        return linked(val.like(val.builder.imag(val.value)), val, "imag", None)
    return val.like(val.value.like(0))


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    parts = (imag(z), real(z)) if z.dtype.kind == "c" else (0, z)
    result = call_ufunc(np.arctan2, *parts)
    return call_ufunc(np.degrees, result) if deg else result


@implements(np.round, np.around, method="round")
def round_(a: Any, decimals: int = 0, out: Any = None) -> Any:
    scale = 10.0 ** abs(operator.index(decimals))
    if a.dtype.kind == "b":
        a = astype(a, np.dtype(np.float16))
    if a.dtype.kind in "iu":
        result: Any = a if decimals >= 0 else astype(call_ufunc(np.rint, a / scale) * scale, a.dtype)
    elif decimals == 0:
        result = call_ufunc(np.rint, a) if a.dtype.kind == "f" else _round_complex(a)
    elif decimals > 0:
        result = call_ufunc(np.rint, a * scale) / scale
    else:
        result = call_ufunc(np.rint, a / scale) * scale
    return result if out is None else out.write(result)


def _round_complex(a: TracedArray) -> TracedArray:
    b = a.builder
    return a.like(b.complex(*(b.round_nearest_even(part) for part in (b.real(a.value), b.imag(a.value)))))


@implements(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if x.dtype.kind != "f":
        return x
    limits = np.finfo(x.dtype)
    x = where(call_ufunc(np.isnan, x), np.asarray(nan, x.dtype), x)
    x = where(x == math.inf, np.asarray(limits.max if posinf is None else posinf, x.dtype), x)
    return where(x == -math.inf, np.asarray(limits.min if neginf is None else neginf, x.dtype), x)


def _triangle(keeps: Any) -> Any:
    def function(m: Any, k: int = 0) -> TracedArray:
        rows, columns = np.ogrid[: m.shape[-2], : m.shape[-1]]
        return where(keeps(columns - rows, constant_index(k, "k")), m, np.zeros((), m.dtype))

    return function


implements(np.tril)(_triangle(operator.le))
implements(np.triu)(_triangle(operator.ge))


@implements(np.diagonal, method="diagonal")
def diagonal(a: Any, offset: int = 0, axis1: Any = 0, axis2: Any = 1) -> TracedArray:
    moved = moveaxis(a, (axis1, axis2), (-2, -1))
    rows, columns = moved.shape[-2:]
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    places = np.arange(count)
    return moved[(..., places - min(offset, 0), places + max(offset, 0))]


implements(np.linalg.diagonal)(lambda x, *, offset=0: diagonal(x, offset, -2, -1))
implements(np.linalg.trace)(lambda x, *, offset=0, dtype=None: trace(x, offset, -2, -1, dtype))


@implements(np.trace, method="trace")
def trace(a: Any, offset: int = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None) -> Any:
    return FUNCTIONS[np.sum](diagonal(a, offset, axis1, axis2), -1, dtype, out)


@implements(np.diag)
def diag(v: Any, k: int = 0) -> TracedArray:
    if v.ndim != 1:
        return diagonal(v, k, 0, 1)
    size = v.shape[0] + abs(k)
    rows, columns = np.ogrid[:size, :size]
    places = np.clip(np.minimum(rows, columns) if k else rows, 0, max(v.shape[0] - 1, 0))
    if not v.shape[0]:
        return lift(v.builder, np.zeros((size, size), v.dtype))
    return where(columns - rows == k, v[np.broadcast_to(places, (size, size))], np.zeros((), v.dtype))


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[TracedArray, ...]:
    found = [reshape(lift(builder_of(*xi), one), -1) for one in xi]
    rank = len(found)
    order = [1, 0, *range(2, rank)] if indexing == "xy" and rank > 1 else list(range(rank))
    grids = [
        reshape(one, [-1 if order[number] == dim else 1 for dim in range(rank)]) for number, one in enumerate(found)
    ]
    return tuple(grids) if sparse else broadcast_arrays(*grids)


implements(np.shape)(lambda a: a.shape)
implements(np.ndim)(lambda a: a.ndim)
implements(np.size)(lambda a, axis=None: a.size if axis is None else a.shape[axis])
implements(np.result_type)(
    lambda *values: np.result_type(*(v.dtype if isinstance(v, TracedArray) else v for v in values))
)
implements(np.iscomplexobj)(lambda x: x.dtype.kind == "c")
implements(np.isrealobj)(lambda x: x.dtype.kind != "c")
implements(np.min_scalar_type, in_clusters=False)(lambda a: a.dtype)
implements(np.common_type, in_clusters=False)(
    lambda *arrays: np.common_type(*(np.empty(0, a.dtype) if isinstance(a, TracedArray) else a for a in arrays))
)


@implements(np.can_cast, in_clusters=False)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(from_.dtype, to, casting)
