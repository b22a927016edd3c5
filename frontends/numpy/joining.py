"""Functions that join, split, repeat and pad arrays."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ...hlo_dialect.expressions.tensor import concatenate as joined
from .arrays import TracedArray, axes_of, axis_of, broadcast_to, constant_index, implements, lift
from .reductions import NO_VALUE
from .shapes import expand_dims, moveaxis, reshape, shape_argument, swapaxes, together, widened
from .ufuncs import call_ufunc
from .views import KINDS, Kind, linked


@implements(np.concatenate, np.concat)
def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = None
) -> TracedArray:
    found = together(list(arrays), dtype)
    if axis is None:
        found, axis = [reshape(one, -1) for one in found], 0
    if not found[0].ndim:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    dim = axis_of(axis, found[0].ndim)
    for number, one in enumerate(found):
        if len(one.shape) != len(found[0].shape):
            raise ValueError(
                f"all the input arrays must have same number of dimensions, but array 0 has {found[0].ndim} and array "
                f"{number} has {one.ndim}"
            )
        if (*one.shape[:dim], *one.shape[dim + 1 :]) != (*found[0].shape[:dim], *found[0].shape[dim + 1 :]):
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match exactly: array 0 has "
                f"shape {found[0].shape}, array {number} {one.shape}, axis {dim}"
            )
    result = found[0].like(joined([one.value for one in found], dim)) if len(found) > 1 else found[0]
    return result if out is None else out.write(result)


@implements(np.stack)
def stack(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = None) -> TracedArray:
    found = together(list(arrays), dtype)
    if len({one.shape for one in found}) != 1:
        raise ValueError("all input arrays must have the same shape")
    return concatenate([expand_dims(one, axis_of(axis, one.ndim + 1)) for one in found], axis)


@implements(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: Any = None) -> TracedArray:
    return concatenate([widened(one, 2) for one in together(list(tup), dtype)], 0)


@implements(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: Any = None) -> TracedArray:
    found = [widened(one, 1) for one in together(list(tup), dtype)]
    return concatenate(found, 0 if found[0].ndim == 1 else 1)


@implements(np.dstack)
def dstack(tup: Any) -> TracedArray:
    return concatenate([widened(one, 3) for one in together(list(tup))], 2)


@implements(np.column_stack)
def column_stack(tup: Any) -> TracedArray:
    return concatenate([reshape(one, (-1, 1)) if one.ndim < 2 else one for one in together(list(tup))], 1)


@implements(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[TracedArray]:
    dim = axis_of(axis, ary.ndim)
    size = ary.shape[dim]
    if isinstance(indices_or_sections, (list, tuple, np.ndarray)):
        inner = [constant_index(one, "a split") for one in indices_or_sections]
    else:
        sections = constant_index(indices_or_sections, "a split")
        each, extras = divmod(size, sections)
        inner = list(np.cumsum([each + 1] * extras + [each] * (sections - extras)))[:-1]
    before = (slice(None),) * dim
    edges = [None, *map(int, inner), None]
    return [ary[(*before, slice(start, end))] for start, end in itertools.pairwise(edges)]


@implements(np.split)
def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[TracedArray]:
    equal = not isinstance(indices_or_sections, (list, tuple, np.ndarray))
    if equal and ary.shape[axis_of(axis, ary.ndim)] % constant_index(indices_or_sections, "a split"):
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@implements(np.unstack)
def unstack(x: Any, /, *, axis: Any = 0) -> tuple[TracedArray, ...]:
    moved = moveaxis(x, axis, 0)
    return tuple(moved[index] for index in range(len(moved)))


implements(np.hsplit)(lambda ary, parts: split(ary, parts, 0 if ary.ndim == 1 else 1))
implements(np.vsplit)(lambda ary, parts: split(ary, parts, 0))


# Order and repetition.


@implements(np.flip)
def flip(m: Any, axis: Any = None) -> TracedArray:
    axes = axes_of(axis, m.ndim)
    return linked(m.like(m.value.reverse(axes)), m, "flip", axes)


KINDS["flip"] = Kind(
    lambda base, axes: flip(base, axes),
    lambda base, new, axes: flip(new, axes),
    lambda layout, axes: np.flip(layout, axes),
)


implements(np.flipud)(lambda m: flip(m, 0))
implements(np.fliplr)(lambda m: flip(m, 1))


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> TracedArray:
    if axis is None:
        return reshape(roll(reshape(a, -1), shift, 0), a.shape)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
    for one, by in zip(axes, shifts * (len(axes) if len(shifts) == 1 else 1), strict=True):
        dim = axis_of(one, a.ndim)
        size = a.shape[dim]
        start = -constant_index(by, "a shift") % size if size else 0
        before = (slice(None),) * dim
        a = concatenate([a[(*before, slice(start, None))], a[(*before, slice(None, start))]], dim) if start else a
    return a.like(a.value)


@implements(np.rot90)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> TracedArray:
    first, second = (axis_of(axis, m.ndim) for axis in axes)
    match constant_index(k, "k") % 4:
        case 0:
            return m.like(m.value)
        case 1:
            return swapaxes(flip(m, second), first, second)
        case 2:
            return flip(m, (first, second))
        case _:
            return flip(swapaxes(m, first, second), second)


@implements(np.tile)
def tile(A: Any, reps: Any) -> TracedArray:
    counts = shape_argument(reps)
    rank = max(A.ndim, len(counts))
    array = reshape(A, (*[1] * (rank - A.ndim), *A.shape))
    counts = (1,) * (rank - len(counts)) + counts
    pairs = [size for dim in range(rank) for size in (counts[dim], array.shape[dim])]
    spread = broadcast_to(reshape(array, [n for size in array.shape for n in (1, size)]), pairs)
    return reshape(spread, [count * size for count, size in zip(counts, array.shape, strict=True)])


@implements(np.repeat, method="repeat")
def repeat(a: Any, repeats: Any, axis: Any = None) -> TracedArray:
    array = reshape(a, -1) if axis is None else a
    dim = 0 if axis is None else axis_of(axis, array.ndim)
    if isinstance(repeats, TracedArray):
        constant_index(repeats, "the number of repeats")
    counts = np.broadcast_to(np.asarray(repeats), array.shape[dim])
    return array[(*(slice(None),) * dim, np.repeat(np.arange(array.shape[dim]), counts))]


@implements(np.diff)
def diff(a: Any, n: int = 1, axis: Any = -1, prepend: Any = None, append: Any = None) -> Any:
    dim = axis_of(axis, a.ndim)
    before = (slice(None),) * dim
    ends = [one for one in (prepend, a, append) if one is not None and one is not NO_VALUE]
    if len(ends) > 1:
        edge = tuple(1 if one == dim else size for one, size in enumerate(a.shape))
        ends = [one if one is a or np.ndim(one) else broadcast_to(lift(a.builder, one), edge) for one in ends]
        a = concatenate(ends, dim)
    minus = np.not_equal if a.dtype == np.bool_ else np.subtract
    for _ in range(n):
        a = call_ufunc(minus, a[(*before, slice(1, None))], a[(*before, slice(None, -1))])
    return a
