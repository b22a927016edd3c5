"""Signatures whose arguments include compile-time constants of XLA, such as a shape: one program for each value."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from .programs import Program

Make = Callable[[Mapping[int, Any]], Program]
"""The program in which the leaves at these places have these values. Raises TensorFlow's error if it needs more."""

_NEEDS_VALUES = "must be a compile-time constant"


class ByValue:
    """The programs of one signature, by the values of the leaves that TensorFlow builds into them."""

    def __init__(self, make: Make, places: Sequence[int]):
        self._make = make
        self._places = tuple(places)
        self._known: dict[Hashable, Program] = {}

    @property
    def takes_all(self) -> bool:
        """Whether there is one program, which takes all leaves."""
        return not self._places

    def without(self, at: int) -> tuple[int, ...]:
        """The places of constants but one."""
        return tuple(each for each in self._places if each != at)

    def programs(self) -> tuple[Program, ...]:
        return tuple(self._known.values())

    def program(self, leaves: Sequence[Any]) -> tuple[Program, list[Any]]:
        """The program for the leaves of a call, and those that it takes."""
        fixed = {at: leaves[at] for at in self._places}
        key = tuple(np.asarray(each).tobytes() for each in fixed.values())
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._make(fixed)
        return found, [each for at, each in enumerate(leaves) if at not in fixed]


def made(make: Make, leaves: Sequence[Any]) -> ByValue:
    """
    The programs of a signature, of which the one for these leaves is made.

    Where TensorFlow asks for compile-time constants, the integers among the leaves become constants, then all leaves;
    of these each one becomes an argument again that need not be one. Raises TensorFlow's first error where that is not
    enough, as for a shape that is the value of a variable.
    """
    try:
        return _known(make, leaves, ())
    except ValueError as error:
        if _NEEDS_VALUES not in str(error):
            raise
        first = error
    integers = [at for at, leaf in enumerate(leaves) if np.dtype(_numpy(leaf)).kind in "iub"]
    for places in (integers, list(range(len(leaves)))):
        found = _attempt(make, leaves, places)
        if found is None:
            continue
        for at in places if len(places) > 1 else ():
            found = _attempt(make, leaves, found.without(at)) or found
        return found
    raise first


def _attempt(make: Make, leaves: Sequence[Any], places: Sequence[int]) -> ByValue | None:
    try:
        return _known(make, leaves, places)
    except ValueError as error:
        if _NEEDS_VALUES not in str(error):
            raise
        return None


def _known(make: Make, leaves: Sequence[Any], places: Sequence[int]) -> ByValue:
    found = ByValue(make, places)
    found.program(leaves)
    return found


def _numpy(leaf: Any) -> Any:
    """The dtype of a tensor or array."""
    return getattr(leaf.dtype, "as_numpy_dtype", leaf.dtype)
