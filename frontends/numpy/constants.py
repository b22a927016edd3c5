"""
Constants of NumPy's arrays: regular ones are computed from indices, where their elements would be part of the program.

`np.arange`, `np.linspace`, `np.eye`, their reshapes and broadcasts are recognized by their elements. The program
computes the same bits.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

from typing import Any

import numpy as np

from ...hlo_dialect.expressions.tensor import Tensor
from ...hlo_dialect.types import element_type_of
from ..builder.builder import Builder

LEAST = 64
"""Elements from which an array is worth a look."""


def constant(builder: Builder, array: np.ndarray[Any, Any]) -> Tensor:
    """The value of an array of a type that programs have."""
    if array.size >= LEAST and array.dtype.kind in "iuf" and array.dtype.itemsize > 1 and array.dtype.isbuiltin == 1:
        # One element that fills an array is recognized by the builder; the second look at a few is cheap.
        found = _along_one_dimension(builder, array)
        found = _diagonal(builder, array) if found is None else found
        if found is not None:
            return found
    return builder.constant(array) if array.ndim else builder.constant(array, array.dtype)


def _same(a: np.ndarray[Any, Any], b: Any) -> bool:
    """Whether two arrays have the same bits: -0.0 is not 0.0. NaN, which nothing here makes, is not equal to itself."""
    return bool(np.all(a == b)) and (a.dtype.kind != "f" or bool(np.all(np.signbit(a) == np.signbit(b))))


def _along_one_dimension(builder: Builder, array: np.ndarray[Any, Any]) -> Tensor | None:
    """The value of an array that is a progression along one dimension, and the same along the others."""
    corner = (0,) * array.ndim
    dims = [dim for dim, size in enumerate(array.shape) if size > 1 and array[_unit(corner, dim)] != array[corner]]
    if len(dims) != 1:
        return None
    (dim,) = dims
    line = array[tuple([slice(None) if one == dim else 0 for one in range(array.ndim)])]
    value = _progression(builder, line)
    if value is None or not _same(array, line.reshape([-1 if one == dim else 1 for one in range(array.ndim)])):
        return None
    if array.ndim == 1:
        return value
    return builder.broadcast_in_dim(value, broadcast_dimensions=[dim], result_type=(value.element, array.shape))


def _unit(corner: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return (*corner[:dim], 1, *corner[dim + 1 :])


def _progression(builder: Builder, line: np.ndarray[Any, Any]) -> Tensor | None:
    """The value of a line that is a progression, but for its last element, as NumPy computes it."""
    # np.linspace computes in f64, whatever it gives.
    for kind in (line.dtype, np.dtype(np.float64)) if line.dtype == np.float32 else (line.dtype,):
        first = line[0].astype(kind)
        places = np.arange(line.size).astype(kind)
        for step in _steps(line.astype(kind)):
            found = places * step + first if first else places * step
            found = found.astype(line.dtype)
            if _same(line[:-1], found[:-1]):
                return _computed(builder, line, first, step, None if _same(line[-1:], found[-1:]) else line[-1])
    return None


def _steps(line: np.ndarray[Any, Any]) -> list[Any]:
    """The steps that may be those of a progression: as np.arange and as np.linspace compute them."""
    with np.errstate(all="ignore"):
        found = [line[1] - line[0]]
        if line.dtype.kind == "f":
            found.append((line[-1] - line[0]) / line.dtype.type(line.size - 1))
    return found


def _computed(builder: Builder, line: np.ndarray[Any, Any], first: Any, step: Any, last: Any) -> Tensor:
    places = builder.iota(iota_dimension=0, result_type=("i64", line.shape))
    value = builder.convert(places, result_type=(element_type_of(first.dtype), line.shape))
    value = value * step.item() if step != 1 else value
    value = value + first.item() if first else value
    if first.dtype != line.dtype:
        value = builder.convert(value, result_type=(element_type_of(line.dtype), line.shape))
    if last is None:
        return value
    is_last = builder.compare(places, line.size - 1, comparison_direction="EQ")
    return is_last.select(builder.constant(last.item(), value.element, line.shape), value)


def _diagonal(builder: Builder, array: np.ndarray[Any, Any]) -> Tensor | None:
    """The value of a matrix that has zeros beside one diagonal of equal elements."""
    if array.ndim != 2:
        return None
    rows, columns = array.shape
    head = np.flatnonzero(array[0]) if array[0].any() else -np.flatnonzero(array[:, 0])
    if head.size != 1:
        return None
    shift = int(head[0])
    value = array[max(0, -shift), max(0, shift)]
    if not _same(array, np.eye(rows, columns, shift, dtype=array.dtype) * value):
        return None
    down, across = (builder.iota(iota_dimension=dim, result_type=("i64", array.shape)) for dim in (0, 1))
    on = builder.compare(across - down, shift, comparison_direction="EQ")
    element = element_type_of(array.dtype)
    filled, zero = (builder.constant(one.item(), element, array.shape) for one in (value, value * 0))
    return on.select(filled, zero)
