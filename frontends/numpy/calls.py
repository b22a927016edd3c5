"""Calls of NumPy's functions by a function that is traced: those that NumPy makes without its protocols."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..builder.builder import Builder
from .arrays import FUNCTIONS, TRACE, TracedArray, broadcast_to, builder_errors, holds_traced, lift
from .entrances import TAKING, entering
from .errors import TraceError
from .functions import masks
from .functions.mapping import notations
from .shapes import shape_argument
from .ufuncs import call_ufunc

NUMBERS = (bool, int, float, complex)

_FILLED_LATER = {
    np.zeros,
    np.ones,
    np.empty,
    np.full,
    np.zeros_like,
    np.ones_like,
    np.empty_like,
    np.full_like,
    np.eye,
    np.identity,
}
"""Functions whose arrays the traced function writes to, so that they are part of the trace."""

_KNOWN = frozenset((TracedArray, np.ndarray, *NUMBERS))
"""Types none of which but traced arrays takes part in NumPy's protocol."""


def traced_call(builder: Builder, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Trace a call. NumPy's C code replaces errors that its arguments' methods raise by its own."""
    hidden = builder_errors(builder)
    outside = TRACE.set(builder)

    def enter(called: Any, args: tuple[Any, ...], kwargs: dict[str, Any], _: Any) -> Any:
        if not kwargs and type(called) is np.ufunc:
            kinds = {*map(type, args)}
            if TracedArray in kinds and kinds <= _KNOWN:
                # As NumPy would call it.
                return call_ufunc(called, *args)
        if holds_traced((*args, *kwargs.values())):
            found = _without_protocol(builder, called)
            if found is not None and ("size" in kwargs or called not in masks.SIZED):
                return found(*args, **kwargs)
        result = called(*args, **kwargs)
        return lift(builder, result) if called in _FILLED_LATER and type(result) is np.ndarray else result

    try:
        with entering(enter), notations():
            return function(*args, **kwargs)
    except TraceError:
        raise
    except (TypeError, ValueError):
        if hidden:
            raise hidden[-1] from None
        raise
    finally:
        TRACE.reset(outside)


def _without_protocol(builder: Builder, called: Any) -> Callable[..., Any] | None:
    """Compiles a function that NumPy calls without its protocol; None for others."""
    if called in TAKING:
        return partial(_taken, builder, TAKING[called])
    if called in masks.SIZED:
        return partial(masks.sized, called)
    if isinstance(getattr(called, "__self__", None), np.random.RandomState):
        return partial(_drawn, called.__name__)
    found = _GIVING.get(called)
    return None if found is None else partial(found, builder)


def _drawn(name: str, *args: Any, **kwargs: Any) -> Any:
    raise TraceError(
        f"np.random.{name} draws once, while the function is compiled, when its arguments are not known",
        "draw the numbers outside, and pass them as an argument",
    )


def _taken(
    builder: Builder,
    how: str,
    array: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    ndmin: int = 0,
    order: Any = None,
    subok: bool = False,
    like: Any = None,
    device: Any = None,
) -> TracedArray:
    """np.array, np.asarray and their like of what holds traced arrays."""
    found = lift(builder, array, dtype)
    if found.ndim < ndmin:
        found = found.reshape((1,) * (ndmin - found.ndim) + found.shape)
    return found.like(found.value) if how == "copy" and copy else found


def _full(builder: Builder, shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", **_: Any) -> TracedArray:
    """np.full with a value that only the run knows."""
    found = broadcast_to(lift(builder, fill_value, dtype), shape_argument(shape))
    return found.like(found.value)


def _arange(builder: Builder, *args: Any, **kwargs: Any) -> Any:
    raise TraceError(
        "the bounds of np.arange depend on the function's arguments, and with them the size of its result",
        "np.arange(n) * step + start with a known n, or make the argument static: xhlo.jit(static_argnames=..)",
    )


# Functions that NumPy calls without its protocol.
_GIVING: dict[Any, Callable[..., Any]] = {
    np.arange: _arange,
    np.take: lambda builder, a, *args, **stated: FUNCTIONS[np.take](lift(builder, a), *args, **stated),
    np.full: _full,
    np.isscalar: lambda builder, element: isinstance(element, NUMBERS) or not element.shape,
    np.require: lambda builder, a, dtype=None, requirements=None, *, like=None: lift(builder, a, dtype),
}
