"""`xhlo.autocluster` and `xhlo.asarray`: how arrays of code that was never decorated come to record."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import sys
from contextlib import ContextDecorator
from functools import cache
from typing import Any

import numpy as np

from ...hlo_dialect.types import element_type_of
from ..numpy.entrances import TAKING, Entrance, entering
from . import dispatch, following, recorder, report  # noqa: F401  # pyright: ignore[reportUnusedImport]
from .arrays import ClusterArray
from .calls import CREATING, Target, creation_target, function_target, ufunc_target
from .clusters import SETTINGS
from .traces import GIVEN_UP, origin_of

_ARRAY, _UFUNC, _DISPATCHED = np.ndarray, np.ufunc, type(np.sum)
"""NumPy's arrays, and the functions that arrays of other kinds may take over. In a block, to ask NumPy takes long."""


_PASSING_ARRAYS, _PASSING_NUMBERS = 256, 16
"""How often a function is called directly where it gave a small array that need not record, or no array."""


@cache
def _target(function: Any) -> tuple[Target | None, int]:
    """A function that takes arrays that record, and the number of its operands, any for -1; None for others."""
    if type(function) is _UFUNC:
        return ufunc_target(function), function.nin
    return (function_target(function), -1) if type(function) is _DISPATCHED else (None, -1)


def _enter(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], entrance: Entrance) -> Any:
    """New arrays record; np.asarray and its like give an array that records as it is, or a copy."""
    if args and type(args[0]) is ClusterArray:
        # As NumPy's protocols would call it.
        target, operands = _target(function)
        if target is not None and (operands < 0 or (len(args) == operands and not kwargs)):
            if len(args) == 1 and not kwargs:
                return following.call_of_one(target, args[0])
            if operands == 2:
                return following.call_of_two(target, *args)
            return dispatch.call(target, args, kwargs)
    if function in TAKING and type(args[0] if args else None) is ClusterArray and kwargs.keys() <= {"dtype"}:
        found, dtype = args[0], (*args[1:], kwargs.get("dtype"))[0]
        if not found.is_scalar and len(args) < 3:
            if dtype is not None and np.dtype(dtype) != found.dtype:
                return found.astype(dtype)
            if TAKING[function] == "contiguous" and not found.flags.c_contiguous:
                return found.copy()
            return found.copy() if TAKING[function] == "copy" else found
    if function in CREATING:
        user = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
        if GIVEN_UP and (id(user.f_code), user.f_lasti) in GIVEN_UP:
            entrance.place.pass_by(_PASSING_ARRAYS, _enter)
        return dispatch.call(creation_target(function), args, kwargs)
    if type(function) is not _UFUNC and type(function) is not _DISPATCHED:
        # Code in C, which takes other kinds of arrays apart element by element.
        args = tuple([one.shared("a function takes it") if type(one) is ClusterArray else one for one in args])
    box = [function(*args, **kwargs)]
    found = box[0]
    if type(found) is tuple or type(found) is list:
        return type(found)([dispatch.entered(found, number) for number in range(len(found))])
    if type(found) is not _ARRAY:
        entrance.place.pass_by(_PASSING_NUMBERS, _enter)
        return found
    is_small = found.nbytes <= dispatch.SMALL
    del found
    user = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    if is_small and (id(user.f_code), user.f_lasti) in GIVEN_UP:
        entrance.place.pass_by(_PASSING_ARRAYS, _enter)
        return box[0]
    found = dispatch.entered(box)
    if is_small and type(found) is ClusterArray:
        found.storage.origin = origin_of(user.f_code, user.f_lasti)
    return found


class autocluster(ContextDecorator):
    """
    NumPy functions called in this block return arrays that record operations; clusters of these are compiled.

    A cluster is compiled when it is recorded for the `compile_after`-th time, if it has at least `min_operations`;
    else NumPy runs it. These two hold for all threads. Arrays keep recording after the block.

    >>> import numpy as np
    >>> import xhlo
    >>> with xhlo.autocluster():
    ...     x = np.linspace(0, 1, 5)
    ...     y = np.sqrt(x) + x
    >>> float(y.sum())
    5.573132...
    """

    def __init__(self, *, compile_after: int = 2, min_operations: int = 2):
        self._settings = compile_after, min_operations
        self._entered: list[tuple[entering, int, int]] = []

    def _recreate_cm(self) -> autocluster:
        """As a decorator: a block of its own for each call."""
        compile_after, min_operations = self._settings
        return autocluster(compile_after=compile_after, min_operations=min_operations)

    def __enter__(self) -> None:
        block = entering(_enter)
        block.__enter__()
        self._entered.append((block, SETTINGS.compile_after, SETTINGS.min_operations))
        SETTINGS.compile_after, SETTINGS.min_operations = self._settings

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        block, *before = self._entered.pop()
        try:
            block.__exit__()
            if kind is None:
                recorder.flush("the block ends")
        finally:
            SETTINGS.compile_after, SETTINGS.min_operations = before


def asarray(x: Any, dtype: Any = None) -> Any:
    """
    An array that records operations: a copy of an array, nested lists or a number; one that records already stays.

    Raises TypeError for elements that no program computes with, such as objects and strings.

    >>> import numpy as np
    >>> import xhlo
    >>> x = xhlo.asarray([1.0, 4.0, 9.0])
    >>> np.asarray(np.sqrt(x) + 1)
    array([2., 3., 4.])
    """
    if type(x) is ClusterArray:
        return x if dtype is None or np.dtype(dtype) == x.dtype else x.astype(dtype)
    found = np.array(x, dtype, order="C")
    if element_type_of(found.dtype) is None:
        raise TypeError(f"arrays of {found.dtype} cannot record")
    return dispatch.holding(found)
