"""
`Storage`: the memory that an array and its views share.

The memory is there from the beginning, at first without values: NumPy's own views of it are the views of the array, and
a write to one is seen by all. Recorded operations fill it later.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import sys
import weakref
from typing import Any

import numpy as np


class Handle:
    """Held by the arrays of a storage, and by nothing else: while it lives, somebody can ask for the values."""

    __slots__ = ("__weakref__", "storage")

    def __init__(self, storage: Storage):
        self.storage = storage


class _Lease:
    """The owner, for NumPy, of memory that code outside may read and write; it dies with the last such array."""

    def __init__(self, array: np.ndarray[Any, Any]):
        self._array = array
        self.__array_interface__ = array.__array_interface__


_NOTHING: np.ndarray[Any, Any] = np.empty(0)


class Storage:
    __slots__ = ("base", "bounds", "handle", "is_filled", "lease", "pending")

    def __init__(self, base: np.ndarray[Any, Any]):
        self.base = base
        """A row-major array: all of the memory."""
        self.is_filled = True
        """Whether no recorded operation is to write to it."""
        self.bounds: tuple[int, int] | None = None
        """The known bounds of its elements, if they are indices."""
        self.handle: weakref.ref[Handle] | None = None
        self.lease: weakref.ref[_Lease] | None = None
        self.pending: Any = None
        """The recorder that has operations on it which have not run, or the error that kept them from it."""

    def is_live(self) -> bool:
        """Whether an array of it, or an alias outside, exists."""
        return (self.handle is not None and self.handle() is not None) or self.is_leased()

    def is_leased(self) -> bool:
        """Whether code outside has an alias through which it can write at any time."""
        if self.lease is not None and self.lease() is None:
            self.lease = None
        return self.lease is not None

    def is_alone(self) -> bool:
        """Whether no other array is made of the memory."""
        return self.base.base is None and sys.getrefcount(self.base) == 2

    def release(self) -> None:
        """Give the memory back, if nobody can ask for its values."""
        if not self.is_live():
            self.base = _NOTHING

    def take(self, result: np.ndarray[Any, Any]) -> None:
        """Hold the values of an array that nobody else has: in its place, if no other array is made of the memory."""
        if self.is_alone() and result.flags.c_contiguous:
            self.base = result
        else:
            np.copyto(self.base, result)

    def share(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """An alias for code outside of an array of this memory."""
        lease = _Lease(array)
        self.lease = weakref.ref(lease)
        shared = np.asarray(lease)
        if not array.flags.writeable:
            shared.flags.writeable = False
        return shared


class Read:
    """An operand of a recorded operation: all of a storage, or a view of it."""

    __slots__ = ("storage", "view")

    def __init__(self, storage: Storage, view: np.ndarray[Any, Any] | None):
        self.storage = storage
        self.view = view

    def array(self) -> np.ndarray[Any, Any]:
        return self.storage.base if self.view is None else self.view

    def place(self) -> Any:
        """A key that tells views of one storage apart, beside their types: None for all of it, or where it begins."""
        if self.view is None:
            return None
        start = self.view.__array_interface__["data"][0] - self.storage.base.__array_interface__["data"][0]
        return start, self.view.shape, self.view.strides, self.view.dtype.char


class Number:
    """An operand that is a number: a constant of the program, or a parameter once it was seen to change."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def key(self) -> Any:
        """Equal for numbers that the program cannot tell apart: 0.0 and -0.0 are different, NaN equals itself."""
        value = self.value
        return value if value and value == value else repr(value)
