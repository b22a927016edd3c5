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

from ..arrays import Array
from .batched_calls import Argument, Each, Scratch, call_each

LIBRARY = "LAPACK (scipy-openblas32)"
_NAMES = ("libscipy_openblas.so", "libscipy_openblas.dylib", "libscipy_openblas.dll")
_lock = threading.RLock()  # a handler of a signal may run a program meanwhile


class LapackMissing(RuntimeError):
    """LAPACK is not available."""


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
        function = _scipy_routine(name) if name in _SCIPYS else None
        if function is None:
            function = getattr(_library(), f"scipy_{name}_")
    function.restype = None
    return function


def address_of_routine(name: str) -> int:
    """The address of a Fortran routine. Raises LapackMissing."""
    return _address(routine(name))


def address_of_set_threads() -> int:
    """
    The address of `void set_num_threads(int)`, which is about all later calls of the process. Raises LapackMissing.

    Every call has one thread: the bits of OpenBLAS's results depend on their number, and its threads wait by spinning.
    Since all callers set the same number, calls at the same time do not disturb each other.
    """
    return _address(_library().scipy_openblas_set_num_threads)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


_SCIPYS = frozenset(("cgees", "zgees"))
"""
Routines taken from SciPy's own LAPACK where SciPy is installed: the phases of complex Schur vectors are free, differ
between versions of LAPACK, and are SciPy's on XLA:CPU.
"""


def _scipy_routine(name: str) -> Any:
    """A routine of `scipy.linalg.cython_lapack`, which exports C functions as capsules; None without SciPy."""
    try:
        capsule = importlib.import_module("scipy.linalg.cython_lapack").__pyx_capi__[name]
    except (ImportError, KeyError):
        return None
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.CFUNCTYPE(None)(pointer_of(capsule, name_of(capsule)))


def prefix_of(dtype: np.dtype[Any]) -> str:
    """The first letter of LAPACK's names for matrices of a dtype."""
    return {"f4": "s", "f8": "d", "c8": "c", "c16": "z"}[dtype.str[1:]]


def call(name: str, batch: range, *arguments: Argument) -> Array:
    """
    Call a LAPACK routine as `call_without_info` does. Returns the values of `info`, its last argument, which is added.
    """
    info: Array = np.zeros(batch.stop, np.int32)
    call_without_info(name, batch, *arguments, Each(info, 0))
    return info[batch.start :]


def call_without_info(name: str, batch: range, *arguments: Argument) -> None:
    """Call a routine for the matrices of a batch: see `call_each`."""
    if batch:
        function = routine(name)
        if name not in _SCIPYS:
            _library().scipy_openblas_set_num_threads(1)
        call_each(function, batch, arguments)


def call_with_workspace(
    name: str,
    dtype: np.dtype[Any],
    batch: range,
    before: Sequence[Argument],
    after: Sequence[Argument] = (),
    real_work: Scratch | None = None,
) -> Array:
    """
    Call a routine that takes a workspace `work, lwork` between its other arguments, of the size it asks for.

    `real_work`: the real memory that routines on complex matrices take after them.
    """
    if not batch:
        return np.zeros(0, np.int32)
    extra = () if real_work is None else (real_work,)
    stated = (name, *(argument if isinstance(argument, str | int) else None for argument in before))
    size = _sizes.get(stated)
    if size is None:
        asked: Array = np.zeros(1, dtype)
        one = range(batch.start, batch.start + 1)
        info = call(name, one, *before, asked, -1, *extra, *after)
        if info[0] != 0:
            return np.full(len(batch), info[0], np.int32)
        size = max(1, int(asked[0].real))
        if len(_sizes) >= _SIZES_KEPT:
            _sizes.clear()
        _sizes[stated] = size
    return call(name, batch, *before, Scratch(size, dtype), size, *extra, *after)


_sizes: dict[tuple[str | int | None, ...], int] = {}
"""Workspace sizes that routines have asked for, by name, sizes and letters."""

_SIZES_KEPT = 4096


def by_columns(matrices: Array) -> Array:
    """A copy of a batch of matrices in Fortran's order, their dimensions exchanged: (.., columns, rows)."""
    return np.array(np.swapaxes(matrices, -1, -2), order="C")


def by_rows(matrices: Array) -> Array:
    """The inverse of `by_columns`; a view."""
    return np.swapaxes(matrices, -1, -2)
