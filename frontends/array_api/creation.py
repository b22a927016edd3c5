"""Functions that create arrays: those of a trace while a function is traced, so that it may set their elements."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...hlo_dialect.types import element_type_of
from ...targets.program.trees import flatten
from ..numpy.arrays import TRACE, TracedArray, builder_of, lift
from .array import CPU, Array, unwrapped

CREATION: dict[str, Any] = {}


def _created(function: Callable[..., Any]) -> Callable[..., Any]:
    CREATION[function.__name__] = function
    return function


def on(device: Any) -> None:
    """Raises ValueError for a device that there is not."""
    if device not in (None, CPU):
        raise ValueError(f"there is no device {device!r}: arrays are on {CPU!r}")


def new(data: np.ndarray[Any, Any], own: bool = True) -> Any:
    """
    An array of elements that are known, which nothing else refers to if they are its own.

    Raises TypeError for elements that no program computes with.
    """
    data = data.astype(data.dtype.newbyteorder("="), copy=False)
    if element_type_of(data.dtype) is None:
        raise TypeError(f"there are no arrays of {data.dtype} in xhlo.numpy")
    builder = TRACE.get()
    return Array(data, own and data.base is None) if builder is None else lift(builder, data)


@_created
def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Any:
    """
    An array of a number, of nested lists, or of another array.

    Elements are copied if `copy` says so, or, when it says nothing, if they must be converted. Raises ValueError if
    they must be, and it is False; TypeError for elements that no program computes with.
    """
    on(device)
    if any(isinstance(leaf, TracedArray) for leaf in flatten(obj)[0]):
        found = lift(builder_of(obj), obj, dtype)
        return found.copy() if copy else found
    if isinstance(obj, Array) and dtype in (None, obj.dtype) and not copy:
        return obj
    data = np.array(unwrapped(obj), dtype, copy=copy)
    return new(data, data is not obj)


@_created
def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """The array of another library, whose elements are shared where that is possible. Raises BufferError."""
    on(device)
    return new(np.from_dlpack(x, copy=copy)[...])


@_created
def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Any:
    """Evenly spaced numbers from `start` to before `stop`; of one number, from 0 to before it."""
    on(device)
    first, last = (0, start) if stop is None else (start, stop)
    return new(np.arange(first, last, step, dtype=dtype))


@_created
def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """An array whose elements are to be set; they are zero."""
    return zeros(shape, dtype=dtype, device=device)


@_created
def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Any:
    """A matrix with ones on the k-th diagonal."""
    on(device)
    return new(np.eye(n_rows, n_cols, k, dtype or float))


@_created
def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """An array whose elements are all the same."""
    on(device)
    if isinstance(fill_value, TracedArray):
        return np.broadcast_to(asarray(fill_value, dtype=dtype), shape)
    return new(np.full(shape, unwrapped(fill_value), dtype))


@_created
def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True
) -> Any:
    """`num` evenly spaced numbers from `start` to `stop`, which is the last one, or with `endpoint=False` the next."""
    on(device)
    return new(np.linspace(start, stop, num, endpoint, dtype=dtype))


@_created
def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """An array of ones."""
    return full(shape, 1, dtype=dtype or float, device=device)


@_created
def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """An array of zeros."""
    on(device)
    return new(np.zeros(shape, dtype or float))
