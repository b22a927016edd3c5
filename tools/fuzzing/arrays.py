"""
Element types, arrays and literals of random programs, and facts about an array's elements.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import ml_dtypes
import numpy as np

from ...hlo_dialect.types import Array

Shape = tuple[int, ...]

NARROW_FLOATS = ("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E3M4")
FLOATS = ("f32", "f64", "bf16", "f16", *NARROW_FLOATS)
SIGNED = ("i8", "i16", "i32", "i64", "i4", "i2")
UNSIGNED = ("ui8", "ui16", "ui32", "ui64", "ui4", "ui2")
INTEGERS = SIGNED + UNSIGNED
COMPLEX = {"complex<f32>": "f32", "complex<f64>": "f64"}
"""The complex types, each with the type of its parts."""
DTYPES: dict[str, np.dtype[Any]] = {
    "i1": np.dtype(np.bool_),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "complex<f32>": np.dtype(np.complex64),
    "complex<f64>": np.dtype(np.complex128),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f8E4M3FNUZ": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "f8E3M4": np.dtype(ml_dtypes.float8_e3m4),
    "i2": np.dtype(ml_dtypes.int2),
    "i4": np.dtype(ml_dtypes.int4),
    "ui2": np.dtype(ml_dtypes.uint2),
    "ui4": np.dtype(ml_dtypes.uint4),
    **{f"i{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
}
EPSILON = {
    "f16": 2.0**-11,
    "bf16": 2.0**-8,
    "f32": 2.0**-24,
    "f64": 2.0**-53,
    "f8E4M3FN": 2.0**-4,
    "f8E5M2": 2.0**-3,
    "f8E4M3FNUZ": 2.0**-4,
    "f8E3M4": 2.0**-5,
}
"""The error of one rounding: half a unit in the last place of 1."""
LARGEST = {
    "f16": 3e4,
    "bf16": 1e30,
    "f32": 1e30,
    "f64": 1e300,
    "f8E4M3FN": 400.0,
    "f8E5M2": 3e4,
    "f8E4M3FNUZ": 200.0,
    "f8E3M4": 14.0,
}
"""The largest finite bound; larger bounds count as infinite."""


@dataclass(frozen=True)
class Claim:
    """Facts about a float tensor's elements. Integers and booleans have the default."""

    bound: float = math.inf
    """The bound on the magnitude of finite elements; infinite if there may be infinities."""
    error: float = 0.0
    """The bound on the accumulated absolute error."""
    relative: float = 0.0
    """The relative error; if it is not 0 the elements may have any value, and are only moved and returned."""
    whole: bool = False
    """All elements are integral, or NaN."""
    nan: bool = False

    @property
    def exact(self) -> bool:
        return self.error == 0 and self.relative == 0

    def or_else(self, other: Claim) -> Claim:
        """The claim for a tensor whose elements come from two tensors."""
        return Claim(
            max(self.bound, other.bound),
            max(self.error, other.error),
            max(self.relative, other.relative),
            self.whole and other.whole,
            self.nan or other.nan,
        )


EXACT = Claim()
ANYTHING = Claim(nan=True)


def float_info(dtype: np.dtype[Any]) -> Any:
    """The limits of a floating-point type, NumPy's own or another."""
    return cast(Any, ml_dtypes).finfo(dtype)


def integer_limits(dtype: str) -> tuple[int, int]:
    """The smallest and the largest integer of a type."""
    info = cast(Any, ml_dtypes).iinfo(DTYPES[dtype])
    return int(info.min), int(info.max)


def random_array(random_: random.Random, dtype: str, shape: Shape, kind: str, denormals: bool = True) -> Array:
    """
    A random array of a kind: "whole" small integers, "moderate" numbers, "special" with NaN, infinities, denormals
    (floats), or with the extreme numbers (integers).
    """
    numbers = np.random.default_rng(random_.getrandbits(32))
    target = DTYPES[dtype]
    if dtype == "i1":
        return numbers.integers(0, 2, shape).astype(np.bool_)
    if dtype in INTEGERS:
        low, high = integer_limits(dtype)
        if kind == "special":
            wide = target if target.itemsize > 1 or dtype in ("i8", "ui8") else np.dtype(np.int8)
            values = numbers.integers(low, high, shape, dtype=wide.type, endpoint=True)
            edges = np.array([0, 1, high, low, high - 1], wide)
            return np.where(numbers.random(shape) < 0.3, numbers.choice(edges, shape), values).astype(target)
        return np.asarray(numbers.integers(max(low, -5), min(high, 5), shape, endpoint=True)).astype(target)
    if dtype in COMPLEX:
        parts = numbers.integers(-4, 5, (2, *shape))
        return np.asarray(parts[0] + 1j * parts[1]).astype(target)
    if kind == "whole":
        return np.asarray(numbers.integers(-4, 5, shape)).astype(target)
    values = np.asarray(numbers.uniform(-2, 2, shape)).astype(target)
    if kind == "special":
        info = float_info(target)
        edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -info.tiny, info.max, info.min, 0.5, 2.5, 1e3])
        if denormals:
            edges = np.append(edges, info.smallest_subnormal)
        edges = edges.astype(target)
        values = np.where(numbers.random(shape) < 0.3, numbers.choice(edges, shape), values).astype(target)
    return np.asarray(values, target)


def claim_of(array: Array, dtype: str) -> Claim:
    """The claim that holds for the elements of an array."""
    if dtype in COMPLEX:
        return claim_of(np.stack((np.real(array), np.imag(array))), COMPLEX[dtype])
    if dtype not in FLOATS:
        return EXACT
    wide = array.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    bound = float(np.max(np.abs(finite), initial=0)) if not np.isinf(wide).any() else math.inf
    bound = math.inf if bound > LARGEST[dtype] else bound
    return Claim(
        bound, whole=bool(math.isfinite(bound) and (finite == np.rint(finite)).all()), nan=bool(np.isnan(wide).any())
    )


def dense_text(array: Array, dtype: str, by_bits: bool) -> str:
    """The literal of a dense attribute; a 0-d array becomes a splat of any shape."""
    if array.size == 0:
        return ""
    if dtype == "i1":
        return _nested(array, lambda element: "true" if element else "false")
    if dtype in INTEGERS:
        return _nested(array, lambda element: str(int(element)))
    if dtype in COMPLEX:
        return _nested(array, lambda element: f"({element.real:e}, {element.imag:e})")
    if by_bits and array.ndim:
        return f'"0x{array.tobytes().hex().upper()}"'
    bits = (
        array.view(f"u{array.dtype.itemsize}") if array.ndim else array.reshape(1).view(f"u{array.dtype.itemsize}")[0]
    )
    digits = 2 * array.dtype.itemsize
    return _nested(bits, lambda element: f"0x{int(element):0{digits}X}")


def _nested(array: Any, spell: Callable[[Any], str]) -> str:
    if np.ndim(array) == 0:
        return spell(array)
    return "[" + ", ".join(_nested(part, spell) for part in array) + "]"
