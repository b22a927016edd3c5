"""`Array`: an array of the namespace `xhlo.numpy` outside of compiled functions."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ...targets.program.trees import flatten, map_leaves
from ..array_facts import ArrayFacts
from ..numpy.arrays import METHODS, namespace
from .eager import run

CPU = "cpu"
"""The one device of arrays."""

REPLACED: dict[Callable[..., Any], Callable[..., Any]] = {}
"""The standard's function in place of one of NumPy's where the two disagree."""

_IN_PLACE = frozenset({"sort", "fill"})
"""The methods that change the array."""


def unwrapped(tree: Any) -> Any:
    """The tree with NumPy's arrays in place of `Array`s."""
    return map_leaves(lambda leaf: leaf.unwrap() if type(leaf) is Array else leaf, tree)


def wrapped(tree: Any) -> Any:
    """The tree with `Array`s in place of NumPy's arrays and scalars."""
    return map_leaves(lambda leaf: Array(np.asarray(leaf)) if isinstance(leaf, np.ndarray | np.generic) else leaf, tree)


def is_other(leaf: Any) -> bool:
    """Whether it is an array with protocols of its own, such as that of a trace, which records what is done to it."""
    return type(leaf) not in (Array, np.ndarray) and hasattr(leaf, "__array_function__")


def call(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], numbers: bool = False) -> Any:
    """
    A function of NumPy or one that is written with them, on `Array`s: its program is run, see `run`.

    NotImplemented if arrays with protocols of their own are among the arguments.
    """
    leaves, structure = flatten((tuple(args), kwargs))
    if any(map(is_other, leaves)):
        return NotImplemented
    return wrapped(run(function, unwrapped(leaves), structure, numbers))


@cache
def _method(name: str) -> Callable[..., Any]:
    """The function that calls a method of that name."""

    def method(array: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(array, name)(*args, **kwargs)

    return method


class Array(ArrayFacts, NDArrayOperatorsMixin):
    """
    An array that is computed. Operations on it are compiled, by the standard's functions and by NumPy's.

    A view is a value of its own, as in compiled functions: changing it does not change the array that it came from.
    """

    __slots__ = ("_data", "_own")
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, data: np.ndarray[Any, Any], own: bool = False):
        self._data = data
        self._own = own and data.flags.writeable
        """Whether nothing else refers to the elements, so that they may be changed where they are."""

    def unwrap(self) -> np.ndarray[Any, Any]:
        """The elements as an array of NumPy, which they are shared with."""
        self._own = False
        return self._data

    # Facts.

    @property
    def shape(self) -> tuple[int, ...]:
        return self._data.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._data.dtype

    @property
    def device(self) -> str:
        return CPU

    def to_device(self, device: str, /, *, stream: Any = None) -> Array:
        if device != CPU:
            raise ValueError(f"there is no device {device!r}: arrays are on {CPU!r}")
        return self

    def __repr__(self) -> str:
        return repr(self._data).replace("array(", "Array(", 1)

    def __str__(self) -> str:
        return str(self._data)

    def __format__(self, spec: str) -> str:
        return format(self._data, spec)

    def __iter__(self) -> Iterator[Array]:
        return (self[index] for index in range(len(self)))

    # Values.

    def __bool__(self) -> bool:
        return bool(self._data)

    def __int__(self) -> int:
        return int(self._data)

    def __float__(self) -> float:
        return float(self._data)

    def __complex__(self) -> complex:
        return complex(self._data)

    def __index__(self) -> int:
        return operator.index(self._data)

    def item(self) -> Any:
        return self._data.item()

    def tolist(self) -> Any:
        return self._data.tolist()

    # Protocols.

    def __reduce__(self) -> Any:
        """For pickle and copy."""
        return Array, (self._data.copy(), True)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.unwrap(), dtype, copy=copy)

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        return namespace(api_version)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        found: Any = self.unwrap()
        return found.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self._data.__dlpack_device__()

    def __array_ufunc__(self, ufunc: np.ufunc, how: str, *inputs: Any, **stated: Any) -> Any:
        (out,) = stated.pop("out", None) or (None,)
        function = REPLACED.get(ufunc, ufunc)
        found = call(function if how == "__call__" else getattr(ufunc, how), inputs, stated, numbers=True)
        return found if out is None or found is NotImplemented else out.write(found)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:
        out = kwargs.pop("out", None)
        found = call(REPLACED.get(function, function), args, kwargs)
        return found if out is None or found is NotImplemented else out.write(found)

    def __getattr__(self, name: str) -> Any:
        """The methods of NumPy's arrays that are compiled."""
        if name not in METHODS or name in _IN_PLACE or name.startswith("_"):
            raise AttributeError(f"an array of xhlo.numpy has no attribute '{name}'")
        return lambda *args, **kwargs: call(_method(name), (self, *args), kwargs)

    # Elements.

    def __getitem__(self, key: Any) -> Array:
        found = np.asarray(self._data[unwrapped(key)])
        self._own = self._own and not np.may_share_memory(found, self._data)
        return Array(found, found.flags.owndata)

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self._own:
            self._data, self._own = self._data.copy(), True
        self._data[unwrapped(key)] = unwrapped(value)

    def write(self, new: Array) -> Array:
        """Give all elements anew, as `+=` does. Raises TypeError for a dtype, ValueError for a shape that differs."""
        if not np.can_cast(new.dtype, self.dtype, "same_kind"):
            raise TypeError(f"elements of type {new.dtype} do not go into an array of {self.dtype}")
        if new.shape != self.shape:
            raise ValueError(f"an array of shape {new.shape} does not go into one of {self.shape}")
        self._data, self._own = new.unwrap().astype(self.dtype, copy=False), False
        return self

    @property
    def T(self) -> Array:
        return Array(self.unwrap().T)

    @property
    def mT(self) -> Array:
        return Array(self.unwrap().mT)

    @property
    def real(self) -> Array:
        return call(np.real, (self,), {})

    @property
    def imag(self) -> Array:
        return call(np.imag, (self,), {})
