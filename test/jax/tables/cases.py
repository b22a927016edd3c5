"""
Cases: a function, its arguments, and how close its results on xhlo must be to XLA:CPU's.

A table is a list of `case(name, function, arguments..)`. An argument is an array, or a `Draw` such as `normal(3, 4)`
that makes one from the case's own random generator, also within tuples, lists and dictionaries.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

Make = Callable[[np.random.Generator], np.ndarray]

TOLERANCES: dict[str, tuple[float, float]] = {
    "float64": (1e-12, 1e-13),
    "complex128": (1e-12, 1e-13),
    "float32": (1e-5, 1e-6),
    "complex64": (1e-5, 1e-6),
    "float16": (2e-3, 1e-4),
    "bfloat16": (1.6e-2, 1e-4),
}
"""Relative and absolute tolerance by element type. Other types (integers, booleans, floats of 8 bits) must be equal."""


@dataclass(frozen=True)
class Draw:
    """An argument that is created when its case runs."""

    make: Make


@dataclass(frozen=True)
class Case:
    """`tolerance` replaces rtol and atol of every float in the results; `because` says why the default does not do."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    tolerance: tuple[float, float] | None = None
    because: str = ""
    x64: bool = False
    static: tuple[int, ...] = ()
    eager: bool = False

    def __post_init__(self) -> None:
        assert (self.tolerance is None) == (not self.because), f"{self.name}: a tolerance needs a reason"

    def made_arguments(self) -> tuple[Any, ...]:
        """The same arrays at every call."""
        generator = np.random.default_rng(zlib.crc32(self.name.encode()))
        leaves, tree = jax.tree.flatten(self.arguments)
        made = [leaf.make(generator) if isinstance(leaf, Draw) else leaf for leaf in leaves]
        return jax.tree.unflatten(tree, made)

    @property
    def reference_options(self) -> dict[str, str | bool]:
        """XLA's options. Its older kernels, which compile sooner (test/conftest.py), get one type wrong."""
        return {"xla_cpu_use_fusion_emitters": True} if "float8_e5m2fnuz" in self.name else {}


def case(name: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Case:
    return Case(name, function, arguments, **options)


def _cast(values: np.ndarray, dtype: str) -> np.ndarray:
    return np.asarray(values).astype(jnp.dtype(dtype))


def normal(*shape: int, dtype: str = "float32", scale: float = 1.0) -> Draw:
    """Standard normal values, of both parts when complex."""

    def make(generator: np.random.Generator) -> np.ndarray:
        values: np.ndarray = np.asarray(generator.standard_normal(shape) * scale)
        if dtype.startswith("complex"):
            values = values + 1j * generator.standard_normal(shape) * scale
        return _cast(values, dtype)

    return Draw(make)


def uniform(*shape: int, low: float = 0.0, high: float = 1.0, dtype: str = "float32") -> Draw:
    return Draw(lambda generator: _cast(generator.uniform(low, high, shape), dtype))


def integers(*shape: int, low: int = -10, high: int = 10, dtype: str = "int32") -> Draw:
    """Integers from `low` to `high - 1`."""
    return Draw(lambda generator: _cast(generator.integers(low, high, shape), dtype))


def booleans(*shape: int) -> Draw:
    return Draw(lambda generator: np.asarray(generator.integers(0, 2, shape), bool))


def permutation(count: int, dtype: str = "int32") -> Draw:
    return Draw(lambda generator: _cast(generator.permutation(count), dtype))


def positive_definite(*batch: int, n: int, dtype: str = "float32") -> Draw:
    """Symmetric or Hermitian, with eigenvalues of 1 and more."""

    def make(generator: np.random.Generator) -> np.ndarray:
        values: np.ndarray = generator.standard_normal((*batch, n, n))
        if dtype.startswith("complex"):
            values = values + 1j * generator.standard_normal((*batch, n, n))
        return _cast(values @ values.conj().swapaxes(-1, -2) / n + np.eye(n), dtype)

    return Draw(make)


def well_conditioned(*batch: int, n: int, dtype: str = "float32") -> Draw:
    """A square matrix with a dominant diagonal."""

    def make(generator: np.random.Generator) -> np.ndarray:
        values: np.ndarray = generator.standard_normal((*batch, n, n))
        if dtype.startswith("complex"):
            values = values + 1j * generator.standard_normal((*batch, n, n))
        return _cast(values / np.sqrt(n) + 2 * np.eye(n), dtype)

    return Draw(make)


def special_values(dtype: str = "float32") -> np.ndarray:
    """
    Zeros, infinities, NaN, limits and ordinary numbers; no subnormals, which XLA:CPU flushes to zero and xhlo does not.
    """
    info = ml_dtypes.finfo(jnp.dtype(dtype))
    limits = [float(info.max), float(info.min), float(info.tiny)]
    values = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -3.0, 100.0, *limits]
    return _cast(np.array(values), dtype)


