"""Whether values are of certain classes, remembered by class."""

from __future__ import annotations

from collections.abc import Callable


def one_of(*classes: type) -> Callable[[object], bool]:
    """
    A function that tells whether a value is of one of these classes, as `isinstance` does.

    xDSL's classes are abstract ones of Python, for which `isinstance` takes several times as long as a lookup, the more
    so with many classes. For questions about every operation of a module.
    """
    known: dict[type, bool] = {}

    def is_one(value: object) -> bool:
        cls = type(value)
        found = known.get(cls)
        if found is None:
            found = known[cls] = issubclass(cls, classes)
        return found

    return is_one
