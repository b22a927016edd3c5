"""Classes for less: whether values are of certain ones, remembered by class, and records that are made often."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """
    A dataclass to whose fields nothing may assign, as the type checker sees to.

    An object of a frozen one, where Python sees to it, takes three times as long to make. For classes of which a
    compilation makes hundreds.
    """
    return dataclass(unsafe_hash=True)(cls)


class _Known(dict[type, bool]):
    """Whether classes are those, or of those, in `classes`."""

    classes: tuple[type, ...]

    def __missing__(self, cls: type) -> bool:
        found = self[cls] = issubclass(cls, self.classes)
        return found


def one_of(*classes: type) -> Callable[[object], bool]:
    """
    A function that tells whether a value is of one of these classes, as `isinstance` does.

    xDSL's classes are abstract ones of Python, for which `isinstance` takes several times as long as a lookup, the more
    so with many classes. For questions about every operation of a module.
    """
    known = _Known()
    known.classes = classes
    return lambda value: known[type(value)]
