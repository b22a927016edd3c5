"""
Calls of programs by machine code that Python calls as a function: it checks the arrays and runs the program in about
100 nanoseconds, where Python takes microseconds (`targets/cpu/runtime/direct_call.py`).
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ...hlo_dialect.arrays import Array, ArrayType
from .runtime.direct_call import DATA, DTYPE, FLAGS, PYTHON, RANK, ROW_MAJOR, SIZES

MOST_ON_STACK = 32 << 10
"""The largest arena in bytes that lies on the stack of the thread that calls."""

_FASTCALL = 0x80
"""METH_FASTCALL: the function takes an array of arguments and their number."""


class _Definition(ctypes.Structure):
    """`PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    )


@lru_cache(maxsize=1)
def are_possible() -> bool:
    """Whether arrays lie in this Python's memory as the machine code reads them."""
    if sys.implementation.name != "cpython" or os.name != "posix" or object.__basicsize__ != DATA:
        return False
    return all(map(_is_read_right, (np.zeros((2, 3)), np.zeros((4, 2), np.int8)[:, 1], np.zeros(()))))


def _is_read_right(array: Array) -> bool:
    place = id(array)
    address, dtype = (ctypes.c_size_t.from_address(place + field).value for field in (DATA, DTYPE))
    rank, flags = (ctypes.c_int.from_address(place + field).value for field in (RANK, FLAGS))
    if rank != array.ndim or ctypes.c_size_t.from_address(place + object.__basicsize__ - 8).value != id(type(array)):
        return False
    sizes = (ctypes.c_ssize_t * rank).from_address(ctypes.c_size_t.from_address(place + SIZES).value) if rank else ()
    is_row_major = array.flags.c_contiguous and array.flags.aligned
    return (address, dtype, tuple(sizes), flags & ROW_MAJOR == ROW_MAJOR) == (
        array.__array_interface__["data"][0],
        id(array.dtype),
        array.shape,
        is_row_major,
    )


def python_functions() -> Mapping[str, int]:
    """The addresses of Python's functions that the machine code calls, by name."""
    return {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in PYTHON}


def direct_call(function: int, entry: int, arrays: Sequence[ArrayType], arena_bytes: int) -> Callable[..., bool] | None:
    """
    A function that runs a program on arrays, its arguments and then its results, of exactly these types and row-major,
    and returns True; for anything else it returns False and does nothing. None if there is no such function.

    `function`: the address of the machine code. `entry`: that of the program. Both must outlive the result.
    """
    if arena_bytes > MOST_ON_STACK:
        return None
    words = [entry, id(np.ndarray), arena_bytes, len(arrays)]
    for each in arrays:
        words += (id(each.dtype), len(each.shape), *each.shape)
    return _make(_definition(function), struct.pack(f"{len(words)}q", *words), None)


@cache
def _definition(function: int) -> Any:
    return ctypes.byref(_Definition(b"run", function, _FASTCALL, None))


_make: Callable[..., Any] = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.POINTER(_Definition), ctypes.py_object, ctypes.c_void_p
)(("PyCFunction_NewEx", ctypes.pythonapi))
