"""Calls of NumPy: who runs and who compiles each, and the facts that tell calls apart before they run."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np

# Imported because they register the functions that they compile.
from ..numpy import (  # noqa: F401
    factorizations,  # pyright: ignore[reportUnusedImport]
    fourier,  # pyright: ignore[reportUnusedImport]
    indexing,  # pyright: ignore[reportUnusedImport]
    linear_algebra,  # pyright: ignore[reportUnusedImport]
    signals,  # pyright: ignore[reportUnusedImport]
    sorting,  # pyright: ignore[reportUnusedImport]
    statistics,  # pyright: ignore[reportUnusedImport]
)
from ..numpy.arrays import CALL_UFUNC, FUNCTIONS, METHODS, TRACE, lift
from ..numpy.functions import masks  # noqa: F401  # pyright: ignore[reportUnusedImport]
from ..numpy.ufunc_formulas import UFUNCS
from ..numpy.ufuncs import METHODS_OF_UFUNCS
from .storage import facts_of

_RAISE_BY_VALUES = {np.linalg.cholesky, np.linalg.inv, np.linalg.solve, np.take, np.take_along_axis, np.average}
"""Functions whose errors depend on elements: NumPy runs them, so that errors come at the line that caused them."""

_CHANGE_THE_ARRAY = {"__setitem__", "fill", "sort", "partition", "resize", "put"}

_FACTS = {
    np.ndim, np.shape, np.size, np.result_type, np.can_cast, np.common_type, np.iscomplexobj, np.isrealobj,
    np.isfortran, np.may_share_memory, np.shares_memory,
}  # fmt: skip
"""Functions that ask for no elements."""

_WITH_NUMBERS = {np.where, np.clip, np.full_like}
"""Functions, beside ufuncs, that take numbers as operands; elsewhere numbers are axes, sizes and the like."""


@dataclass(eq=False)
class Target:
    """The function that is called: `run` on NumPy's arrays, `trace` on traced ones; None where it is not compiled."""

    name: str
    run: Callable[..., Any]
    trace: Callable[..., Any] | None
    fills: bool = False
    """Whether `run` takes the memory for its results as `out`."""
    with_numbers: bool = False
    """Whether numbers among the arguments are operands."""
    changes: bool = False
    """Whether it changes its first argument."""
    is_fact: bool = False
    """Whether it asks for no elements."""


@cache
def ufunc_target(ufunc: np.ufunc, how: str = "__call__") -> Target:
    name = f"np.{ufunc.__name__}"
    trace = partial(CALL_UFUNC[0], ufunc) if ufunc in UFUNCS or ufunc in FUNCTIONS else None
    if how == "__call__":
        return Target(name, ufunc, trace, fills=ufunc.signature is None, with_numbers=True)
    compiled = partial(trace, how=how) if trace and how in METHODS_OF_UFUNCS else None
    return Target(f"{name}.{how}", getattr(ufunc, how), compiled, changes=how == "at")


@cache
def function_target(function: Callable[..., Any]) -> Target:
    name = f"{function.__module__}.{function.__name__}".replace("numpy.", "np.", 1)
    trace = None if function in _RAISE_BY_VALUES else FUNCTIONS.get(function)
    return Target(name, function, trace, with_numbers=function in _WITH_NUMBERS, is_fact=function in _FACTS)


