"""
`Storage`: the memory that an array and its views share.

Views are NumPy's own views of the memory, and a write to one is seen by all. Recorded operations fill it later; it is
allocated when a view of it is made, or when they run.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import math
import sys
import weakref
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

EMPTY, _AS_ARRAY = np.empty, np.asarray
"""NumPy's own functions, also in a block of autocluster."""

MANY_FACTS = 20000
"""The number of types, and of views, whose facts are remembered."""


class Facts:
    """The type of a storage. Equal types are one object while they are remembered, so that it is a key by identity."""

    __slots__ = ("dtype", "is_scalar", "nbytes", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], is_scalar: bool):
        self.shape = shape
        self.dtype = dtype
        self.is_scalar = is_scalar
        """Whether NumPy would have returned a scalar."""
        self.nbytes = math.prod(shape) * dtype.itemsize


class Place:
    """Which part of its storage a view is: a key by identity, as `Facts` are."""

    __slots__ = ("dtype", "offset", "shape", "strides")

    def __init__(self, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]):
        self.offset = offset
        """In bytes."""
        self.shape = shape
        self.strides = strides
        self.dtype = dtype

    def of(self, base: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The view, of the memory."""
        # As bytes, since NumPy exports no buffer of some types of elements.
        return np.ndarray(self.shape, self.dtype, base.reshape(-1).view(np.uint8), self.offset, self.strides)


_FACTS: dict[Any, Facts] = {}
_PLACES: dict[Any, Place] = {}


def facts_of(shape: tuple[int, ...], dtype: np.dtype[Any], is_scalar: bool = False) -> Facts:
    key = shape, dtype, is_scalar
    found = _FACTS.get(key)
    if found is None:
        if len(_FACTS) >= MANY_FACTS:
            _FACTS.clear()
        found = _FACTS[key] = Facts(*key)
    return found


def place_of(view: np.ndarray[Any, Any], base: np.ndarray[Any, Any]) -> Place:
    start = view.__array_interface__["data"][0] - base.__array_interface__["data"][0] if view.size else 0
    key = start, view.shape, view.strides, view.dtype
    found = _PLACES.get(key)
    if found is None:
        if len(_PLACES) >= MANY_FACTS:
            _PLACES.clear()
        found = _PLACES[key] = Place(*key)
    return found


class _Lease:
    """A memoryview of elements that Python's buffers do not have, such as bfloat16."""

    def __init__(self, array: np.ndarray[Any, Any]):
        self._array = array
        self.__array_interface__ = array.__array_interface__


_ELEMENTS_OF_BUFFERS = frozenset("?bhilqBHILQefdFD")


_NOTHING: np.ndarray[Any, Any] = np.empty(0)


class Storage:
    """Held by the arrays of it, and while operations on it are recorded by the recorder, once."""

    __slots__ = ("bounds", "facts", "is_filled", "lease", "memory", "origin", "owner", "slot")

    def __init__(self, facts: Facts, base: np.ndarray[Any, Any] | None = None):
        self.facts = facts
        self.memory = base
        """A row-major array: all of the memory. None until somebody asks for it."""
        self.bounds: tuple[int, int] | None = None
        """The known bounds of its elements, if they are indices."""
        self.lease: weakref.ref[Any] | None = None
        """The owner, for NumPy, of memory that code outside may read and write; it dies with the last such array."""
        self.origin: Any = None
        """The user's place (traces.py) where NumPy made a small array, if this is one."""
        self.owner: Any = None
        """The recorder that has operations on it which have not run, or the error that kept them from it."""
        self.slot = 0
        """Its number among the storages of the owner."""
        self.is_filled = True
        """Whether no recorded operation is to write to it."""

    @property
    def base(self) -> np.ndarray[Any, Any]:
        if self.memory is None:
            self.memory = EMPTY(self.facts.shape, self.facts.dtype)
        return self.memory

    def is_leased(self) -> bool:
        """Whether code outside has an alias through which it can write at any time."""
        if self.lease is not None and self.lease() is None:
            self.lease = None
        return self.lease is not None

    def is_alone(self) -> bool:
        """Whether no other array is made of the memory."""
        return self.memory is None or (self.memory.base is None and sys.getrefcount(self.memory) == 2)

    def release(self) -> None:
        """Give the memory back: nobody can ask for its values."""
        if not self.is_leased():
            self.memory = _NOTHING

    def take(self, result: np.ndarray[Any, Any]) -> None:
        """Hold the values of an array that nobody else has: in its place, if no other array is made of the memory."""
        if self.is_alone() and result.flags.c_contiguous:
            self.memory = result
        else:
            np.copyto(self.base, result)

    def share(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """An alias for code outside of an array of this memory."""
        is_buffer = array.dtype.char in _ELEMENTS_OF_BUFFERS
        shared = _AS_ARRAY(memoryview(cast(Any, array)) if is_buffer else _Lease(array))
        # NumPy makes a memoryview of its own.
        self.lease = weakref.ref(shared.base)
        if not array.flags.writeable:
            shared.flags.writeable = False
        return shared


def held(storages: Sequence[Storage]) -> list[bool]:
    """Which of the storages have arrays, or aliases outside, beside the sequence: somebody can ask for their values."""
    count, ours = sys.getrefcount, _counted[0]
    return [count(one) > ours or one.lease is not None for one in storages]


_counted = [1]
"""References to an element that nobody else has, while `held` counts them."""
while held([Storage(facts_of((), np.dtype(bool)))])[0]:
    _counted[0] += 1


class Read:
    """An operand of a recorded operation: all of a storage, or a view of it."""

    __slots__ = ("place", "storage")

    def __init__(self, storage: Storage, place: Place | None):
        self.storage = storage
        self.place = place

    def array(self) -> np.ndarray[Any, Any]:
        return self.storage.base if self.place is None else self.place.of(self.storage.base)


class Number:
    """An operand that is a number: a constant of the program, or a parameter once it was seen to change."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


def number_key(value: Any) -> Any:
    """Equal for numbers that the program cannot tell apart: 0.0 and -0.0 are different, NaN equals itself."""
    return value if value and value == value else repr(value)
