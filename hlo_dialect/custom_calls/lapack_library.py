"""The LAPACK of the `scipy-openblas32` wheel, called through ctypes: loaded when a program first needs it."""

from __future__ import annotations

import ctypes
import importlib
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..types import Array

LIBRARY = "LAPACK (scipy-openblas32)"
_NAMES = ("libscipy_openblas.so", "libscipy_openblas.dylib", "libscipy_openblas.dll")
_lock = threading.Lock()


class LapackMissing(RuntimeError):
    """There is no LAPACK to call."""


@lru_cache(maxsize=1)
def _library() -> Any:
    """The shared library. Raises LapackMissing."""
    try:
        wheel: Any = importlib.import_module("scipy_openblas32")
    except ImportError as error:
        raise LapackMissing("the package scipy-openblas32 is not installed: pip install scipy-openblas32") from error
    for name in _NAMES:
        path = Path(str(wheel.get_lib_dir()), name)
        if path.exists():
            return ctypes.CDLL(str(path))
    raise LapackMissing(f"there is no OpenBLAS library in {wheel.get_lib_dir()}")


@lru_cache(maxsize=256)
def routine(name: str) -> Any:
    """A Fortran routine by its name ("spotrf"): every argument is a pointer, lengths of strings follow them."""
    with _lock:
        function = getattr(_library(), f"scipy_{name}_")
    function.restype = None
    return function


def prefix_of(dtype: np.dtype[Any]) -> str:
    """The letter that LAPACK's names begin with for matrices of a dtype."""
    return {"f4": "s", "f8": "d", "c8": "c", "c16": "z"}[dtype.str[1:]]


def call(name: str, *arguments: str | int | Array | None) -> int:
    """Call a routine of LAPACK as `call_without_info`; the value of its last argument, `info`, which is added."""
    info = np.zeros(1, np.int32)
    call_without_info(name, *arguments, info)
    return int(info[0])


def call_without_info(name: str, *arguments: str | int | Array | None) -> None:
    """
    Call a routine.

    A str is passed as characters, an int as an INTEGER, an array by its address (its memory is in Fortran's order
    already), None as a null pointer.
    """
    passed: list[Any] = []
    lengths: list[Any] = []
    for argument in arguments:
        match argument:
            case str():
                passed.append(ctypes.c_char_p(argument.encode("ascii")))
                lengths.append(ctypes.c_size_t(len(argument)))
            case int():
                passed.append(ctypes.byref(ctypes.c_int(argument)))
            case None:
                passed.append(None)
            case _:
                passed.append(ctypes.c_void_p(argument.__array_interface__["data"][0]))
    routine(name)(*passed, *lengths)


def call_with_workspace(
    name: str, dtype: np.dtype[Any], before: Sequence[Any], after: Sequence[Any] = (), real_work: Array | None = None
) -> int:
    """
    Call a routine that takes a workspace `work, lwork` between its other arguments, of the size that it asks for.

    `real_work`: the real array that routines on complex matrices take behind them.
    """
    asked = np.zeros(1, dtype)
    extra = [] if real_work is None else [real_work]
    info = call(name, *before, asked, -1, *extra, *after)
    if info != 0:
        return info
    work = np.empty(max(1, int(asked[0].real)), dtype)
    return call(name, *before, work, work.size, *extra, *after)


def by_columns(matrices: Array) -> Array:
    """A copy of a batch of matrices in Fortran's order, their dimensions exchanged: (.., columns, rows)."""
    return np.array(np.swapaxes(matrices, -1, -2), order="C")


def by_rows(matrices: Array) -> Array:
    """The inverse of `by_columns`; a view."""
    return np.swapaxes(matrices, -1, -2)