@cache
def method_target(name: str) -> Target:
    def run(array: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(array, name)(*args, **kwargs)

    trace = None if name in _CHANGE_THE_ARRAY | {"take"} else METHODS.get(name)
    return Target(f"the method {name}", run, trace, with_numbers=name == "clip", changes=name in _CHANGE_THE_ARRAY)


def _assign(view: Any, value: Any, where: Any = True) -> None:
    if where is True:
        view[...] = value
    else:
        np.copyto(view, value, casting="unsafe", where=where)


ASSIGN = Target("item assignment", _assign, lambda old, value, where=True: value, with_numbers=True, changes=True)
"""Takes a view, a value and a mask; gives the view's elements anew."""

GET = Target("indexing by arrays", lambda array, key: array[key], METHODS["__getitem__"])


CREATING = {np.zeros, np.ones, np.empty, np.full, np.arange, np.linspace, np.eye, np.identity}
"""Functions whose new arrays are computed from numbers and types alone."""


@cache
def creation_target(function: Callable[..., Any]) -> Target:
    return Target(
        f"np.{function.__name__}", function, partial(_created, np.zeros if function is np.empty else function)
    )


def _created(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    builder = TRACE.get()
    assert builder is not None
    return lift(builder, function(*args, **kwargs))


@dataclass(eq=False)
class Result:
    """The known facts about the results of a call."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: tuple[int, ...] | None
    """The dimensions from the outermost in memory to the innermost, None if they are in order."""
    is_scalar: bool

    def __post_init__(self) -> None:
        shape = self.shape if self.order is None else tuple([self.shape[dim] for dim in self.order])
        self.facts = facts_of(shape, self.dtype, self.is_scalar)
        """The facts of the row-major memory for it."""

    def view(self, memory: Any) -> Any:
        """The result, of NumPy or traced, in its memory's order of dimensions; the inverse of `stored`."""
        if self.order is None:
            return memory
        return memory.transpose([self.order.index(dim) for dim in range(len(self.order))])

    def stored(self, result: Any) -> Any:
        return result if self.order is None else result.transpose(self.order)


@dataclass(eq=False)
class Known:
    """A call for operands of some types: what its first run taught. Compared by identity, a key of clusters."""

    target: Target
    kind: str
    """"call", "write" of the operand `out`, "view" of an operand, or "eager": always run by NumPy at once."""
    results: list[Result] = field(default_factory=list)
    container: Callable[[list[Any]], Any] | None = None
    """Puts several results together."""
    bounds: tuple[int, int] | None = None
    """The bounds of the results, which are indices."""
    reason: str = ""
    is_checked: bool = True
    """Whether it is known that the compiled form gives these results, whatever the elements are."""


class NotRecordable(Exception):
    """An argument of a kind that is not recorded."""


_STATIC = (str, bool, type(None), type(Ellipsis), np.dtype, type, np.bool_, type(np._NoValue))  # pyright: ignore


def number_kind(value: Any) -> Any:
    """The facts of a number that types and errors depend on; an integer's are its sign and the bits it needs."""
    if type(value) is int:
        bits = value.bit_length()
        if bits > 63:
            raise NotRecordable("an integer of more than 64 bits")
        return "number", int, value < 0, next(size for size in (7, 8, 15, 16, 31, 32, 63) if bits <= size)
    return "number", value.dtype if isinstance(value, np.generic) else type(value)


def static_key(value: Any) -> Any:
    """The key of an argument that is a constant of the program. Raises NotRecordable."""
    if isinstance(value, _STATIC):
        return value if not isinstance(value, (bool, np.bool_)) else ("bool", bool(value))
    if isinstance(value, (int, float, complex, np.generic)):
        plain = value.item() if isinstance(value, np.generic) else value
        return type(value), plain if plain and plain == plain else repr(plain)
    if isinstance(value, slice):
        return "slice", static_key(value.start), static_key(value.stop), static_key(value.step)
    if isinstance(value, range):
        return "range", value
    raise NotRecordable(f"an argument of type {type(value).__name__}")


def known_bounds(target: Target, arrays: list[Any], axis: Any) -> tuple[int, int] | None:
    """The bounds of the indices that a call returns."""
    if target.name.rpartition(".")[2].rpartition(" ")[2] not in ("argmax", "argmin", "argsort"):
        return None
    size = math.prod(arrays[0].shape) if axis is None else arrays[0].shape[axis]
    return 0, size - 1


def result_of(value: Any) -> Result:
    """The facts of a result that NumPy gave."""
    order: tuple[int, ...] | None = None
    if isinstance(value, np.ndarray) and not value.flags.c_contiguous:
        order = tuple(sorted(range(value.ndim), key=lambda dim: (-value.strides[dim], dim)))
        if not value.transpose(order).flags.c_contiguous:
            raise NotRecordable("a result with gaps in memory")
    return Result(value.shape, value.dtype, order, isinstance(value, np.generic))
