"""
Arrays at the entry of a compiled program, in a file that loads no IR: what runs a program needs them.

types.py has the element types of the hlo dialect that they stand for, and exports these names.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[Any]]
"""A NumPy array of any element type that hlo knows, bfloat16 included (as `ml_dtypes.bfloat16`)."""

_NUMPY = frozenset(
    """
    bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128
    """.split()
)
_ML_DTYPES = frozenset(
    """
    int2 int4 uint2 uint4 bfloat16
    float8_e3m4 float8_e4m3 float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu
    float6_e2m3fn float6_e3m2fn float4_e2m1fn
    """.split()
)
"""The names of NumPy's own element types, and of those of the package ml_dtypes, which takes a while to load."""


@cache
def dtype_named(name: str) -> np.dtype[Any] | None:
    """The dtype of an element type by its name, such as `bfloat16`; None for others."""
    if name in _NUMPY:
        return np.dtype(name)
    if name not in _ML_DTYPES:
        return None
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))


@dataclass(frozen=True)
class ArrayType:
    """The type of an input or output: shape, -1 for unknown sizes, NumPy dtype, and hlo's spelling for messages."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    text: str

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def is_static(self) -> bool:
        return all(size >= 0 for size in self.shape)

    def takes(self, shape: Sequence[int]) -> bool:
        """Whether an array of this shape is of the type."""
        return len(shape) == len(self.shape) and all(
            known in (size, -1) for known, size in zip(self.shape, shape, strict=True)
        )


_DATA = object.__basicsize__
"""
Bytes from an array's object to the address of its elements: NumPy's C interface has that as the first field after
Python's own (`PyArrayObject_fields`), and compiled extensions read it there.
"""


def _stated_address(array: Array) -> int:
    return array.__array_interface__["data"][0]


def _read_address(array: Array) -> int:
    """As `_stated_address`, which makes a dictionary of everything else and takes ten times longer."""
    # An object that is no array, whatever it says of itself, has something else there.
    return _word(id(array) + _DATA).value if isinstance(array, np.ndarray) else _stated_address(array)  # pyright: ignore


_word = ctypes.c_size_t.from_address


def _choose() -> Callable[[Array], int]:
    # Elsewhere an object is not at its id.
    if sys.implementation.name != "cpython":
        return _stated_address
    samples: Sequence[Array] = (np.zeros(3), np.zeros((2, 2), np.int8)[1:], np.zeros(0))
    read = all(_read_address(sample) == _stated_address(sample) for sample in samples)
    return _read_address if read else _stated_address


address_of = _choose()
"""The address of an array's first element."""
