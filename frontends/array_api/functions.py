"""
The functions of the namespace: those of NumPy that are the standard's, and others in place of those that are not.

They work on `Array`s, whose programs are run, and on the arrays of a trace, which record what is done to them.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from .array import REPLACED, call

FUNCTIONS: dict[str, Any] = {}
"""The namespace's functions by name."""

_OF_NUMPY = """
abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or
bitwise_right_shift bitwise_xor ceil conj copysign cos cosh divide equal exp expm1 floor greater greater_equal hypot
imag isfinite isinf isnan less less_equal log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor
maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh
sqrt square subtract tan tanh trunc
empty_like full_like ones_like tril triu zeros_like
matmul matrix_transpose tensordot
broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile
unstack
argmax argmin count_nonzero searchsorted where take take_along_axis
cumulative_prod cumulative_sum max mean min prod std sum var
all any diff
""".split()
"""The functions of NumPy that are the standard's."""


def applied(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A function of NumPy, or one that is written with them, on `Array`s or on those of a trace."""
    found = call(function, args, kwargs, numbers=isinstance(function, np.ufunc))
    return function(*args, **kwargs) if found is NotImplemented else found


def of_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of the namespace that is NumPy's."""

    @wraps(function)
    def standard(*args: Any, **kwargs: Any) -> Any:
        return applied(function, args, kwargs)

    if isinstance(function, np.ufunc):
        names = ("x",) if function.nin == 1 else ("x1", "x2")
        kind = inspect.Parameter.POSITIONAL_ONLY
        standard.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # pyright: ignore
    return standard


def instead_of(*functions: Callable[..., Any]) -> Callable[[Any], Any]:
    """A decorator: the function is the namespace's, also where one of these functions of NumPy is called."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def standard(*args: Any, **kwargs: Any) -> Any:
            return applied(function, args, kwargs)

        FUNCTIONS[function.__name__] = standard
        REPLACED.update(dict.fromkeys(functions, function))
        return standard

    return register


FUNCTIONS.update({name: of_numpy(getattr(np, name)) for name in _OF_NUMPY})


@instead_of(np.floor_divide)
def floor_divide(x1: Any, x2: Any, /) -> Any:
    """The quotient, rounded down; with an infinity it is that of `divide`, also where NumPy's is no number or -1."""
    quotient = np.floor_divide(x1, x2)
    if quotient.dtype.kind != "f":
        return quotient
    return np.where(np.isinf(x1) | np.isinf(x2), np.divide(x1, x2), quotient)


@instead_of()
def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """The elements, and the bounds where they are beyond them, of the type of `x`."""
    for bound, choose in ((min, np.maximum), (max, np.minimum)):
        if bound is not None:
            x = np.astype(choose(x, bound), x.dtype)
    return x


@instead_of()
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """The elements converted; from a complex number its real part."""
    return np.astype(x, dtype, copy=copy, device=device)


@instead_of()
def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The elements in order along an axis, NaN last; descending, NaN first."""
    found = np.sort(x, axis=axis, stable=stable)
    return np.flip(found, axis=axis) if descending else found


@instead_of()
def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The indices that put the elements in order along an axis; equal elements stay in their order."""
    if not descending:
        return np.argsort(x, axis=axis, stable=stable)
    # The order of the reversed elements, read from its end: the last of equal ones comes last.
    found = np.flip(np.argsort(np.flip(x, axis=axis), axis=axis, stable=stable), axis=axis)
    return x.shape[axis] - 1 - found


@instead_of()
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The sums of products along an axis, of the complex conjugate of `x1`."""
    function: Any = np.vecdot
    return function(x1, x2, axis=axis)


@instead_of()
def broadcast_arrays(*arrays: Any) -> list[Any]:
    """The arrays, all of the shape that they have together."""
    return list(np.broadcast_arrays(*arrays))


@instead_of()
def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Any]:
    """The coordinates of the points of a grid, from those along each of its axes."""
    function: Any = np.meshgrid
    return list(function(*arrays, indexing=indexing))
