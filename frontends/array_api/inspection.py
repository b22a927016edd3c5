"""Data types, and what the namespace has."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .array import CPU

DTYPES: dict[str, Any] = {
    name: getattr(np, name)
    for name in (
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"
    ).split()
}
CONSTANTS: dict[str, Any] = {name: getattr(np, name) for name in ("e", "inf", "nan", "newaxis", "pi")}


def _dtype(value: Any) -> Any:
    # The types of NumPy's scalars have the attributes of their instances.
    return value.dtype if hasattr(value, "__array_namespace__") and not isinstance(value, type) else value


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether a dtype, or the dtype of an array, goes into another one without loss."""
    return np.can_cast(_dtype(from_), to)


@dataclass(frozen=True)
class FloatInfo:
    """The limits of a floating-point dtype; of a complex one those of its parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Any


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a floating-point dtype, or of the dtype of an array."""
    found = np.finfo(_dtype(type))
    eps, largest, least, normal = map(float, (found.eps, found.max, found.min, found.smallest_normal))
    return FloatInfo(found.bits, eps, largest, least, normal, found.dtype)


def iinfo(type: Any, /) -> Any:
    """The limits of an integer dtype, or of the dtype of an array."""
    return np.iinfo(_dtype(type))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind, one of several kinds, or a dtype."""
    return np.isdtype(dtype, kind)


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype that all promote to; numbers of Python are weak. Raises TypeError."""
    return np.result_type(*map(_dtype, arrays_and_dtypes))


class NamespaceInfo:
    """The capabilities of `xhlo.numpy`, see `__array_namespace_info__`."""

    def capabilities(self) -> dict[str, Any]:
        """The capabilities outside of compiled functions; inside of them sizes do not depend on elements."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        return CPU

    def devices(self) -> list[str]:
        return [CPU]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of arrays of Python's numbers, and of indices."""
        return {
            "real floating": np.dtype(np.float64),
            "complex floating": np.dtype(np.complex128),
            "integral": np.dtype(np.int64),
            "indexing": np.dtype(np.int64),
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The standard's dtypes of a kind, or of one of several kinds, by name."""
        found = {name: np.dtype(dtype) for name, dtype in DTYPES.items() if name != "float16"}
        return {name: dtype for name, dtype in found.items() if kind is None or np.isdtype(dtype, kind)}


def __array_namespace_info__() -> NamespaceInfo:
    """The namespace's properties: dtypes, devices, capabilities."""
    return NamespaceInfo()


INSPECTION: dict[str, Any] = {
    one.__name__: one for one in (can_cast, finfo, iinfo, isdtype, result_type, __array_namespace_info__)
}