def assert_same(got: Any, want: Any, case: Case) -> None:
    """Compare structure, types and numbers. Raises AssertionError that says which result differs, and where."""
    got_leaves, got_tree = jax.tree.flatten_with_path(got)
    want_leaves, want_tree = jax.tree.flatten_with_path(want)
    assert got_tree == want_tree, f"structure {got_tree}, on cpu {want_tree}"
    for (path, ours), (_, theirs) in zip(got_leaves, want_leaves, strict=True):
        difference = leaf_difference(ours, theirs, case.tolerance)
        assert difference is None, f"result {jax.tree_util.keystr(path) or '0'}: {difference}"


def leaf_difference(got: Any, want: Any, tolerance: tuple[float, float] | None = None) -> str | None:
    """The difference of two arrays as text; None if they agree within the tolerance."""
    if getattr(got, "weak_type", False) != getattr(want, "weak_type", False):
        return f"weak type {got.weak_type}, on cpu {want.weak_type}"
    if isinstance(want, jax.Array) and jnp.issubdtype(want.dtype, jax.dtypes.prng_key):
        if got.dtype != want.dtype:
            return f"type {got.dtype}, on cpu {want.dtype}"
        got, want = jax.random.key_data(got), jax.random.key_data(want)
    ours, theirs = np.asarray(got), np.asarray(want)
    if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
        return f"{ours.dtype}{list(ours.shape)}, on cpu {theirs.dtype}{list(theirs.shape)}"
    bad = _differs(ours, theirs, tolerance)
    if not bad.any():
        return None
    where: Sequence[int] = np.argwhere(bad)[0]
    index = tuple(int(i) for i in where)
    return f"{int(bad.sum())} of {bad.size} differ, first at {list(index)}: {ours[index]!r}, on cpu {theirs[index]!r}"


def _differs(ours: np.ndarray, theirs: np.ndarray, tolerance: tuple[float, float] | None) -> np.ndarray:
    default = TOLERANCES.get(ours.dtype.name)
    if default is None:
        if ours.dtype.kind in "iub":
            return np.asarray(ours != theirs)
        ours, theirs, default = ours.astype(np.float64), theirs.astype(np.float64), (0.0, 0.0)
        tolerance = None
    rtol, atol = tolerance or default
    wide = np.complex128 if ours.dtype.kind == "c" else np.float64
    ours, theirs = ours.astype(wide), theirs.astype(wide)
    if wide is np.float64:
        return ~np.isclose(ours, theirs, rtol=rtol, atol=atol, equal_nan=True)
    # Part by part if either is not finite, otherwise by distance: each part is only as accurate as the whole.
    parts = [np.isclose(ours.real, theirs.real, rtol, atol, True), np.isclose(ours.imag, theirs.imag, rtol, atol, True)]
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(ours - theirs) <= atol + rtol * np.abs(theirs)
    finite = np.isfinite(ours) & np.isfinite(theirs)
    return ~np.where(finite, near, parts[0] & parts[1])
