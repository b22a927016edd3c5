"""Functions that call a function of the user's: along an axis, for each element; and the notation `np.r_[a, b]`."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..arrays import FUNCTIONS, TracedArray, astype, axis_of, broadcast_to, builder_of, common_shape, implements, lift
from ..batched import vmap
from ..errors import TraceError
from ..shapes import moveaxis, reshape, together, transpose


@implements(np.apply_along_axis, in_clusters=False)
def apply_along_axis(func1d: Callable[..., Any], axis: Any, arr: Any, *args: Any, **kwargs: Any) -> TracedArray:
    """The function is traced once, for all lines together."""
    array = lift(builder_of(arr, args), arr)
    dim = axis_of(axis, array.ndim)
    rest = [size for number, size in enumerate(array.shape) if number != dim]
    if 0 in rest:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    lines = reshape(moveaxis(array, dim, -1), (math.prod(rest), array.shape[dim]))
    found = vmap(lambda line: lift(line.builder, func1d(line, *args, **kwargs)))(lines)
    made = found.ndim - 1
    result = reshape(found, (*rest, *found.shape[1:]))
    return moveaxis(result, _numbered(result.ndim - made, made), _numbered(dim, made)) if made else result


def _numbered(start: int, count: int) -> tuple[int, ...]:
    return tuple(range(start, start + count))


# np.vectorize.


def _cores(signature: str) -> list[list[str]]:
    """The names of the inner dimensions of each argument: `(m,n),(n)->(m)`."""
    return [re.findall(r"\w+", one) for one in re.findall(r"\(([^)]*)\)", signature.partition("->")[0])]


def _vectorized(mapped: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A call of np.vectorize's object: its function, traced once for all elements together."""
    excluded = mapped.excluded
    stated = mapped.signature if isinstance(mapped.signature, str) else None
    names = [name for name in kwargs if name not in excluded]
    places = [number for number in range(len(args)) if number not in excluded]
    builder = builder_of(*args, *kwargs.values())
    given = [lift(builder, one) for one in (*[args[number] for number in places], *[kwargs[name] for name in names])]
    cores = [[]] * len(given) if stated is None else _cores(stated)
    if len(cores) != len(given):
        raise TypeError(f"wrong number of positional arguments: expected {len(cores)}, got {len(given)}")
    inner = [array.shape[array.ndim - len(core) :] for array, core in zip(given, cores, strict=True)]
    shape = common_shape(*[array.shape[: array.ndim - len(core)] for array, core in zip(given, cores, strict=True)])
    count = math.prod(shape)
    flat = [
        reshape(broadcast_to(array, (*shape, *core)), (count, *core)) for array, core in zip(given, inner, strict=True)
    ]

    def one(*values: Any) -> Any:
        all_args = list(args)
        for number, value in zip(places, values, strict=False):
            all_args[number] = value
        named = {**kwargs, **dict(zip(names, values[len(places) :], strict=True))}
        return mapped.pyfunc(*all_args, **named)

    found = vmap(one)(*flat)
    results = found if isinstance(found, tuple) else (found,)
    shaped = [reshape(result, (*shape, *result.shape[1:])) for result in results]
    if mapped.otypes:
        shaped = [astype(result, kind) for result, kind in zip(shaped, mapped.otypes, strict=True)]
    return tuple(shaped) if isinstance(found, tuple) else shaped[0]


# np.r_ and np.c_.


def _joined(notation: Any, key: Any) -> TracedArray:
    """`np.r_[a, 0, 1:4]`, `np.r_['0,2,-1', a, b]` and `np.c_[a, b]`."""
    parts = list(key) if isinstance(key, tuple) else [key]
    axis, rank, place = notation.axis, notation.ndmin, notation.trans1d
    if parts and isinstance(parts[0], str):
        directive = parts.pop(0)
        try:
            numbers = [int(one) for one in directive.split(",")]
        except ValueError:
            raise TraceError(
                f"np.r_[{directive!r}, ..] is not compiled: it is a matrix", "np.concatenate and reshape"
            ) from None
        axis, rank, place = [*numbers, *(axis, rank, place)[len(numbers) :]]
    found = [_part(builder_of(*[one for one in parts if isinstance(one, TracedArray)]), one) for one in parts]
    arrays = [reshape(one, -1) if not one.ndim else one for one in together(found)]
    return FUNCTIONS[np.concatenate]([_raised(one, rank, place) for one in arrays], axis)


def _part(builder: Any, part: Any) -> Any:
    if isinstance(part, slice):
        start, stop, step = part.start or 0, part.stop, 1 if part.step is None else part.step
        if isinstance(step, complex):
            return np.linspace(start, stop, int(abs(step)))
        return np.arange(start, stop, step)
    return part if isinstance(part, TracedArray | int | float | complex) else lift(builder, part)


def _raised(array: TracedArray, rank: int, place: int) -> TracedArray:
    """An array with as many dimensions at least, of which its own begin at a place."""
    missing = rank - array.ndim
    if missing <= 0:
        return array
    wide = reshape(array, (*[1] * missing, *array.shape))
    if place == -1:
        return wide
    first = place + missing + 1 if place < 0 else place
    axes = list(range(rank))
    return transpose(wide, axes[:first] + axes[missing:] + axes[first:missing])


# While a function is traced.


_lock = threading.RLock()  # a handler of a signal may trace meanwhile
_depth = [0]
_OWNERS: list[tuple[type, str, Callable[..., Any], Callable[..., Any]]] = []


def _owners() -> list[tuple[type, str, Callable[..., Any], Callable[..., Any]]]:
    """The classes whose methods take traced arrays meanwhile, the methods' names, NumPy's own and ours."""
    if not _OWNERS:
        call, item = np.vectorize.__call__, type(np.r_).__mro__[1].__getitem__

        def called(self: Any, *args: Any, **kwargs: Any) -> Any:
            traced = any(isinstance(one, TracedArray) for one in (*args, *kwargs.values()))
            return _vectorized(self, args, kwargs) if traced else call(self, *args, **kwargs)

        def indexed(self: Any, key: Any) -> Any:
            parts = key if isinstance(key, tuple) else (key,)
            return _joined(self, key) if any(isinstance(one, TracedArray) for one in parts) else item(self, key)

        _OWNERS.append((np.vectorize, "__call__", call, called))
        _OWNERS.append((type(np.r_).__mro__[1], "__getitem__", item, indexed))
    return _OWNERS


@contextmanager
def notations() -> Generator[None]:
    """In this block objects of np.vectorize, np.r_ and np.c_ take traced arrays."""
    with _lock:
        _depth[0] += 1
        for owner, name, _, ours in _owners():
            if getattr(owner, name) is not ours:
                setattr(owner, name, ours)
    try:
        yield
    finally:
        with _lock:
            _depth[0] -= 1
            if not _depth[0]:
                for owner, name, own, _ in _owners():
                    setattr(owner, name, own)
