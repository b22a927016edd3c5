"""Sorting, and what is built on it."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

from typing import Any

import numpy as np

from ..builder.builder import Value
from .arrays import METHODS, TracedArray, astype, axis_of, builder_of, implements, lift
from .indexing import take_along_axis
from .shapes import reshape


def sorted_with(array: TracedArray, others: list[TracedArray], axis: int) -> list[TracedArray]:
    """The array in order along an axis, stable, NaN last, and others along with it."""
    b = array.builder
    if array.dtype.kind == "c":
        return _sorted_complex(array, others, axis)
    keys = astype(array, np.uint8) if array.dtype == np.bool_ else array

    def before(x: Value, y: Value, *rest: Value) -> Value:
        return x.precedes(y)

    values = [one.value for one in (keys, *others)]
    found = b.sort(values, dimension=axis, is_stable=True, comparator=before)
    results = [array.like(value) for value in (found if isinstance(found, tuple) else (found,))]
    return [astype(results[0], array.dtype), *results[1:]]


def _sorted_complex(array: TracedArray, others: list[TracedArray], axis: int) -> list[TracedArray]:
    """By real parts, then by imaginary ones, NaN last in each."""
    b = array.builder

    def before(x: Value, y: Value, u: Value, v: Value, *rest: Value) -> Value:
        first, second = x.in_total_order(), y.in_total_order()
        less, same = (first.compare(relation, second, "TOTALORDER") for relation in ("LT", "EQ"))
        return b.or_(less, b.and_(same, u.precedes(v)))

    parts = [b.real(array.value), b.imag(array.value)]
    values = [*parts, *(one.value for one in others)]
    first, second, *rest = b.sort(values, dimension=axis, is_stable=True, comparator=before)
    return [array.like(b.complex(first, second)), *map(array.like, rest)]


def _flat(a: Any, axis: Any) -> tuple[TracedArray, int]:
    return (reshape(a, -1), 0) if axis is None else (a, axis_of(axis, a.ndim))


@implements(np.sort)
def sort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: bool = False
) -> Any:
    array, dim = _flat(a, axis)
    return sorted_with(array, [], dim)[0]


def _sort_in_place(a: TracedArray, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    a.write(sort(a, axis))


METHODS["sort"] = _sort_in_place
METHODS["partition"] = lambda a, kth, axis=-1, kind="introselect", order=None: _sort_in_place(a, axis)


@implements(np.argsort, method="argsort")
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> TracedArray:
    array, dim = _flat(a, axis)
    places = array.like(array.builder.iota(iota_dimension=dim, result_type=("i64", array.shape)))
    return sorted_with(array, [places], dim)[1]


@implements(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    return sort(a, axis)


@implements(np.argpartition, method="argpartition")
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    return argsort(a, axis)


@implements(np.lexsort)
def lexsort(keys: Any, axis: Any = -1) -> TracedArray:
    found = [lift(builder_of(keys), key) for key in keys]
    order = argsort(found[0], axis)
    for key in found[1:]:
        order = take_along_axis(order, argsort(take_along_axis(key, order, axis), axis), axis)
    return order
