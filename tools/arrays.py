"""Arrays of hlo-run: those that a program takes, from files or at random, and comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import ml_dtypes
import numpy as np

from ..hlo_dialect.numbers.number_semantics import integer_bounds, is_integer_dtype
from ..hlo_dialect.ops.check_calls import ulp_distance
from ..hlo_dialect.types import Array, ArrayType
from .array_files import is_builtin
from .streams import StreamError

RTOL = {
    "float64": 1e-9,
    "complex128": 1e-9,
    "float32": 1e-4,
    "complex64": 1e-4,
    "float16": 4e-3,
    "bfloat16": 3e-2,
}
"""
Relative tolerance by element type: relative to an element's magnitude, or to the output's RMS if that is larger. A
narrower float may be off by one unit in the last place.
"""


# Given ---------------------------------------------------------------------------------------------------------


class MisfitError(StreamError):
    """Arrays that are not those that the program takes or returns."""


def pick(
    stored: Mapping[str, Array], wanted: Sequence[ArrayType], prefix: str, names: Sequence[str | None], path: str
) -> list[Array]:
    """
    The arrays of a file for the types `wanted`: those named `in_0, in_1, ..` (the prefix), else those with the names of
    the arguments, else all in file order. Raises StreamError.
    """
    numbered = [f"{prefix}{i}" for i in range(len(wanted))]
    if all(key in stored for key in numbered) and f"{prefix}{len(wanted)}" not in stored:
        keys = numbered
    elif wanted and all(name is not None and name in stored for name in names) and len(names) == len(wanted):
        keys = [name for name in names if name is not None]
    elif len(stored) == len(wanted):
        keys = list(stored)
    else:
        raise MisfitError(
            f"{path} has {_arrays(len(stored))} ({', '.join(stored) or 'none'}); the program needs {len(wanted)}: "
            f"{', '.join(f'{key} of type {one.text}' for key, one in zip(numbered, wanted, strict=True))}"
        )
    return [typed(stored[key], one, f"{path}: {key}") for key, one in zip(keys, wanted, strict=True)]


def _arrays(count: int) -> str:
    return "1 array" if count == 1 else f"{count} arrays"


def typed(array: Array, wanted: ArrayType, what: str) -> Array:
    """
    Convert a stored array to the wanted type. Element types that NumPy lacks are stored as raw bytes; a scalar may be
    stored as an array of one element. Raises StreamError.
    """
    if array.dtype != wanted.dtype and not is_builtin(wanted.dtype):
        shape = wanted.shape if wanted.is_static else array.shape
        if array.nbytes == math.prod(shape) * wanted.dtype.itemsize:
            array = np.frombuffer(array.tobytes(), wanted.dtype).reshape(shape)
    if array.size == 1 and wanted.shape == ():
        array = array.reshape(())
    if array.dtype != wanted.dtype or not wanted.takes(array.shape):
        raise MisfitError(f"{what} is {array.dtype}{list(array.shape)}; the program has {wanted.text} there")
    return array


# Random ------------------------------------------------------------------------------------------------------------


def random_arrays(wanted: Sequence[ArrayType], seed: int) -> list[Array]:
    """
    Random inputs by seed: floats are standard normal, signed integers in [-8, 8), unsigned in [0, 16), narrower
    integers in their range, booleans either; powers of two (f8E8M0FNU) in [1/16, 16).
    """
    rng = np.random.default_rng(seed)
    return [_random(rng, one) for one in wanted]


def _random(rng: np.random.Generator, wanted: ArrayType) -> Array:
    kind = wanted.dtype.kind
    if kind == "b":
        return rng.integers(0, 2, wanted.shape).astype(np.bool_)
    if is_integer_dtype(wanted.dtype):
        least, greatest = integer_bounds(wanted.dtype)
        return rng.integers(max(least, -8), min(greatest, 7 if least else 15) + 1, wanted.shape).astype(wanted.dtype)
    if wanted.dtype.name == "float8_e8m0fnu":
        return np.exp2(rng.integers(-4, 4, wanted.shape)).astype(wanted.dtype)
    if kind == "c":
        values = rng.standard_normal(wanted.shape) + 1j * rng.standard_normal(wanted.shape)
        return np.asarray(values).astype(wanted.dtype)
    return np.asarray(rng.standard_normal(wanted.shape)).astype(wanted.dtype)


# Comparison --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """
    The difference between an output and the expected array: worst errors over all elements, and whether they are
    accepted.
    """

    absolute: float
    relative: float
    ulp: int | None
    """The largest error in ulps; None if undefined: integers, or shapes and types that differ."""
    problem: str | None
    """The reason to reject the output; None if it is accepted."""


def tolerance_of(dtype: np.dtype[Any]) -> float:
    """The relative tolerance of a float or complex dtype."""
    found = RTOL.get(dtype.name)
    return float(cast(Any, ml_dtypes).finfo(dtype).eps) if found is None else found


def compare(actual: Array, expected: Array, rtol: float | None = None, signed_zeros: bool = False) -> Difference:
    """
    Compare an output. Integers and booleans must be equal; floats within `rtol` (default by type) of max(|expected|,
    RMS), with NaN and infinities at the same indices.
    """
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        problem = f"got {actual.dtype}{list(actual.shape)}, expected {expected.dtype}{list(expected.shape)}"
        return Difference(math.inf, math.inf, None, problem)
    if actual.dtype.kind == "b" or is_integer_dtype(actual.dtype):
        return _compare_integers(actual, expected)
    wide = np.complex128 if actual.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        got, want = actual.astype(wide), expected.astype(wide)
        finite = np.isfinite(want)
        problem = _special_values(got, want, finite, signed_zeros)
        both = finite & np.isfinite(got)
        error, size = np.abs(got - want)[both], np.abs(want)[both]
        rms = float(np.sqrt(np.mean(size**2))) if size.size else 0.0
        scale = np.maximum(size, rms)
        worst = float(np.max(error / np.where(scale == 0, 1, scale), initial=0.0))
    tolerance = tolerance_of(actual.dtype) if rtol is None else rtol
    if problem is None and worst > tolerance:
        problem = f"relative error {worst:.2e} is above {tolerance:.0e} {_where(got, want, both, scale)}"
    ulp = int(np.max(ulp_distance(actual, expected)[both], initial=0))
    return Difference(float(np.max(error, initial=0.0)), worst, ulp, problem)


def _compare_integers(actual: Array, expected: Array) -> Difference:
    differs = np.asarray(actual != expected)
    if not differs.any():
        return Difference(0.0, 0.0, None, None)
    got, want = actual[differs].astype(object), expected[differs].astype(object)
    worst = float(max(abs(int(a) - int(b)) for a, b in zip(got, want, strict=True)))
    first = [int(i) for i in np.argwhere(differs)[0]]
    count = int(np.count_nonzero(differs))
    problem = f"{count} of {actual.size} elements differ, first at {first}: {got[0]}, expected {want[0]}"
    return Difference(worst, worst, None, problem)


def _special_values(got: Array, want: Array, finite: Array, signed_zeros: bool) -> str | None:
    same = np.isfinite(got) == finite
    same &= finite | (got == want) | (np.isnan(got) & np.isnan(want))
    if not same.all():
        first = tuple(int(i) for i in np.argwhere(~same)[0])
        return f"NaN or infinity in other places, first at {list(first)}: {got[first]}, expected {want[first]}"
    zero = (got == 0) & (want == 0)
    if signed_zeros and not np.array_equal(np.signbit(np.real(got)[zero]), np.signbit(np.real(want)[zero])):
        return "zeros of other signs"
    return None


def _where(got: Array, want: Array, both: Array, scale: Array) -> str:
    """The index of the worst element."""
    places = np.argwhere(both)
    error = np.abs(got - want)[both] / np.where(scale == 0, 1, scale)
    worst = tuple(int(i) for i in places[int(np.argmax(error))])
    return f"at {list(worst)}: {got[worst]}, expected {want[worst]}"
