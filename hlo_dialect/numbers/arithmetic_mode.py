"""The mode of a thread's arithmetic in which the compiler computes."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from typing import Any

_ROOM = 256
"""Bytes, more than a fenv_t of any C library takes."""

_DEFAULT = -1
"""FE_DFL_ENV in glibc and musl; macOS has a variable instead."""

_Functions = tuple[Callable[[Any], int], Callable[[Any], int], Any]


@contextmanager
def default_arithmetic() -> Generator[None]:
    """
    Compute inside as a new process does: rounded to nearest, with subnormal numbers. The thread's mode returns after.

    JAX compiles on threads that take subnormal numbers for zeros, and libraries built with -ffast-math set that on the
    thread that loads them; NumPy and Python compute in the mode of their thread. Nothing changes on Windows, whose
    C library has no such functions (C17, 7.6.4).
    """
    functions = _functions()
    if functions is None:
        yield
        return
    get, set_, default = functions
    before = (ctypes.c_double * (_ROOM // 8))()
    get(before)
    set_(default)
    try:
        yield
    finally:
        set_(before)


@cache
def _functions() -> _Functions | None:
    """fegetenv, fesetenv, and the default environment."""
    if sys.platform == "win32":
        return None
    library = ctypes.CDLL(None)
    if sys.platform == "darwin":
        default: Any = ctypes.byref(ctypes.c_char.in_dll(library, "_FE_DFL_ENV"))
    else:
        default = ctypes.c_void_p(_DEFAULT)
    return library.fegetenv, library.fesetenv, default
